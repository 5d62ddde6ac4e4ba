// What a ClusterClass makes CAPTMachinePools from. Replicas and version come with each MachinePool.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { templateKindOf } from '../../meta.ts'
import * as s from '../../schema/build.ts'
import { CAPTMachinePool, machinePoolFields } from './capt-machine-pool.ts'

export const CAPTMachinePoolTemplate = defineKind(
  templateKindOf(CAPTMachinePool, {
    about: 'A pattern for CAPTMachinePools, referenced by a ClusterClass.',
    spec: s.object(machinePoolFields, {
      required: ['workspaceTemplateRef'],
      about: 'Spec of the CAPTMachinePools made from this template.',
    }),
  }),
)
export type CAPTMachinePoolTemplate = KindOf<typeof CAPTMachinePoolTemplate>
