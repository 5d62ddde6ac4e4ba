// Looks at what is left to take away. Walks past the steps that have ended or have nothing to do, and reads closely only
// the one that is next.
import {
  type AddonDelivery,
  type AddonStage,
  type AnyObject,
  type ClusterFacts,
  findCondition,
  type KindRef,
  type TeardownStep,
} from '#api'
import type { Projected } from '#kube'
import { messageOf, parseDuration, redact, toTimestamp } from '#lib'
import type { World } from '#runtime'
import type { DeliveryPorts } from './delivery-ports.ts'
import type { StageSeen, WorkloadSight } from './delivery-seen.ts'
import { STAGE_LABEL } from './names.ts'
import type { Workload } from './port.ts'
import { openProbes } from './probe.ts'
import { DEAD_CONTROLLER_MS } from './teardown.ts'
import { WORKLOAD_STEP } from './teardown-end.ts'
import { planRemoval } from './teardown-plan.ts'
import type { Survey, TeardownSeen } from './teardown-seen.ts'
import { lookAtHome, lookAtStep } from './teardown-sight.ts'

export interface TeardownContext {
  readonly world: World
  readonly ports: Pick<DeliveryPorts, 'instances'>
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: Pick<ClusterFacts, 'name' | 'namespace'>
  readonly sets: readonly { readonly object: AnyObject; readonly kind: KindRef }[]
  readonly stages: readonly AddonStage[]
  readonly going: ReadonlySet<string>
  readonly seen: readonly StageSeen[]
  readonly cause: 'cluster' | 'wish'
  /** The Cluster itself is deleted, not only its add-ons. */
  readonly withCluster: boolean
  /** The workload API has answered at some time: people may have made things in it. */
  readonly wasUp: boolean
  readonly workload: Workload | undefined
  readonly sight: WorkloadSight
  readonly terminate: boolean
  readonly deleteNetwork: boolean
  readonly nodesTimeout: string
  readonly nowMs: number
}

export async function observeTeardown(context: TeardownContext): Promise<TeardownSeen> {
  const { delivery, cause, nowMs, workload, sight, withCluster } = context
  const before = delivery.status?.teardown
  const now = toTimestamp(nowMs)
  const isOpen = sight.is === 'open' && workload !== undefined
  const base = {
    cause,
    startedAt: before?.startedAt ?? now,
    unreachableSince: isOpen ? undefined : before?.unreachableSince,
    isWorkloadOpen: isOpen,
    isWorkloadAbsent: sight.is === 'absent',
    mayTerminate: context.terminate,
    mayDeleteNetwork: context.deleteNetwork,
    leftovers: before?.leftovers ?? [],
    survey: undefined,
    isEmpty: false,
  } satisfies Partial<TeardownSeen>
  const isDelivered = wasDelivered(context)
  const mayHoldMore = withCluster && (context.wasUp || sight.is !== 'absent')
  if (!isDelivered && !mayHoldMore) return { ...base, ended: [], current: undefined, isEmpty: true }

  const steps = planRemoval(context.stages, isDelivered ? context.going : new Set(), {
    cause,
    withCluster,
    nodesTimeoutMs: parseDuration(context.nodesTimeout),
    probed: new Set(openProbes(delivery)),
  })
  const ended: TeardownStep[] = (before?.steps ?? []).filter((step) => step.state !== 'Running')
  const isSilenced = ended.some((step) => step.name === WORKLOAD_STEP)
  for (const step of steps) {
    if (ended.some((one) => one.name === step.name)) continue
    const startedAt = before?.steps?.find((one) => one.name === step.name)?.startedAt ?? now
    const current = { step, sight: undefined, startedAt }
    if (step.type === 'cloud') return { ...base, ended, current, survey: await surveyCloud(context, true) }
    const isHome = step.type === 'sets' || step.type === 'gate'
    if (!isHome && isSilenced) continue
    if (!isHome && !isOpen) return { ...base, ended, current }
    const seen = isHome ? await lookAtHome(context, step) : await lookAtStep(context, step, workload!.objects)
    if (seen.left.length === 0) {
      ended.push({ name: step.name, state: 'Done', message: 'Nothing left', startedAt, endedAt: now })
      continue
    }
    const isDead = seen.isControllerAlive === false && Date.parse(startedAt) + DEAD_CONTROLLER_MS <= nowMs
    const survey = step.type === 'node-claims' && isDead ? await surveyCloud(context, false) : undefined
    return { ...base, ended, current: { step, sight: seen, startedAt }, survey }
  }
  return { ...base, ended, current: undefined }
}

/**
 * A whole teardown ends once. The control plane acts on TornDown=True, so nothing that is read afterwards, with the
 * workload API already gone, may take it back.
 */
export function finishedTeardown(delivery: Projected<AddonDelivery>, nowMs: number): TeardownSeen | undefined {
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
  const network = withNetwork ? await list('load balancers', () => cloud?.network?.(cluster)) : undefined
  return {
    instances: instances.map(({ id }) => id).sort(),
    volumes: [...volumes].sort(),
    network,
    faults: faults.length > 1 ? oncePerMessage(faults) : faults,
  }
}

/** Missing credentials refuse everything in the same words: once is enough. */
function oncePerMessage(faults: Survey['faults']): Survey['faults'] {
  return faults.filter(({ message }, i) => faults.findIndex((other) => other.message === message) === i)
}
