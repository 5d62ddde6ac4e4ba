// Which Clusters get which add-ons, in which order, behind which gates. People write it; capt makes one AddonDelivery
// per selected Cluster from it. Flux, then Karpenter, then node pools is the pipeline that capt ships.
import { defineKind, type KindOf } from '../define-kind.ts'
import { conditions } from '../meta.ts'
import * as s from '../schema/build.ts'
import { addonStage, duration, label } from './addon-stage.ts'

const expression = s.object(
  {
    key: s.string({ about: 'Label key.', minLength: 1, maxLength: 316 }),
    operator: s.string({ enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'], about: 'How the label is compared.' }),
    values: s.list(s.string({ maxLength: 63 }), { about: 'Values for In and NotIn.', maxItems: 50 }),
  },
  {
    required: ['key', 'operator'],
    rules: [
      {
        rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
        message: 'In and NotIn need values; Exists and DoesNotExist take none',
      },
    ],
  },
)

const variableSource = s.object(
  {
    kind: s.string({ enum: ['WorkspaceTemplateApply', 'ConfigMap', 'Secret'], about: 'Kind of the source.' }),
    name: s.string({
      about: 'Name, in the namespace of the Cluster. ${CLUSTER_NAME} is filled in.',
      minLength: 1,
      maxLength: 253,
    }),
    keys: s.map(s.string({ maxLength: 512 }), {
      about: 'Variable name to key or output path (queue.name). Every key and output under its own name when left out.',
      maxProperties: 100,
    }),
    optional: s.boolean({ default: false, about: 'Go on when the source does not exist.' }),
  },
  { required: ['kind', 'name'] },
)

const rollout = s.object(
  {
    order: s.list(label, {
      default: [],
      about:
        'Labels of Clusters, in the order of the waves: each entry is one wave. Clusters that have none of them are the last wave.',
      maxItems: 50,
    }),
    maxConcurrent: s.integer({
      default: 1,
      minimum: 1,
      maximum: 1000,
      about: 'Most Clusters of a wave that receive the change at the same time.',
    }),
    soak: s.string({
      ...duration,
      default: '10m',
      about: 'How long every Cluster reached so far must stay healthy before the next wave.',
    }),
  },
  {
    about:
      'Brings a change of variables, variablesFrom, stages or teardown to the Clusters in waves, and stops at the first unhealthy one. Without it every Cluster gets a change at once. A new Cluster always gets the newest revision.',
  },
)

const names = (about: string) => s.list(s.string(), { about })

const rolloutStatus = s.object(
  {
    revision: s.string({ about: 'Newest revision.' }),
    wave: s.integer({ minimum: 0, about: 'The wave that is under way; 0 when every Cluster has the newest revision.' }),
    waves: s.integer({ minimum: 0, about: 'Number of waves.' }),
    updated: s.integer({ minimum: 0, about: 'Clusters that are healthy with the newest revision.' }),
    moving: names('Clusters that receive the newest revision now.'),
    notReached: names('Clusters that keep an earlier revision until their wave.'),
    paused: names('Clusters that keep an earlier revision because they are paused or suspended. They hold nothing up.'),
    soakUntil: s.time({ about: 'When the next wave begins, if every Cluster stays healthy.' }),
    stopped: s.object(
      {
        cluster: s.string({ about: 'The unhealthy Cluster.' }),
        reason: s.string({ about: 'Why it is not healthy.' }),
      },
      {
        required: ['cluster', 'reason'],
        about: 'Why no further Cluster is reached. It ends when the Cluster is healthy.',
      },
    ),
  },
  { required: ['revision', 'wave', 'waves', 'updated'], about: 'How far the newest revision has come.' },
)

const revision = s.object(
  {
    name: s.string({ about: 'Name of the revision: a hash of what it delivers.' }),
    since: s.time({ about: 'When it was first seen.' }),
    content: s.freeObject({ about: 'variables, variablesFrom, stages and teardown, as they were.' }),
  },
  { required: ['name', 'since', 'content'] },
)

/** Condition of an AddonPipeline with waves: whether every Cluster has the newest revision. */
export const ROLLED_OUT = 'RolledOut'

export const AddonPipeline = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'AddonPipeline',
  reconciledBy: 'addons',
  shortNames: ['apipe'],
  categories: ['cluster-api', 'capt'],
  about: 'Which Clusters get which add-ons, in which order and behind which health gates.',
  spec: s.object(
    {
      clusterSelector: s.object(
        {
          matchLabels: s.map(s.string({ maxLength: 63 }), {
            about: 'Labels that the Cluster must carry.',
            maxProperties: 50,
          }),
          matchExpressions: s.list(expression, { about: 'Further conditions on its labels.', maxItems: 50 }),
        },
        { about: 'Clusters to serve. An empty selector means every Cluster of the namespace.' },
      ),
      allNamespaces: s.boolean({
        default: false,
        about: 'Serve Clusters of every namespace. Honoured only in the namespace where capt itself runs.',
      }),
      variables: s.map(s.string({ maxLength: 4096 }), {
        about: 'Values for ${NAME} in what is delivered.',
        maxProperties: 100,
      }),
      variablesFrom: s.list(variableSource, { default: [], about: 'Further values, later entries win.', maxItems: 20 }),
      stages: s.list(addonStage, {
        about: 'What to deliver. Order comes from needs.',
        minItems: 1,
        maxItems: 20,
        listType: 'map',
        mapKeys: ['name'],
      }),
      teardown: s.object(
        {
          terminateInstances: s.boolean({
            default: false,
            about: 'Terminate instances found by tag when Karpenter itself can no longer do it.',
          }),
          deleteLoadBalancers: s.boolean({
            default: true,
            about:
              'Delete load balancers, target groups, network interfaces and security groups that carry the tags of the cluster and are left in its VPC. With false they are only reported.',
          }),
          timeout: s.string({ ...duration, default: '15m', about: 'How long nodes made by Karpenter may take to go.' }),
        },
        { default: {}, about: 'What happens before the control plane of a deleted Cluster is destroyed.' },
      ),
      rollout,
    },
    {
      required: ['clusterSelector', 'stages'],
      about: 'Desired state.',
      rules: [
        {
          rule: 'self.stages.all(x, x.needs.all(n, self.stages.exists(y, y.name == n)))',
          message: 'needs must name stages of this pipeline',
        },
      ],
    },
  ),
  status: s.object(
    {
      clusters: s.integer({ minimum: 0, about: 'Clusters selected now.' }),
      ready: s.integer({ minimum: 0, about: 'Deliveries that are Ready.' }),
      rollout: rolloutStatus,
      revisions: s.list(revision, {
        about:
          'Revisions that deliveries use, while there is a rollout: the newest and those that Clusters keep until their wave.',
        listType: 'map',
        mapKeys: ['name'],
      }),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  moves: true,
  columns: [
    { name: 'Clusters', path: '.status.clusters', type: 'integer' },
    { name: 'Delivered', path: '.status.ready', type: 'integer' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Rolled-out', path: `.status.conditions[?(@.type=="${ROLLED_OUT}")].status` },
    { name: 'Status', path: '.status.conditions[?(@.type=="Ready")].message' },
    { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type AddonPipeline = KindOf<typeof AddonPipeline>
export type PipelineRollout = NonNullable<AddonPipeline['spec']['rollout']>
export type RolloutStatus = NonNullable<NonNullable<AddonPipeline['status']>['rollout']>
export type PipelineRevision = NonNullable<NonNullable<AddonPipeline['status']>['revisions']>[number]
export type AddonStage = AddonPipeline['spec']['stages'][number]
export type AddonCheck = AddonStage['checks'][number]
export type VariableSource = AddonPipeline['spec']['variablesFrom'][number]
