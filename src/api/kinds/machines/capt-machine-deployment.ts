// CAPTMachines that are replaced step by step when their template changes.
// People write the spec; only controllers/machine-deployment writes the status.
import { defineKind, type KindOf } from '../../define-kind.ts'
import { conditions } from '../../meta.ts'
import * as s from '../../schema/build.ts'
import { replicaCounts, replicaFields, replicaRules, SCALE_PATHS } from './capt-machine-set.ts'

export const MACHINE_DEPLOYMENT_FINALIZER = 'captmachinedeployment.infrastructure.cluster.x-k8s.io'
/** On a deployment and its sets: the number of the template, counted from 1. */
export const REVISION_ANNOTATION = 'capt.appthrust.com/revision'
/** On a template: a new value rolls every machine (`capt rollout restart`). */
export const RESTARTED_AT_ANNOTATION = 'capt.appthrust.com/restartedAt'

const isBound = (field: string): s.Rule => ({
  rule: `type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')`,
  message: `${field} is a number from 0, or a percentage from 0% to 100%`,
})
const isZero = (field: string) => `(type(${field}) == int ? ${field} == 0 : ${field} == '0%')`

const rollingUpdate = s.object(
  {
    maxUnavailable: s.intOrString({
      about:
        'How many machines may be missing during an update, as a number or a percentage (rounded down); 0 when left out.',
      rules: [isBound('maxUnavailable')],
    }),
    maxSurge: s.intOrString({
      about:
        'How many machines may be added during an update, as a number or a percentage (rounded up); 1 when left out.',
      rules: [isBound('maxSurge')],
    }),
  },
  {
    about: 'How fast RollingUpdate goes.',
    rules: [
      {
        rule: `!has(self.maxSurge) || !${isZero('self.maxSurge')} || (has(self.maxUnavailable) && !${isZero('self.maxUnavailable')})`,
        message:
          'maxSurge and maxUnavailable cannot both be 0: no machine could ever be replaced; set one of them to 1 or more',
      },
    ],
  },
)

export const CAPTMachineDeployment = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTMachineDeployment',
  reconciledBy: 'infrastructure',
  categories: ['cluster-api'],
  about:
    'CAPTMachines of one Cluster that are replaced step by step when their template changes, as a Deployment does with pods. MachineHealthCheck and cluster-autoscaler know the kinds of core alone: use a core MachinePool or MachineDeployment where you need them.',
  spec: s.object(
    {
      ...replicaFields,
      strategy: s.object(
        {
          type: s.string({
            enum: ['RollingUpdate', 'Recreate'],
            default: 'RollingUpdate',
            about: 'RollingUpdate replaces machines step by step. Recreate deletes all of them first.',
          }),
          rollingUpdate,
        },
        {
          default: {},
          about: 'How machines are replaced.',
          rules: [
            {
              rule: "self.type == 'RollingUpdate' || !has(self.rollingUpdate)",
              message: 'rollingUpdate is for type RollingUpdate',
            },
          ],
        },
      ),
      revisionHistoryLimit: s.integer({
        about: 'How many sets of earlier templates are kept for capt rollout undo.',
        default: 10,
        minimum: 0,
        maximum: 100,
      }),
      progressDeadlineSeconds: s.integer({
        about: 'How long an update may make no progress before it is reported as failed.',
        default: 600,
        minimum: 1,
        maximum: 86_400,
      }),
      paused: s.boolean({ about: 'A change of the template is not rolled out; scaling still works.' }),
    },
    { required: ['selector', 'template'], about: 'Desired state.', rules: replicaRules },
  ),
  status: s.object(
    {
      ...replicaCounts,
      updatedReplicas: s.integer({ minimum: 0, about: 'Machines made from the current template.' }),
      unavailableReplicas: s.integer({ minimum: 0, about: 'Machines that are missing or not available.' }),
      collisionCount: s.integer({ minimum: 0, about: 'How often the name of a new set was taken.' }),
      lastProgressTime: s.time({ about: 'When an update last made progress.' }),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  scale: SCALE_PATHS,
  columns: [
    { name: 'READY', path: ".status.conditions[?(@.type=='Ready')].status" },
    { name: 'DESIRED', path: '.spec.replicas', type: 'integer' },
    { name: 'CURRENT', path: '.status.replicas', type: 'integer' },
    { name: 'UPDATED', path: '.status.updatedReplicas', type: 'integer' },
    { name: 'AVAILABLE', path: '.status.availableReplicas', type: 'integer' },
    { name: 'TYPE', path: '.spec.template.spec.instanceType', priority: 1 },
    { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type CAPTMachineDeployment = KindOf<typeof CAPTMachineDeployment>
