// What a ClusterClass makes CAPTMachinePools from. Replicas and version come with each MachinePool.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { templateOf } from '../../meta.ts'
import * as s from '../../schema/build.ts'
import { machinePoolFields } from './capt-machine-pool.ts'

export const CAPTMachinePoolTemplate = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTMachinePoolTemplate',
  plural: 'captmachinepooltemplates',
  categories: ['cluster-api'],
  about: 'A pattern for CAPTMachinePools, referenced by a ClusterClass.',
  spec: templateOf(
    'CAPTMachinePool',
    s.object(machinePoolFields, {
      required: ['workspaceTemplateRef'],
      about: 'Spec of the CAPTMachinePools made from this template.',
    }),
  ),
  columns: [{ name: 'Age', path: '.metadata.creationTimestamp', type: 'date' }],
})
export type CAPTMachinePoolTemplate = KindOf<typeof CAPTMachinePoolTemplate>
