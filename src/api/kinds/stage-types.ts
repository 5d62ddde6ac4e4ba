// The schema of each stage type: one entry per type. It is here and not in the type's definition
// (controllers/addon-delivery/stages), because api imports no controller; its registry has the same keys.
import {
  CHART_VERSION,
  DIGEST,
  DURATION,
  FLUX_VERSION,
  IMAGE,
  IMAGE_PATH,
  NAME,
  OCI_ADDRESS,
  SHA256,
  WEB_ADDRESS,
} from '../patterns.ts'
import * as s from '../schema/build.ts'

export const duration = { pattern: DURATION, maxLength: 32 } as const
export const stageName = { pattern: NAME, minLength: 1, maxLength: 40 } as const

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

const secretName = (about: string) =>
  s.object(
    { name: s.string({ about: 'Name of the Secret.', minLength: 1, maxLength: 253 }) },
    { required: ['name'], about },
  )

/** How Flux reaches the registry of a chart. */
export const chartSource = s.object(
  {
    secretRef: secretName(
      'Secret of type kubernetes.io/dockerconfigjson with the login of the registry. In the namespace of the pipeline, or of the delivery when its overrides name it.',
    ),
    certSecretRef: secretName(
      'Secret with ca.crt, or with tls.crt and tls.key, or with all three: how the registry is verified and how Flux proves itself.',
    ),
    insecure: s.boolean({ default: false, about: 'Speak HTTP with the registry, without TLS.' }),
  },
  {
    about: 'How Flux reaches the registry of the chart. The Secrets are copied into the workload cluster.',
    rules: [
      {
        rule: '!(self.insecure && has(self.certSecretRef))',
        message: 'certSecretRef has no effect without TLS: set insecure to false, or leave certSecretRef out',
      },
    ],
  },
)

export const chartAddress = { pattern: OCI_ADDRESS, maxLength: 2048 } as const

const flux = s.object(
  {
    version: s.string({
      about: 'Flux release, like 2.9.5. When left out, the best one for the Kubernetes version of the cluster.',
      pattern: FLUX_VERSION,
      maxLength: 32,
    }),
    networkPolicy: s.boolean({ default: true, about: 'Deliver network policies that shield the controllers.' }),
    tolerations: s.list(toleration, { about: 'Taints that the Flux pods tolerate.', maxItems: 20 }),
    imageRegistry: s.string({
      about: 'Registry and path that mirrors ghcr.io/fluxcd, without a trailing slash.',
      maxLength: 253,
      pattern: IMAGE_PATH,
    }),
    imageDigests: s.map(s.string({ pattern: DIGEST, maxLength: 71 }), {
      about: 'Digest to pin per controller (source-controller, helm-controller).',
      maxProperties: 2,
    }),
    manifest: s.object(
      {
        url: s.string({ about: 'Address of an install file, https only.', pattern: WEB_ADDRESS, maxLength: 2048 }),
        sha256: s.string({ about: 'Checksum that the file must have.', pattern: SHA256, maxLength: 64 }),
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
        url: s.string({ about: 'OCI address that Flux must be able to fetch.', pattern: OCI_ADDRESS, maxLength: 2048 }),
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
      pattern: CHART_VERSION,
      maxLength: 32,
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
      ...chartAddress,
      about: 'OCI address of the chart, for mirrors. The public one when left out.',
    }),
    source: chartSource,
    values: s.freeObject({
      about: 'Helm values, merged over those capt makes. The placement guard is merged afterwards.',
    }),
    defaults: s.string({
      enum: ['Capt', 'Chart'],
      about:
        'What values leave out. Capt, also when left out, fills in replicas, resources, the interruption queue and the placement guard; Chart leaves them to the chart, so that a release that is taken over keeps its pods. An affinity without the guard gets it either way.',
    }),
    timeout: s.string({ ...duration, default: '10m', about: 'Helm timeout of one install or upgrade.' }),
  },
  { about: 'Install Karpenter through Flux.' },
)

const nodePool = s.object(
  {
    name: s.string({ ...stageName, default: 'default', about: 'Name of the NodePool and of its EC2NodeClass.' }),
    role: s.string({ about: 'Name of the IAM role of the nodes. NODE_ROLE_NAME when left out.', maxLength: 64 }),
    amiAlias: s.string({
      about: 'AMI alias of the nodes, such as al2023@v20261102. NODE_IMAGE when left out, which the EKS template pins.',
      maxLength: 128,
    }),
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
          pattern: IMAGE,
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

/** A stage sets exactly one of these fields. */
export const stageTypes = {
  flux,
  karpenter,
  nodePool,
  resources: s.list(resource, { about: 'Manifests to deliver.', minItems: 1, maxItems: 50 }),
} as const

export type StageField = keyof typeof stageTypes
