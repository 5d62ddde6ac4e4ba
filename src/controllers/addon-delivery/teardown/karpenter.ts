// Observes what is left of Karpenter in a workload cluster beside its release: pools, claims with their Nodes, and its
// definitions.
import { type AnyObject, CustomResourceDefinitionKind, type KindRef, kindRef, NodeKind, type UnknownObject } from '#api'
import { autoModeClassName, KARPENTER_DEFINITIONS } from '#catalog'
import type { Objects } from '#kube'
import type { StepDraft } from '../stages/stage-type.ts'
import { readHolders } from './held-drain.ts'
import { isKarpenterAlive, one, things, toObserved, toThing } from './objects.ts'
import type { TeardownContext } from './observe.ts'
import type { ObservedStep, Step, Thing } from './observed.ts'

const NodePoolKind = kindRef('karpenter.sh/v1', 'NodePool', false)
const NodeClaimKind = kindRef('karpenter.sh/v1', 'NodeClaim', false)
const EC2NodeClassKind = kindRef('karpenter.k8s.aws/v1', 'EC2NodeClass', false)
const AutoNodeClassKind = kindRef('eks.amazonaws.com/v1', 'NodeClass', false)
const POOL_LABEL = 'karpenter.sh/nodepool'
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
  const heldBy = isSlow(step, context) ? await readHolders(objects, nodeNamesOf(claims)) : []
  const observed: ObservedStep = { step, left, inUse: [], isControllerAlive, ...(heldBy.length > 0 ? { heldBy } : {}) }
  return isControllerAlive === false ? { ...observed, nodes: await nodesOf(objects, claims) } : observed
}

/** A drain that is not through after this time is looked into: that reads every pod. */
const SLOW_MS = 60_000

function isSlow({ name }: Step, { delivery, nowMs }: TeardownContext): boolean {
  const { startedAt } = delivery.status?.teardown?.steps?.find((one) => one.name === name) ?? {}
  return startedAt !== undefined && nowMs - Date.parse(startedAt) >= SLOW_MS
}

function nodeNamesOf(claims: readonly UnknownObject[]): ReadonlySet<string> {
  const names = claims.map((claim) => (claim as { status?: { nodeName?: string } }).status?.nodeName)
  return new Set(names.filter((name) => name !== undefined))
}

async function observeClasses(objects: Objects, step: Step, context: TeardownContext): Promise<ObservedStep> {
  const left = await things(objects, EC2NodeClassKind, (one) => !step.pool || one.metadata.name === step.pool)
  // Classes of Auto Mode that capt delivered; the others go with the cluster.
  const auto = step.pool ? await one(objects, AutoNodeClassKind, { name: autoModeClassName(step.pool) }) : []
  if (auto.length > 0) return { step, left: auto, inUse: [], isControllerAlive: true }
  const isControllerAlive = left.length > 0 ? await isKarpenterAlive(objects, namespaceOf(context)) : undefined
  return { step, left, inUse: [], isControllerAlive }
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
