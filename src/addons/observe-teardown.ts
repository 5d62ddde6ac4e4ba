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
import { DEAD_CONTROLLER_MS, UNREACHABLE_LIMIT_MS } from './teardown.ts'
import { planRemoval } from './teardown-plan.ts'
import type { TeardownSeen } from './teardown-seen.ts'
import { lookAtHome, lookAtStep } from './teardown-sight.ts'

export interface TeardownContext {
  readonly world: World
  readonly ports: DeliveryPorts
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: Pick<ClusterFacts, 'name' | 'namespace'>
  readonly sets: readonly { readonly object: AnyObject; readonly kind: KindRef }[]
  readonly stages: readonly AddonStage[]
  readonly going: ReadonlySet<string>
  readonly seen: readonly StageSeen[]
  readonly cause: 'cluster' | 'wish'
  readonly workload: Workload | undefined
  readonly sight: WorkloadSight
  readonly terminate: boolean
  readonly nodesTimeout: string
  readonly nowMs: number
}

export async function observeTeardown(context: TeardownContext): Promise<TeardownSeen> {
  const { delivery, cause, nowMs, workload, sight } = context
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
    leftovers: before?.leftovers ?? [],
    instances: undefined,
    volumes: [],
    sweepFault: undefined,
    isEmpty: false,
  } satisfies Partial<TeardownSeen>
  if (!wasDelivered(context)) return { ...base, ended: [], current: undefined, isEmpty: true }

  const steps = planRemoval(context.stages, context.going, {
    cause,
    nodesTimeoutMs: parseDuration(context.nodesTimeout),
    probed: new Set(openProbes(delivery)),
  })
  const ended: TeardownStep[] = (before?.steps ?? []).filter((step) => step.state !== 'Running')
  if (ended.some((step) => step.name === 'workload')) return { ...base, ended, current: undefined }
  for (const step of steps) {
    if (ended.some((one) => one.name === step.name)) continue
    const startedAt = before?.steps?.find((one) => one.name === step.name)?.startedAt ?? now
    const isHome = step.type === 'sets' || step.type === 'gate'
    if (!isHome && !isOpen)
      return {
        ...base,
        ended,
        current: { step, sight: undefined, startedAt },
        ...(await sweepSilent(context, before?.unreachableSince)),
      }
    const seen = isHome ? await lookAtHome(context, step) : await lookAtStep(context, step, workload!.objects)
    if (seen.left.length === 0) {
      ended.push({ name: step.name, state: 'Done', message: 'Nothing left', startedAt, endedAt: now })
      continue
    }
    const isDead = seen.isControllerAlive === false && Date.parse(startedAt) + DEAD_CONTROLLER_MS <= nowMs
    const swept = step.type === 'node-claims' && isDead ? await sweep(context) : {}
    return { ...base, ended, current: { step, sight: seen, startedAt }, ...swept }
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
    instances: undefined,
    volumes: [],
    sweepFault: undefined,
    mayTerminate: false,
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

type Sweep = Pick<TeardownSeen, 'instances' | 'volumes' | 'sweepFault'>

/** Instances are listed only when the API has been silent for long enough. */
async function sweepSilent(context: TeardownContext, since: string | undefined): Promise<Partial<Sweep>> {
  const isLong = since !== undefined && Date.parse(since) + UNREACHABLE_LIMIT_MS <= context.nowMs
  return context.sight.is === 'absent' || isLong ? await sweep(context) : {}
}

/** What cannot be looked for is told with the leftovers: nobody shall believe that nothing is there. */
async function sweep({ ports, cluster, world }: TeardownContext): Promise<Sweep> {
  if (!ports.instances) return { instances: [], volumes: [], sweepFault: undefined }
  try {
    const instances = (await ports.instances.list(cluster)).map((instance) => instance.id).sort()
    const volumes = [...((await ports.instances.volumes?.(cluster)) ?? [])].sort()
    return { instances, volumes, sweepFault: undefined }
  } catch (error) {
    const sweepFault = redact(messageOf(error))
    const Cluster = `${cluster.namespace}/${cluster.name}`
    world.log.warn('Could not list instances by tag', { Cluster, error: sweepFault })
    return { instances: [], volumes: [], sweepFault }
  }
}
