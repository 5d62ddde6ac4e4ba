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
import type { Observed as ObservedInfra } from '../../../src/controllers/cluster/observe.ts'
import { vpcRequest } from '../../../src/controllers/cluster/variables.ts'
import { toFacts, toSecrets } from '../../../src/controllers/control-plane/kubeconfig/secrets.ts'
import type { Observed as ObservedPlane } from '../../../src/controllers/control-plane/observe.ts'
import { eksRequest, networkOf, regionOf } from '../../../src/controllers/control-plane/variables.ts'
import { type ApplyRequest, readApply, toApply } from '../../../src/controllers/shared/apply.ts'

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
  readonly observed?: Partial<ObservedInfra>
  readonly apply?: NonNullable<WorkspaceTemplateApply['status']>
  readonly applyMetadata?: Partial<ObjectMeta>
}

export function anObservedInfra(over: InfraOver = {}): ObservedInfra {
  const object = {
    apiVersion: CAPTCluster.apiVersion,
    kind: CAPTCluster.kind,
    metadata: metadata({ finalizers: [CLUSTER_FINALIZER], ...over.metadata }),
    spec: over.spec ?? { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' } },
    ...(over.status ? { status: over.status } : {}),
  } as Projected<CAPTCluster>
  const name = object.spec.clusterName ?? object.status?.clusterName ?? 'demo'
  const request = vpcRequest(object, 'demo', name)
  const outputs = { vpc_id: 'vpc-1', private_subnets: ['subnet-a'], public_subnets: ['subnet-b'], azs: ['eu-west-1a'] }
  const apply = request && answered(request, over.apply ?? applied(outputs), over.applyMetadata)
  return {
    object,
    cluster: someFacts({ infrastructureProvisioned: false }),
    clusterName: 'demo',
    name: { is: 'chosen', name },
    apply,
    facts: readApply(apply),
    controlPlanes: [],
    nowMs: NOW_MS,
    ...over.observed,
  }
}

export interface PlaneOver {
  readonly spec?: CAPTControlPlane['spec']
  readonly metadata?: Partial<ObjectMeta>
  readonly status?: CAPTControlPlane['status']
  readonly infra?: CAPTCluster
  readonly observed?: Partial<ObservedPlane>
  readonly apply?: NonNullable<WorkspaceTemplateApply['status']>
  readonly applyMetadata?: Partial<ObjectMeta>
  /** False: nothing was asked of Terraform yet. */
  readonly isRequested?: boolean
}

/** The three Secrets of a control plane, as we wrote them. */
export function currentSecrets(): ObservedPlane['secrets'] {
  const owner = { apiVersion: CAPTControlPlane.apiVersion, kind: CAPTControlPlane.kind, metadata: metadata() }
  const set = { owner, cluster: 'demo', source: 'source', kubeconfig: 'a', userKubeconfig: 'b', caData: 'YQ==' }
  return toSecrets({ ...set, expiresAtMs: undefined, nowMs: NOW_MS }).map(toFacts)
}

export function anObservedPlane(over: PlaneOver = {}): ObservedPlane {
  const infra = (over.infra ?? {
    ...anObservedInfra().object,
    status: { vpcId: 'vpc-1', clusterName: 'demo' },
  }) as Projected<CAPTCluster>
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
    results: {
      isRefreshing: true,
      account: 'a',
      spotRole: { is: 'unknown' },
      reached: { is: 'yes' },
      secrets: { is: 'unknown' },
      cleared: { is: 'yes' },
      swept: { is: 'yes' },
    },
    nowMs: NOW_MS,
    ...over.observed,
  }
}
