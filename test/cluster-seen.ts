// Observations for the decisions about CAPTCluster and CAPTControlPlane: a test names what matters to it.
import {
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_FINALIZER,
  type ClusterFacts,
  CONTROL_PLANE_FINALIZER,
  type ObjectMeta,
  type WorkspaceTemplateApply,
} from '#api'
import type { Projected } from '#kube'
import { type ApplyRequest, readApply, toApply } from '../src/controllers/cluster/apply.ts'
import type { Observed as InfraSeen } from '../src/controllers/cluster/observe.ts'
import { vpcRequest } from '../src/controllers/cluster/variables.ts'
import { toFacts } from '../src/controllers/control-plane/known-secrets.ts'
import type { Observed as PlaneSeen } from '../src/controllers/control-plane/observe.ts'
import { toSecrets } from '../src/controllers/control-plane/secrets.ts'
import { eksRequest, networkOf, regionOf } from '../src/controllers/control-plane/variables.ts'

export const NOW_MS = Date.UTC(2026, 0, 1, 0, 1)
const metadata = (over: Partial<ObjectMeta> = {}): ObjectMeta => ({
  name: 'demo',
  namespace: 'default',
  uid: 'uid-demo',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...over,
})

export function someFacts(over: Partial<ClusterFacts> = {}): ClusterFacts {
  return {
    namespace: 'default',
    name: 'demo',
    uid: 'uid-cluster',
    paused: false,
    deleting: false,
    deletionTimestamp: undefined,
    infrastructureProvisioned: true,
    controlPlaneInitialized: false,
    infrastructureRef: { group: CAPTCluster.group, kind: CAPTCluster.kind, name: 'demo' },
    controlPlaneRef: { group: CAPTControlPlane.group, kind: CAPTControlPlane.kind, name: 'demo' },
    endpoint: undefined,
    topology: undefined,
    labels: {},
    annotations: {},
    ...over,
  }
}

/** The apply as it is after our request and the run's report. */
export function answered(
  request: ApplyRequest,
  status: NonNullable<WorkspaceTemplateApply['status']>,
  over: Partial<ObjectMeta> = {},
): Projected<WorkspaceTemplateApply> {
  const written = toApply(request)
  const apply = { ...written, metadata: { ...written.metadata, uid: 'uid-apply', generation: 1, ...over }, status }
  return apply as unknown as Projected<WorkspaceTemplateApply>
}

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const
export const applied = (outputs: NonNullable<WorkspaceTemplateApply['status']>['outputs']) => ({
  phase: 'Applied' as const,
  outputs,
  conditions: [{ ...ready, observedGeneration: 1 }],
})

export interface InfraOver {
  readonly spec?: CAPTCluster['spec']
  readonly metadata?: Partial<ObjectMeta>
  readonly status?: CAPTCluster['status']
  readonly seen?: Partial<InfraSeen>
  readonly apply?: NonNullable<WorkspaceTemplateApply['status']>
  readonly applyMetadata?: Partial<ObjectMeta>
}

export function anInfraSeen(over: InfraOver = {}): InfraSeen {
  const object = {
    apiVersion: CAPTCluster.apiVersion,
    kind: CAPTCluster.kind,
    metadata: metadata({ finalizers: [CLUSTER_FINALIZER], ...over.metadata }),
    spec: over.spec ?? { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' } },
    ...(over.status ? { status: over.status } : {}),
  } as Projected<CAPTCluster>
  const request = vpcRequest(object, 'demo')
  const outputs = { vpc_id: 'vpc-1', private_subnets: ['subnet-a'], public_subnets: ['subnet-b'], azs: ['eu-west-1a'] }
  const apply = request && answered(request, over.apply ?? applied(outputs), over.applyMetadata)
  return {
    object,
    cluster: someFacts({ infrastructureProvisioned: false }),
    clusterName: 'demo',
    apply,
    facts: readApply(apply),
    controlPlanes: [],
    nowMs: NOW_MS,
    ...over.seen,
  }
}

export interface PlaneOver {
  readonly spec?: CAPTControlPlane['spec']
  readonly metadata?: Partial<ObjectMeta>
  readonly status?: CAPTControlPlane['status']
  readonly infra?: CAPTCluster
  readonly seen?: Partial<PlaneSeen>
  readonly apply?: NonNullable<WorkspaceTemplateApply['status']>
  readonly applyMetadata?: Partial<ObjectMeta>
  /** False: nothing was asked of Terraform yet. */
  readonly isRequested?: boolean
}

/** The three Secrets of a control plane, as we wrote them. */
export function currentSecrets(): PlaneSeen['secrets'] {
  const owner = { apiVersion: CAPTControlPlane.apiVersion, kind: CAPTControlPlane.kind, metadata: metadata() }
  const set = { owner, cluster: 'demo', source: 'source', kubeconfig: 'a', userKubeconfig: 'b', caData: 'YQ==' }
  return toSecrets({ ...set, expiresAtMs: undefined, nowMs: NOW_MS }).map(toFacts)
}

export function aPlaneSeen(over: PlaneOver = {}): PlaneSeen {
  const infra = (over.infra ?? { ...anInfraSeen().object, status: { vpcId: 'vpc-1' } }) as Projected<CAPTCluster>
  const object = {
    apiVersion: CAPTControlPlane.apiVersion,
    kind: CAPTControlPlane.kind,
    metadata: metadata({ finalizers: [CONTROL_PLANE_FINALIZER], ...over.metadata }),
    spec: over.spec ?? { version: '1.34', workspaceTemplateRef: { name: 'eks' } },
    ...(over.status ? { status: over.status } : {}),
  } as Projected<CAPTControlPlane>
  const network = networkOf(infra, 'demo')
  const region = regionOf(object, network)
  const request = region === undefined ? undefined : eksRequest(object, 'demo', network, region)
  const outputs = { cluster_endpoint: 'https://demo.eks.test', cluster_version: '1.34' }
  const isRequested = over.isRequested ?? true
  const apply =
    request && isRequested ? answered(request, over.apply ?? applied(outputs), over.applyMetadata) : undefined
  return {
    object,
    cluster: someFacts(),
    clusterName: 'demo',
    infra,
    network,
    region,
    request,
    apply,
    facts: readApply(apply),
    secrets: [],
    kubeconfig: undefined,
    source: 'source',
    deliveries: [],
    workers: [],
    oldestNode: undefined,
    memory: {
      isKept: true,
      account: 'a',
      spotRole: { is: 'unknown' },
      reached: { is: 'yes' },
      secrets: { is: 'unknown' },
      cleared: { is: 'yes' },
      swept: { is: 'yes' },
    },
    nowMs: NOW_MS,
    ...over.seen,
  }
}
