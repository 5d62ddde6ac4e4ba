// Observes what is left of Karpenter in a workload cluster: pools, claims with their Nodes, the release, what its chart
// made, and its definitions.
import {
  type AnyObject,
  CustomResourceDefinitionKind,
  DeploymentKind,
  type Key,
  type KindRef,
  NodeKind,
  SecretKind,
  ServiceKind,
  type UnknownObject,
} from '#api'
import { autoModeClassName, FLUX_FINALIZER, KARPENTER_DEFINITIONS } from '#catalog'
import type { Objects } from '#kube'
import { HelmReleaseKind, OCIRepositoryKind, ref } from '../health/read.ts'
import { MANAGED_LABEL } from '../names.ts'
import { accessSecretNames } from '../stages/registry-access.ts'
import type { StepDraft } from '../stages/stage-type.ts'
import { isFluxAlive, isKarpenterAlive, one, things, toObserved, toThing } from './objects.ts'
import type { TeardownContext } from './observe.ts'
import type { ObservedStep, Step, Thing } from './observed.ts'

const NodePoolKind = ref('karpenter.sh', 'v1', 'NodePool', false)
const NodeClaimKind = ref('karpenter.sh', 'v1', 'NodeClaim', false)
const EC2NodeClassKind = ref('karpenter.k8s.aws', 'v1', 'EC2NodeClass', false)
const AutoNodeClassKind = ref('eks.amazonaws.com', 'v1', 'NodeClass', false)
const POOL_LABEL = 'karpenter.sh/nodepool'
export const HelmRepositoryKind = ref('source.toolkit.fluxcd.io', 'v1', 'HelmRepository')
/** What the Karpenter chart makes, all of it labelled with the release. */
const CHART_KINDS = [
  ServiceKind,
  ref('', 'v1', 'ServiceAccount'),
  ref('policy', 'v1', 'PodDisruptionBudget'),
  ref('rbac.authorization.k8s.io', 'v1', 'Role'),
  ref('rbac.authorization.k8s.io', 'v1', 'RoleBinding'),
  ref('rbac.authorization.k8s.io', 'v1', 'ClusterRole', false),
  ref('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBinding', false),
  ref('monitoring.coreos.com', 'v1', 'ServiceMonitor'),
]

const FINALIZERS = ['karpenter.sh/termination', 'karpenter.k8s.aws/termination']

/** Nodes of one pool, or of every pool: pools, so that no node is made again, then claims, then classes. */
export function nodeSteps(pool: string | undefined, timeoutMs: number): readonly StepDraft[] {
  const own = pool === undefined ? { finalizers: FINALIZERS } : { finalizers: FINALIZERS, pool }
  return [
    { type: 'node-pools', ...own, isOfNodes: true, endsWhenDeleting: true, observe: observePools },
    {
      type: NODE_CLAIMS,
      ...own,
      isOfNodes: true,
      isLeftToController: true,
      isSurveyed: true,
      timeoutMs,
      observe: observeClaims,
    },
    { type: 'node-classes', ...own, isOfNodes: true, observe: observeClasses },
  ]
}

const NODE_CLAIMS = 'node-claims'
export const drainsEveryNode = ({ type, pool }: Step): boolean => type === NODE_CLAIMS && pool === undefined

export const release = (namespace: string): StepDraft => ({
  type: 'release',
  finalizers: [FLUX_FINALIZER],
  observe: (objects, step) => observeRelease(step, { namespace, name: 'karpenter' }, objects),
})

export const definitions: StepDraft = { type: 'definitions', needsNodesGone: true, observe: observeDefinitions }

/** Where the stage of the pipeline put the controller. */
const namespaceOf = ({ stages }: TeardownContext): string =>
  stages.find((stage) => stage.karpenter)?.karpenter?.namespace ?? 'kube-system'

async function observePools(objects: Objects, step: Step): Promise<ObservedStep> {
  return toObserved(step, await listPools(objects, step.pool))
}

async function listPools(objects: Objects, pool: string | undefined): Promise<readonly Thing[]> {
  return await things(objects, NodePoolKind, (one) => (pool ? one.metadata.name === pool : isKarpenters(one)))
}

async function observeClaims(objects: Objects, step: Step, context: TeardownContext): Promise<ObservedStep> {
  const claims: UnknownObject[] = []
  const left = await things(objects, NodeClaimKind, (claim) => {
    const isMeant = step.pool ? claim.metadata.labels?.[POOL_LABEL] === step.pool : isKarpentersClaim(claim)
    if (isMeant) claims.push(claim)
    return isMeant
  })
  // The controller of Auto Mode is part of EKS: it cannot be seen, and is there as long as the cluster.
  const isEks = claims.length > 0 && !claims.some(isKarpentersClaim)
  const isControllerAlive =
    left.length > 0 && !isEks ? await isKarpenterAlive(objects, namespaceOf(context)) : isEks || undefined
  const observed: ObservedStep = { step, left, inUse: [], isControllerAlive }
  return isControllerAlive === false ? { ...observed, nodes: await nodesOf(objects, claims) } : observed
}

async function observeClasses(objects: Objects, step: Step, context: TeardownContext): Promise<ObservedStep> {
  const left = await things(objects, EC2NodeClassKind, (one) => !step.pool || one.metadata.name === step.pool)
  // Classes of Auto Mode that capt delivered; the others go with the cluster.
  const auto = step.pool ? await one(objects, AutoNodeClassKind, { name: autoModeClassName(step.pool) }) : []
  if (auto.length > 0) return { step, left: auto, inUse: [], isControllerAlive: true }
  const isControllerAlive = left.length > 0 ? await isKarpenterAlive(objects, namespaceOf(context)) : undefined
  return { step, left, inUse: [], isControllerAlive }
}

/** The HelmRelease, then its sources, then what the chart made: a dead helm-controller uninstalls nothing. */
async function observeRelease(step: Step, key: Key, objects: Objects): Promise<ObservedStep> {
  const kinds = [HelmReleaseKind, OCIRepositoryKind, HelmRepositoryKind]
  const left = [
    ...(await Promise.all(kinds.map((kind) => one(objects, kind, key)))).flat(),
    ...(await registrySecrets(objects, key)),
  ]
  // The source must outlive the release that was made from it.
  const first = left.filter((thing) => thing.kind === HelmReleaseKind)
  if (left.length > 0)
    return {
      step,
      left: first.length > 0 ? first : left,
      inUse: [],
      isControllerAlive: await isFluxAlive(objects),
    }
  const deployment = await one(objects, DeploymentKind, key)
  const others = deployment.length > 0 ? await madeByRelease(objects, key) : []
  const made = others.length > 0 ? others : deployment
  return { step, left: made, inUse: [], isControllerAlive: undefined }
}

/** What capt delivered for the registry of the chart. */
async function registrySecrets(objects: Objects, { namespace, name }: Key): Promise<readonly Thing[]> {
  const names = accessSecretNames(name)
  const isOne = ({ metadata }: AnyObject) => metadata.namespace === namespace && names.includes(metadata.name)
  return await things(objects, SecretKind, isOne, { labelSelector: `${MANAGED_LABEL}=true` })
}

/** All but the Deployment, which goes last: as long as it exists, the rest is listed. */
async function madeByRelease(objects: Objects, { namespace, name }: Key): Promise<readonly Thing[]> {
  const labelSelector = `app.kubernetes.io/managed-by=Helm,app.kubernetes.io/instance=${name}`
  const isOfRelease = ({ metadata }: AnyObject) =>
    (metadata.annotations?.['meta.helm.sh/release-namespace'] ?? namespace) === namespace
  const found = await Promise.all(CHART_KINDS.map((kind) => things(objects, kind, isOfRelease, { labelSelector })))
  const history = await things(objects, SecretKind, ({ metadata }) => metadata.namespace === namespace, {
    labelSelector: `owner=helm,name=${name}`,
  })
  return [...found.flat(), ...history]
}

/** A definition that another autoscaler may use stays with the cluster as long as there are objects of it. */
async function observeDefinitions(objects: Objects, step: Step, { cause }: TeardownContext): Promise<ObservedStep> {
  const found = await Promise.all(
    KARPENTER_DEFINITIONS.map(async ({ name, isShared }) => {
      const definition = await objects.get<UnknownObject>(CustomResourceDefinitionKind, { name })
      if (!definition || (isShared && cause === 'stages' && (await hasObjects(objects, definition)))) return []
      return [toThing(CustomResourceDefinitionKind, definition)]
    }),
  )
  return toObserved(step, found.flat())
}

async function hasObjects(objects: Objects, definition: UnknownObject): Promise<boolean> {
  const { group, names, scope, versions } = definition['spec'] as {
    readonly group: string
    readonly names: { readonly kind: string; readonly plural: string }
    readonly scope: string
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
  const version = versions.find(({ served }) => served)?.name
  if (version === undefined) return false
  const kind: KindRef = { group, version, ...names, namespaced: scope === 'Namespaced' }
  return (await things(objects, kind, () => true)).length > 0
}

/** Pools of EKS Auto Mode are not removed: its managed Karpenter owns them. */
function isKarpenters(pool: UnknownObject): boolean {
  const { spec } = pool as unknown as { spec?: { template?: { spec?: { nodeClassRef?: { group?: string } } } } }
  const group = spec?.template?.spec?.nodeClassRef?.group
  return group === undefined || group === 'karpenter.k8s.aws'
}

/** Claims of EKS Auto Mode go with the cluster. */
function isKarpentersClaim(claim: UnknownObject): boolean {
  const { spec } = claim as unknown as { spec?: { nodeClassRef?: { group?: string } } }
  const group = spec?.nodeClassRef?.group
  return group === undefined || group === 'karpenter.k8s.aws'
}

/** A claim owns its Node. */
async function nodesOf(objects: Objects, claims: readonly AnyObject[]): Promise<readonly Thing[]> {
  const owners = new Set(claims.map(({ metadata }) => metadata.uid))
  return await things(objects, NodeKind, ({ metadata }) =>
    (metadata.ownerReferences ?? []).some(({ kind, uid }) => kind === NodeClaimKind.kind && owners.has(uid)),
  )
}
