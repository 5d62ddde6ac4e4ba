// What core MachineDeployments and MachineSets make CAPTMachines from.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { templateKindOf } from '../../meta.ts'
import * as s from '../../schema/build.ts'
import { CAPTMachine, machineRules, machineTemplateFields } from './capt-machine.ts'

export const CAPTMachineTemplate = defineKind(
  templateKindOf(CAPTMachine, {
    about:
      'A pattern for CAPTMachines, referenced by a core MachineDeployment or MachineSet. To roll machines, make another template and refer to that.',
    spec: s.object(machineTemplateFields, {
      required: ['workspaceTemplateRef', 'instanceType'],
      about: 'Spec of the CAPTMachines made from this template.',
      rules: machineRules,
    }),
    columns: [
      { name: 'TYPE', path: '.spec.template.spec.instanceType' },
      { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' },
    ],
  }),
)
export type CAPTMachineTemplate = KindOf<typeof CAPTMachineTemplate>
