// Looks at what is left of Karpenter in a workload cluster: pools, claims with their Nodes, the release, what its chart
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
import { KARPENTER_DEFINITIONS } from '#catalog'
import type { Objects } from '#kube'
import { HelmReleaseKind, OCIRepositoryKind, ref } from './health-read.ts'
import type { Step, StepSight, Thing } from './teardown-seen.ts'
import { isFluxAlive, isKarpenterAlive, one, things, toThing } from './teardown-things.ts'

const NodePoolKind = ref('karpenter.sh', 'v1', 'NodePool', false)
const NodeClaimKind = ref('karpenter.sh', 'v1', 'NodeClaim', false)
const EC2NodeClassKind = ref('karpenter.k8s.aws', 'v1', 'EC2NodeClass', false)
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

export async function lookAtPools(objects: Objects, pool: string | undefined): Promise<readonly Thing[]> {
  return await things(objects, NodePoolKind, (one) => isKarpenters(one) && (!pool || one.metadata.name === pool))
}

export async function lookAtClaims(objects: Objects, step: Step, namespace: string): Promise<StepSight> {
  const claims: AnyObject[] = []
  const left = await things(objects, NodeClaimKind, (claim) => {
    const isMeant = isKarpentersClaim(claim) && (!step.pool || claim.metadata.labels?.[POOL_LABEL] === step.pool)
    if (isMeant) claims.push(claim)
    return isMeant
  })
  const isControllerAlive = left.length > 0 ? await isKarpenterAlive(objects, namespace) : undefined
  const sight: StepSight = { step, left, inUse: [], isControllerAlive }
  return isControllerAlive === false ? { ...sight, nodes: await nodesOf(objects, claims) } : sight
}

export async function lookAtClasses(objects: Objects, step: Step, namespace: string): Promise<StepSight> {
  const left = await things(objects, EC2NodeClassKind, (one) => !step.pool || one.metadata.name === step.pool)
  const isControllerAlive = left.length > 0 ? await isKarpenterAlive(objects, namespace) : undefined
  return { step, left, inUse: [], isControllerAlive }
}

/** The HelmRelease, then its sources, then what the chart made: a dead helm-controller uninstalls nothing. */
export async function lookAtRelease(step: Step, key: Key, objects: Objects): Promise<StepSight> {
  const kinds = [HelmReleaseKind, OCIRepositoryKind, HelmRepositoryKind]
  const left = (await Promise.all(kinds.map((kind) => one(objects, kind, key)))).flat()
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

/** All but the Deployment, which goes last: as long as it is there, the rest is looked for. */
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
export async function lookAtDefinitions(objects: Objects, cause: 'cluster' | 'wish'): Promise<readonly Thing[]> {
  const found = await Promise.all(
    KARPENTER_DEFINITIONS.map(async ({ name, isShared }) => {
      const definition = await objects.get<UnknownObject>(CustomResourceDefinitionKind, { name })
      if (!definition || (isShared && cause === 'wish' && (await hasObjects(objects, definition)))) return []
      return [toThing(CustomResourceDefinitionKind, definition)]
    }),
  )
  return found.flat()
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

/** Pools of the managed Karpenter inside EKS Auto Mode are none of our business. */
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
