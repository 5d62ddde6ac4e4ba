// Where one Cluster stands in one AddonPipeline, with the evidence. capt makes it, owned by the Cluster; people may
// add overrides to the spec. Only addons/ writes the status.
import { defineKind, type KindOf } from '../define-kind.ts'
import { conditions, objectRef } from '../meta.ts'
import { CHART_VERSION } from '../patterns.ts'
import * as s from '../schema/build.ts'
import { chartAddress, chartSource } from './stage-types.ts'

const deliveredResource = s.object(
  {
    set: s.string({ about: 'ClusterResourceSet that carries it.' }),
    kind: s.string({ about: 'ConfigMap or Secret.' }),
    name: s.string({ about: 'Name of the payload.' }),
    applied: s.boolean({ about: 'What the binding says about this payload.' }),
    bindingHash: s.string({ about: 'Hash that the binding recorded.' }),
    ourHash: s.string({ about: 'Hash of what capt wants to be there.' }),
    equal: s.boolean({ about: 'Applied, and the two hashes are the same.' }),
  },
  { required: ['set', 'kind', 'name', 'applied', 'ourHash', 'equal'] },
)

const redelivery = s.object(
  {
    set: s.string({ about: 'ClusterResourceSet that delivered.' }),
    absent: s.list(s.string(), { about: 'What is not in the workload cluster, although it was delivered.' }),
    since: s.time({ about: 'Since when something is missing.' }),
    times: s.integer({ minimum: 0, about: 'How often it was delivered again, as far as that is not long ago.' }),
    at: s.time({ about: 'When it was last delivered again.' }),
  },
  { required: ['set'] },
)

const stageStatus = s.object(
  {
    name: s.string({ about: 'Name of the stage.' }),
    state: s.string({
      enum: ['NotWanted', 'Waiting', 'Delivering', 'Checking', 'Healthy', 'Failed', 'Removing'],
      about: 'Where the stage is.',
    }),
    reason: s.string({ about: 'Why, as one word.' }),
    message: s.string({ about: 'Why, for people.' }),
    component: s.string({
      enum: ['flux', 'karpenter'],
      about: 'What the version is of. A Kubernetes upgrade that it does not support is held.',
    }),
    wantedVersion: s.string({ about: 'Version that the stage delivers.' }),
    adopted: s.string({ about: 'Version that was found in place and is left as it is.' }),
    delivered: s.object(
      {
        equal: s.boolean({ about: 'Every payload is applied with our hash.' }),
        since: s.time({ about: 'Since when that holds.' }),
        resources: s.list(deliveredResource, { about: 'One row per payload.' }),
      },
      { required: ['equal'], about: 'What the ClusterResourceSetBinding says.' },
    ),
    healthy: s.object(
      {
        status: s.string({
          enum: ['True', 'False', 'Unknown'],
          about: 'Whether the stage works, as seen in the workload cluster.',
        }),
        evidence: s.list(s.string(), { about: 'What was seen.' }),
        since: s.time({ about: 'Since when the status holds.' }),
      },
      { required: ['status'], about: 'What was seen in the workload cluster.' },
    ),
    gate: s.object(
      {
        label: s.string({ about: 'Label key on the Cluster.' }),
        open: s.boolean({ about: 'Whether capt has opened it.' }),
        early: s.boolean({
          about: 'A person set the label before the stage could begin; it counts only as a request.',
        }),
      },
      { required: ['label', 'open'], about: 'The label that lets the set reach the Cluster.' },
    ),
    verification: s.object(
      {
        contentHash: s.string({ about: 'Content of the stage that it speaks of.' }),
        startedAt: s.time({ about: 'When this attempt began.' }),
        evidence: s.string({ about: 'Where the probe pod ran.' }),
        failure: s.string({ about: 'Why this attempt failed.' }),
        endedAt: s.time({ about: 'When the probe pod had run and was gone again.' }),
      },
      {
        required: ['contentHash', 'startedAt'],
        about: 'The proof that machines come, where nodePool.verify asks for it.',
      },
    ),
    redelivery: s.list(redelivery, {
      about: 'Sets whose objects went missing in the workload cluster, and what capt did about it.',
      listType: 'map',
      mapKeys: ['set'],
    }),
    attempts: s.integer({ minimum: 0, about: 'Retries so far.' }),
    lastAttemptAt: s.time({ about: 'When capt last tried again.' }),
    failedAt: s.time({ about: 'Since when the present attempt counts as failed.' }),
    lastError: s.object(
      {
        code: s.string({ about: 'Code; see the page of errors.' }),
        message: s.string({ about: 'What went wrong.' }),
        hint: s.string({ about: 'What to do next.' }),
      },
      { required: ['code', 'message'], about: 'The last thing that went wrong, until the stage is healthy.' },
    ),
    contentHash: s.string({ about: 'Hash of what the stage delivers, before anything live was carried over.' }),
    startedAt: s.time({ about: 'When delivery of this content began.' }),
    durations: s.object(
      {
        delivered: s.string({ about: 'From the start to delivered.' }),
        healthy: s.string({ about: 'From the start to healthy.' }),
      },
      { about: 'How long it took.' },
    ),
  },
  { required: ['name', 'state'] },
)

const teardownStep = s.object(
  {
    name: s.string({ about: 'Name of the step.' }),
    state: s.string({ enum: ['Running', 'Done', 'Skipped', 'GaveUp'], about: 'Where the step is.' }),
    message: s.string({ about: 'What was seen.' }),
    startedAt: s.time({ about: 'When the step began.' }),
    endedAt: s.time({ about: 'When the step ended.' }),
  },
  { required: ['name', 'state'] },
)

/** Condition of an AddonDelivery, and of the CAPTControlPlane of its Cluster, where clusterctl describe shows it. */
export const ADDONS_HEALTHY = 'AddonsHealthy'

/** Condition of an AddonDelivery: whether it delivers the newest revision of its pipeline. Written only where it ever did not. */
export const UP_TO_DATE = 'UpToDate'

export const AddonDelivery = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'AddonDelivery',
  reconciledBy: 'addons',
  shortNames: ['adeliv'],
  categories: ['cluster-api', 'capt'],
  about:
    'Where one Cluster stands in one AddonPipeline: what was delivered, what is healthy, and the evidence for both.',
  spec: s.object(
    {
      clusterName: s.string({
        about: 'Cluster, in the same namespace.',
        minLength: 1,
        maxLength: 63,
        rules: [{ rule: 'self == oldSelf', message: 'clusterName cannot change' }],
      }),
      pipelineRef: objectRef(
        'AddonPipeline to follow. One of another namespace must serve all namespaces from where capt runs, or allow this one by the annotation capt.appthrust.com/allow-namespaces.',
      ),
      revision: s.string({
        about: 'Revision of the pipeline to deliver. capt sets it, wave by wave, where the pipeline has a rollout.',
        maxLength: 63,
      }),
      suspend: s.boolean({ default: false, about: 'Change nothing for now. Teardown still runs.' }),
      variables: s.map(s.string({ maxLength: 4096 }), {
        about: 'Values for this Cluster alone; they win over those of the pipeline.',
        maxProperties: 100,
      }),
      overrides: s.list(
        s.object(
          {
            stage: s.string({ about: 'Stage to change.', minLength: 1, maxLength: 40 }),
            version: s.string({
              about: 'Version to deliver here.',
              maxLength: 32,
              pattern: CHART_VERSION,
            }),
            values: s.freeObject({ about: 'Helm values, merged over those of the pipeline (stages with a chart).' }),
            chart: s.string({
              ...chartAddress,
              about:
                'OCI address of the chart, instead of that of the pipeline (stages with a chart). The login of the pipeline is not sent there: set source too.',
            }),
            source: chartSource,
          },
          { required: ['stage'] },
        ),
        {
          default: [],
          about: 'What is different for this Cluster.',
          maxItems: 20,
          listType: 'map',
          mapKeys: ['stage'],
        },
      ),
    },
    { required: ['clusterName', 'pipelineRef'], about: 'Desired state.' },
  ),
  status: s.object(
    {
      handledRetry: s.string({ about: 'The last request for a retry that was answered.' }),
      revision: s.string({ about: 'Revision of the pipeline that was last rendered.' }),
      revisionSince: s.time({ about: 'Since when it is that revision.' }),
      kubernetesVersion: s.string({ about: 'Kubernetes version that the versions were chosen for.' }),
      stages: s.list(stageStatus, { about: 'One entry per stage, in order.', listType: 'map', mapKeys: ['name'] }),
      teardown: s.object(
        {
          startedAt: s.time({ about: 'When the teardown began.' }),
          unreachableSince: s.time({ about: 'Since when the workload API has not answered.' }),
          steps: s.list(teardownStep, { about: 'What has been done, in order.', listType: 'map', mapKeys: ['name'] }),
          leftovers: s.list(s.string(), { about: 'What was found and could not be removed.' }),
        },
        { about: 'Taking the add-ons away before the control plane goes.' },
      ),
      conditions,
    },
    { about: 'What was delivered, what was seen.' },
  ),
  columns: [
    { name: 'Cluster', path: '.spec.clusterName' },
    { name: 'Pipeline', path: '.spec.pipelineRef.name' },
    { name: 'Healthy', path: `.status.conditions[?(@.type=="${ADDONS_HEALTHY}")].status` },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Up-to-date', path: `.status.conditions[?(@.type=="${UP_TO_DATE}")].status` },
    { name: 'Status', path: '.status.conditions[?(@.type=="Ready")].message' },
    { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' },
  ],
})
export type AddonDelivery = KindOf<typeof AddonDelivery>
export type StageStatus = NonNullable<NonNullable<AddonDelivery['status']>['stages']>[number]
export type TeardownStatus = NonNullable<NonNullable<AddonDelivery['status']>['teardown']>
export type TeardownStep = NonNullable<TeardownStatus['steps']>[number]
