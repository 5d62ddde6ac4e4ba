// Observes what is left to remove. Skips the steps that have ended or have nothing to do, and reads only the next one.
import {
  type AddonDelivery,
  type AddonStage,
  type AnyObject,
  type ClusterFacts,
  findCondition,
  type KindRef,
  type TeardownStep,
} from '#api'
import { isKubeError, type Projected } from '#kube'
import { messageOf, parseDuration, redact, toTimestamp } from '#lib'
import type { World } from '#runtime'
import type { Workload } from '../../shared/workload.ts'
import { CONFIRM_REMOVAL_ANNOTATION, STAGE_LABEL } from '../names.ts'
import type { ObservedStage, ObservedWorkload } from '../observed.ts'
import { toObservedWorkload } from '../open-workload.ts'
import type { DeliveryPorts } from '../ports.ts'
import { openProbes } from '../probe/probe.ts'
import { DEAD_CONTROLLER_MS } from './decide.ts'
import { readDisplaced } from './displaced.ts'
import { WORKLOAD_STEP } from './end.ts'
import { observeHomeStep } from './observe-step.ts'
import type { ObservedTeardown, Step, Survey } from './observed.ts'
import { planRemoval } from './steps.ts'

export interface TeardownContext {
  readonly world: World
  readonly ports: Pick<DeliveryPorts, 'instances'>
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: Pick<ClusterFacts, 'name' | 'namespace'>
  readonly sets: readonly { readonly object: AnyObject; readonly kind: KindRef }[]
  readonly stages: readonly AddonStage[]
  readonly going: ReadonlySet<string>
  readonly observedStages: readonly ObservedStage[]
  readonly cause: 'cluster' | 'stages'
  /** The Cluster itself is deleted, not only its add-ons. */
  readonly withCluster: boolean
  /** The Cluster object stays. */
  readonly isClusterKept: boolean
  /** The workload API has answered at some time: people may have made things in it. */
  readonly wasUp: boolean
  readonly workload: Workload | undefined
  readonly workloadState: ObservedWorkload
  readonly terminate: boolean
  readonly deleteNetwork: boolean
  readonly nodesTimeout: string
  /** EKS Auto Mode has pools of its own, which take the pods of a pool that goes. */
  readonly isAutoMode?: boolean
  readonly nowMs: number
}

/** An API that stops answering in between counts as unreachable. */
export function observeTeardown(context: TeardownContext): Promise<ObservedTeardown> {
  return observeSteps(context).catch((error: unknown) => {
    if (!isKubeError(error)) throw error
    return observeSteps({ ...context, workload: undefined, workloadState: toObservedWorkload(error) })
  })
}

async function observeSteps(context: TeardownContext): Promise<ObservedTeardown> {
  const { delivery, cause, nowMs, workload, workloadState, withCluster } = context
  const before = delivery.status?.teardown
  const now = toTimestamp(nowMs)
  const isOpen = workloadState.is === 'open' && workload !== undefined
  const base = {
    cause,
    startedAt: before?.startedAt ?? now,
    unreachableSince: isOpen ? undefined : before?.unreachableSince,
    isWorkloadOpen: isOpen,
    isWorkloadAbsent: workloadState.is === 'absent',
    mayTerminate: context.terminate,
    mayDeleteNetwork: context.deleteNetwork,
    leftovers: before?.leftovers ?? [],
    survey: undefined,
    isEmpty: false,
  } satisfies Partial<ObservedTeardown>
  const isDelivered = wasDelivered(context)
  const mayHoldMore = withCluster && (context.wasUp || workloadState.is !== 'absent')
  if (!isDelivered && !mayHoldMore) return { ...base, ended: [], current: undefined, isEmpty: true }

  const steps = planRemoval(context.stages, isDelivered ? context.going : new Set(), {
    withCluster,
    isClusterKept: context.isClusterKept,
    nodesTimeoutMs: parseDuration(context.nodesTimeout),
    probed: new Set(openProbes(delivery)),
  })
  const ended: TeardownStep[] = (before?.steps ?? []).filter((step) => step.state !== 'Running')
  const unconfirmed = await observeUnconfirmed(context, steps, before?.steps ?? [])
  if (unconfirmed.length > 0)
    return { ...base, ended, current: undefined, unconfirmed, going: [...context.going].sort() }
  const isSilenced = ended.some((step) => step.name === WORKLOAD_STEP)
  for (const step of steps) {
    if (ended.some((one) => one.name === step.name)) continue
    const startedAt = before?.steps?.find((one) => one.name === step.name)?.startedAt ?? now
    const current = { step, observedStep: undefined, startedAt }
    if (step.where === 'cloud') return { ...base, ended, current, survey: await surveyCloud(context, true) }
    const isHome = step.where === 'home'
    if (!isHome && isSilenced) continue
    if (!isHome && !isOpen) return { ...base, ended, current }
    const observed = isHome
      ? await observeHomeStep(context, step)
      : await step.observe!(workload!.objects, step, context)
    if (observed.left.length === 0) {
      ended.push({ name: step.name, state: 'Done', message: 'Nothing left', startedAt, endedAt: now })
      continue
    }
    const isDead = observed.isControllerAlive === false && Date.parse(startedAt) + DEAD_CONTROLLER_MS <= nowMs
    const survey = step.isSurveyed && isDead ? await surveyCloud(context, false) : undefined
    return { ...base, ended, current: { step, observedStep: observed, startedAt }, survey }
  }
  return { ...base, ended, current: undefined }
}

/** Read while no node has been asked to go yet: afterwards there is nothing to hold. */
async function observeUnconfirmed(
  { withCluster, workload, workloadState, delivery, going, stages, isAutoMode = false }: TeardownContext,
  steps: readonly Step[],
  begun: readonly TeardownStep[],
): Promise<readonly string[]> {
  const ofNodes = steps.filter(({ isOfNodes }) => isOfNodes)
  if (withCluster || !workload || workloadState.is !== 'open' || ofNodes.length === 0) return []
  if (ofNodes.some(({ name }) => begun.some((step) => step.name === name))) return []
  if (isConfirmed(delivery.metadata.annotations?.[CONFIRM_REMOVAL_ANNOTATION], going)) return []
  const pools = ofNodes.flatMap(({ pool }) => pool ?? [])
  const isWhole = ofNodes.some(({ pool }) => pool === undefined)
  // Where Karpenter stays and has another pool, it makes room itself.
  if (!isWhole && (isAutoMode || stages.some((stage) => stage.nodePool && !going.has(stage.name)))) return []
  return await readDisplaced(workload.objects, isWhole ? undefined : new Set(pools))
}

function isConfirmed(annotation: string | undefined, going: ReadonlySet<string>): boolean {
  const confirmed = new Set((annotation ?? '').split(',').map((name) => name.trim()))
  return confirmed.has('*') || [...going].every((stage) => confirmed.has(stage))
}

/**
 * A whole teardown ends once. The control plane acts on TornDown=True, so nothing that is read afterwards, with the
 * workload API already gone, may take it back.
 */
export function finishedTeardown(delivery: Projected<AddonDelivery>, nowMs: number): ObservedTeardown | undefined {
  const torn = findCondition(delivery.status?.conditions, 'TornDown')
  if (torn?.status !== 'True') return undefined
  const { startedAt, unreachableSince, steps = [], leftovers = [] } = delivery.status?.teardown ?? {}
  return {
    cause: 'cluster',
    startedAt: startedAt ?? toTimestamp(nowMs),
    unreachableSince,
    ended: steps,
    current: undefined,
    isWorkloadOpen: false,
    isWorkloadAbsent: true,
    survey: undefined,
    mayTerminate: false,
    mayDeleteNetwork: false,
    leftovers,
    isEmpty: false,
    finished: torn.message,
  }
}

function wasDelivered({ delivery, sets, going }: TeardownContext): boolean {
  if (sets.some(({ object }) => going.has(object.metadata.labels?.[STAGE_LABEL] ?? ''))) return true
  if ((delivery.status?.teardown?.steps?.length ?? 0) > 0) return true
  return delivery.status?.stages?.some((one) => going.has(one.name) && one.startedAt !== undefined) ?? false
}

/** Each kind is listed for itself, so that one refusal does not hide the others. */
async function surveyCloud({ ports, cluster, world }: TeardownContext, withNetwork: boolean): Promise<Survey> {
  const { instances: cloud } = ports
  const faults: Survey['faults'][number][] = []
  const list = async <T>(what: Survey['faults'][number]['what'], ask: () => Promise<T> | undefined) => {
    try {
      return await ask()
    } catch (error) {
      const message = redact(messageOf(error))
      const Cluster = `${cluster.namespace}/${cluster.name}`
      world.log.warn('Could not list what carries the tags of a cluster', { Cluster, what, error: message })
      faults.push({ what, message })
      return undefined
    }
  }
  const instances = (await list('instances', () => cloud?.list(cluster))) ?? []
  const volumes = (await list('volumes', () => cloud?.volumes?.(cluster))) ?? []
  const profiles = (withNetwork ? await list('instance profiles', () => cloud?.profiles?.(cluster)) : undefined) ?? []
  const network = withNetwork ? await list('load balancers', () => cloud?.network?.(cluster)) : undefined
  return {
    instances: instances.map(({ id }) => id).sort(),
    volumes: [...volumes].sort(),
    profiles,
    network,
    faults: faults.length > 1 ? oncePerMessage(faults) : faults,
  }
}

/** Missing credentials refuse everything in the same words: once is enough. */
function oncePerMessage(faults: Survey['faults']): Survey['faults'] {
  return faults.filter(({ message }, i) => faults.findIndex((other) => other.message === message) === i)
}
