// A number of CAPTMachines made from one template.
// People or a CAPTMachineDeployment write the spec; only controllers/machine-set writes the status.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { conditions } from '../../meta.ts'
import * as s from '../../schema/build.ts'
import { machineRules, machineTemplateFields } from './capt-machine.ts'

export const MACHINE_SET_FINALIZER = 'captmachineset.infrastructure.cluster.x-k8s.io'
/** On the sets of a deployment and on their machines: which template they were made from. */
export const TEMPLATE_HASH_LABEL = 'capt.appthrust.com/template-hash'

const MOST_REPLICAS = 1000
const labels = (about: string) => s.map(s.string({ maxLength: 63 }), { about, maxProperties: 32 })

const expression = s.object(
  {
    key: s.string({ about: 'Label.', minLength: 1, maxLength: 317 }),
    operator: s.string({ enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'], about: 'How the label is compared.' }),
    values: s.list(s.string({ maxLength: 63 }), { about: 'Values for In and NotIn.', maxItems: 16 }),
  },
  {
    required: ['key', 'operator'],
    rules: [
      {
        rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
        message: 'In and NotIn need values; Exists and DoesNotExist take none',
      },
    ],
  },
)

const L = 'self.template.metadata.labels'
const hasLabels = 'has(self.template.metadata) && has(self.template.metadata.labels)'
const matchesLabels = `(!has(self.selector.matchLabels) || (${hasLabels} && self.selector.matchLabels.all(k, k in ${L} && ${L}[k] == self.selector.matchLabels[k])))`
const isIn = `(${hasLabels} && e.key in ${L} && has(e.values) && ${L}[e.key] in e.values)`
const isThere = `(${hasLabels} && e.key in ${L})`
const matchesExpressions = `(!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, e.operator == 'In' ? ${isIn} : e.operator == 'NotIn' ? !${isIn} : e.operator == 'Exists' ? ${isThere} : !${isThere}))`

/** What a set and a deployment have in common. */
export const replicaFields = {
  replicas: s.integer({ about: 'How many machines.', default: 1, minimum: 0, maximum: MOST_REPLICAS }),
  selector: s.object(
    {
      matchLabels: labels('Labels that a machine must have.'),
      matchExpressions: s.list(expression, { about: 'Further conditions on labels.', maxItems: 8 }),
    },
    {
      about: 'Which CAPTMachines belong to it. It must match the labels of the template. It cannot be changed.',
      rules: [
        {
          rule: '(has(self.matchLabels) && self.matchLabels.size() > 0) || (has(self.matchExpressions) && self.matchExpressions.size() > 0)',
          message: 'an empty selector would select every machine: set matchLabels',
        },
        { rule: 'self == oldSelf', message: 'the selector cannot be changed: machines would be left without an owner' },
      ],
    },
  ),
  template: s.object(
    {
      metadata: s.object(
        {
          labels: labels('Labels of every CAPTMachine made from this template.'),
          annotations: s.map(s.string({ maxLength: 4096 }), {
            about: 'Annotations of every CAPTMachine made from this template.',
            maxProperties: 32,
          }),
        },
        { about: 'Metadata of every CAPTMachine made from this template.' },
      ),
      spec: s.object(machineTemplateFields, {
        required: ['workspaceTemplateRef', 'instanceType'],
        about: 'Spec of every CAPTMachine made from this template.',
        rules: machineRules,
      }),
    },
    { required: ['spec'], about: 'The CAPTMachine to make.' },
  ),
  deletePolicy: s.string({
    enum: ['Oldest', 'Newest', 'Random'],
    default: 'Oldest',
    about: 'Which machines go first when there are too many. Machines that are not healthy always go before.',
  }),
  minReadySeconds: s.integer({
    about: 'How long the Node of a machine must have been healthy before the machine counts as available.',
    default: 0,
    minimum: 0,
    maximum: 86_400,
  }),
} as const

export const replicaRules: readonly s.Rule[] = [
  {
    rule: `${matchesLabels} && ${matchesExpressions}`,
    message:
      'selector must match template.metadata.labels: machines that are made would not belong to it; give both the same labels',
  },
]

const count = (about: string) => s.integer({ about, minimum: 0 })
export const replicaCounts = {
  observedGeneration: s.integer({ format: 'int64', minimum: 0, about: 'Generation that the status is about.' }),
  selector: s.string({ about: 'The selector as text, for kubectl scale and autoscalers.' }),
  replicas: count('Machines that there are.'),
  readyReplicas: count('Machines whose Node is healthy.'),
  availableReplicas: count('Machines whose Node has been healthy for minReadySeconds.'),
} as const

export const SCALE_PATHS = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
} as const

export const CAPTMachineSet = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTMachineSet',
  reconciledBy: 'infrastructure',
  categories: ['cluster-api'],
  about:
    'A number of CAPTMachines made from one template, as a ReplicaSet has pods. Usually made by a CAPTMachineDeployment. A change of labels, tags or drainTimeoutSeconds of the template reaches its machines; any other change only those made later.',
  spec: s.object(replicaFields, {
    required: ['selector', 'template'],
    about: 'Desired state.',
    rules: replicaRules,
  }),
  status: s.object(
    {
      ...replicaCounts,
      fullyLabeledReplicas: count('Machines with all labels of the template.'),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  scale: SCALE_PATHS,
  columns: [
    { name: 'DESIRED', path: '.spec.replicas', type: 'integer' },
    { name: 'CURRENT', path: '.status.replicas', type: 'integer' },
    { name: 'READY', path: '.status.readyReplicas', type: 'integer' },
    { name: 'AVAILABLE', path: '.status.availableReplicas', type: 'integer' },
    { name: 'TYPE', path: '.spec.template.spec.instanceType', priority: 1 },
    { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type CAPTMachineSet = KindOf<typeof CAPTMachineSet>
