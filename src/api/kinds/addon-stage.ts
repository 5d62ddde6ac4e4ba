// One stage of an AddonPipeline: what it brings, what it needs, who asks for it, and how one sees that it works.
import * as s from '../schema.ts'

export const duration = { pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$', maxLength: 32 } as const
const stageName = { pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$', minLength: 1, maxLength: 40 } as const

const toleration = s.object(
  {
    key: s.string({ about: 'Taint key; every key when left out.', maxLength: 316 }),
    operator: s.string({ enum: ['Equal', 'Exists'], about: 'Equal compares the value, Exists does not.' }),
    value: s.string({ about: 'Taint value.', maxLength: 63 }),
    effect: s.string({
      enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
      about: 'Taint effect; every effect when left out.',
    }),
  },
  { about: 'A taint that the pods tolerate.' },
)

const flux = s.object(
  {
    version: s.string({
      about: 'Flux release, like 2.9.5. When left out, the best one for the Kubernetes version of the cluster.',
      pattern: '^2\\.[0-9]+\\.[0-9]+$',
    }),
    networkPolicy: s.boolean({ default: true, about: 'Deliver network policies that shield the controllers.' }),
    tolerations: s.list(toleration, { about: 'Taints that the Flux pods tolerate.', maxItems: 20 }),
    imageRegistry: s.string({
      about: 'Registry and path that mirrors ghcr.io/fluxcd, without a trailing slash.',
      maxLength: 253,
      pattern: '^[a-z0-9][-a-z0-9._:/]*[a-z0-9]$',
    }),
    imageDigests: s.map(s.string({ pattern: '^sha256:[0-9a-f]{64}$' }), {
      about: 'Digest to pin per controller (source-controller, helm-controller).',
      maxProperties: 2,
    }),
    manifest: s.object(
      {
        url: s.string({ about: 'Address of an install file, https only.', pattern: '^https://', maxLength: 2048 }),
        sha256: s.string({ about: 'Checksum that the file must have.', pattern: '^[0-9a-f]{64}$' }),
      },
      { required: ['url', 'sha256'], about: 'Deliver this install file instead of the bundle that capt carries.' },
    ),
    existing: s.string({
      enum: ['Adopt', 'Refuse'],
      default: 'Adopt',
      about: 'What to do with a Flux that capt did not install. It is never overwritten.',
    }),
    probe: s.object(
      {
        url: s.string({ about: 'OCI address that Flux must be able to fetch.', pattern: '^oci://', maxLength: 2048 }),
        tag: s.string({ about: 'Tag to fetch.', minLength: 1, maxLength: 128 }),
      },
      { required: ['url', 'tag'], about: 'A source that must have been fetched before Flux counts as healthy.' },
    ),
    readinessJob: s.object(
      {
        image: s.string({ about: 'Image with kubectl as its entry point.', minLength: 1, maxLength: 512 }),
        deadline: s.string({ ...duration, default: '5m', about: 'How long the Job may take.' }),
      },
      { required: ['image'], about: 'Also run the Job fluxcd-readiness-check in flux-system and wait for it.' },
    ),
  },
  { about: 'Install Flux: source-controller and helm-controller.' },
)

const karpenter = s.object(
  {
    version: s.string({
      about: 'Chart version, exact. When left out, the best one for the Kubernetes version of the cluster.',
      pattern: '^v?[0-9]+\\.[0-9]+\\.[0-9]+$',
    }),
    namespace: s.string({
      default: 'kube-system',
      about: 'Namespace of the release and of its service account.',
      maxLength: 63,
    }),
    identity: s.string({
      enum: ['PodIdentity', 'IRSA'],
      about:
        'How the controller gets its AWS role; what the control plane was made for when left out. IRSA annotates the service account with KARPENTER_IAM_ROLE_ARN.',
    }),
    serviceAccount: s.string({ default: 'karpenter', about: 'Service account of the controller.', maxLength: 253 }),
    replicas: s.integer({
      minimum: 1,
      maximum: 10,
      about: 'Pods of the controller; each needs a node of its own that Karpenter did not make.',
    }),
    chart: s.string({
      about: 'OCI address of the chart, for mirrors. The public one when left out.',
      pattern: '^oci://',
      maxLength: 2048,
    }),
    values: s.freeObject({
      about: 'Helm values, merged over those capt makes. The placement guard is merged afterwards.',
    }),
    timeout: s.string({ ...duration, default: '10m', about: 'Helm timeout of one install or upgrade.' }),
  },
  { about: 'Install Karpenter through Flux.' },
)

const nodePool = s.object(
  {
    name: s.string({ ...stageName, default: 'default', about: 'Name of the NodePool and of its EC2NodeClass.' }),
    role: s.string({ about: 'Name of the IAM role of the nodes. NODE_ROLE_NAME when left out.', maxLength: 64 }),
    amiAlias: s.string({ default: 'al2023@latest', about: 'AMI alias of the nodes.', maxLength: 128 }),
    capacityTypes: s.list(s.string({ enum: ['on-demand', 'spot', 'reserved'] }), {
      about: 'Capacity types, on-demand when left out.',
      maxItems: 3,
    }),
    instanceCategories: s.list(s.string({ maxLength: 8 }), {
      about: 'Instance categories; c, m and t when left out.',
      maxItems: 30,
    }),
    architectures: s.list(s.string({ enum: ['amd64', 'arm64'] }), {
      about: 'Architectures, amd64 when left out.',
      maxItems: 2,
    }),
    zones: s.list(s.string({ maxLength: 32 }), {
      about: 'Zones; those of the tagged subnets when left out.',
      maxItems: 20,
    }),
    cpuLimit: s.intOrString({ about: 'Most CPUs that the pool may have, 1000 when left out.' }),
    nodePool: s.freeObject({ about: 'Merged over the spec of the NodePool.' }),
    nodeClass: s.freeObject({ about: 'Merged over the spec of the EC2NodeClass.' }),
    verify: s.object(
      {
        image: s.string({
          default: 'public.ecr.aws/eks-distro/kubernetes/pause:3.10',
          about: 'Image of the probe pod, with a tag or a digest. It must run for a moment without any rights.',
          pattern: '^[^\\s]+(:[A-Za-z0-9_][-A-Za-z0-9_.]*|@sha256:[0-9a-f]{64})$',
          maxLength: 512,
        }),
        timeout: s.string({ ...duration, default: '10m', about: 'How long a machine may take to come and run it.' }),
      },
      {
        about:
          'Prove that machines come: a probe pod must run on a node of the pool before the stage counts as healthy, once for each content of the stage. Off when left out.',
      },
    ),
  },
  { about: 'Deliver one NodePool and its EC2NodeClass.' },
)

const resource = s.object(
  {
    kind: s.string({ enum: ['ConfigMap', 'Secret'], about: 'Kind of the source.' }),
    name: s.string({ about: 'Name, in the namespace of the pipeline.', minLength: 1, maxLength: 253 }),
  },
  {
    required: ['kind', 'name'],
    about: 'A source whose values are manifests. ${VARIABLES} in it are filled in per cluster.',
  },
)

const check = s.object(
  {
    type: s.string({
      enum: [
        'CRDEstablished',
        'DeploymentAvailable',
        'ServiceHasEndpoints',
        'SourceReady',
        'HelmReleaseReady',
        'JobComplete',
        'Condition',
      ],
      about: 'What to look for in the workload cluster.',
    }),
    name: s.string({ about: 'Name of the object.', minLength: 1, maxLength: 253 }),
    namespace: s.string({ about: 'Namespace of the object.', maxLength: 63 }),
    apiVersion: s.string({ about: 'Group and version, for Condition and SourceReady.', maxLength: 316 }),
    kind: s.string({ about: 'Kind, for Condition and SourceReady.', maxLength: 63 }),
    plural: s.string({ about: 'Resource name, when it is not the kind in lower case plus s.', maxLength: 63 }),
    path: s.string({
      about: 'Where to look, for Condition: status.phase, or status.conditions[type=Ready].status.',
      maxLength: 512,
    }),
    equals: s.string({ about: 'What must be there, for Condition.', maxLength: 253 }),
  },
  {
    required: ['type', 'name'],
    rules: [
      {
        rule: "self.type != 'Condition' || (has(self.apiVersion) && has(self.kind) && has(self.path) && has(self.equals))",
        message: 'Condition needs apiVersion, kind, path and equals',
      },
      {
        rule: "self.type == 'Condition' || (!has(self.path) && !has(self.equals))",
        message: 'path and equals belong to Condition',
      },
    ],
  },
)

const label = s.object(
  {
    key: s.string({ about: 'Label key.', minLength: 1, maxLength: 316 }),
    value: s.string({ about: 'Label value.', maxLength: 63 }),
  },
  { required: ['key', 'value'] },
)

export const addonStage = s.object(
  {
    name: s.string({ ...stageName, about: 'Name of the stage, unique in the pipeline.' }),
    needs: s.list(s.string({ ...stageName }), {
      default: [],
      about: 'Stages that must be healthy first.',
      maxItems: 20,
      listType: 'set',
    }),
    enabledBy: s.list(label, {
      default: [],
      about: 'Cluster labels that ask for this stage, any of them. Always asked for when empty.',
      maxItems: 10,
    }),
    gateLabel: s.string({
      about:
        'Label that capt puts on the Cluster, with value true, once every needed stage is healthy. Set by a person it only asks for the stage.',
      maxLength: 316,
    }),
    flux,
    karpenter,
    nodePool,
    resources: s.list(resource, { about: 'Manifests to deliver.', minItems: 1, maxItems: 50 }),
    checks: s.list(check, {
      default: [],
      about: 'What must be true in the workload cluster, beside what the stage type checks itself.',
      maxItems: 50,
    }),
    timeout: s.string({
      ...duration,
      default: '15m',
      about: 'How long the stage may take to become healthy before it counts as failed.',
    }),
    retry: s.object(
      {
        limit: s.integer({ default: 5, minimum: 0, maximum: 100, about: 'How often capt tries again by itself.' }),
        backoff: s.string({
          ...duration,
          default: '30s',
          about: 'Wait before the first retry; it doubles each time, to at most ten minutes.',
        }),
      },
      { default: {}, about: 'What happens after a failure.' },
    ),
    onFailure: s.string({
      enum: ['Stop', 'Continue'],
      default: 'Stop',
      about: 'Whether stages that need this one wait for ever when it has failed, or go on.',
    }),
    uninstall: s.object(
      {
        policy: s.string({
          enum: ['Delete', 'Keep'],
          default: 'Delete',
          about: 'Whether the objects are removed when the stage is no longer wanted.',
        }),
        order: s.integer({
          about: 'Lower goes first. When left out, the reverse of the order of installation.',
          minimum: 0,
          maximum: 1000,
        }),
        timeout: s.string({ ...duration, default: '10m', about: 'How long each step of the removal may take.' }),
      },
      { default: {}, about: 'How the stage is taken away.' },
    ),
  },
  {
    required: ['name'],
    rules: [
      {
        rule: '[has(self.flux), has(self.karpenter), has(self.nodePool), has(self.resources)].filter(x, x).size() == 1',
        message: 'exactly one of flux, karpenter, nodePool and resources must be set',
      },
      { rule: '!(self.name in self.needs)', message: 'a stage cannot need itself' },
    ],
  },
)
