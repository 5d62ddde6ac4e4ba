// How a deployment moves its replicas from old sets to the one of its current template. Pure.

/** What a rollout knows of one CAPTMachineSet of the deployment. */
export interface SetFacts {
  readonly name: string
  /** Made from the current template. */
  readonly isCurrent: boolean
  /** Of its template, counted from 1. */
  readonly revision: number
  /** spec.replicas */
  readonly replicas: number
  /** Its machines, without those being deleted. */
  readonly machines: number
  readonly available: number
  /** Its machines that are being deleted. */
  readonly deleting: number
}

export interface Strategy {
  readonly type: 'RollingUpdate' | 'Recreate'
  readonly maxSurge: number
  readonly maxUnavailable: number
}

export interface RolloutRequest {
  readonly replicas: number
  readonly strategy: Strategy
  readonly paused: boolean
  readonly sets: readonly SetFacts[]
}

interface Rollout {
  /** Replicas of the set for the current template, when it has to be made. */
  readonly create: number | undefined
  readonly scale: readonly { readonly name: string; readonly to: number }[]
}

type Bound = number | string

/** Numbers for a percentage: surge is rounded up, unavailable down. Both 0 would never end: then one may be missing. */
export function resolveStrategy(
  {
    type,
    rollingUpdate,
  }: { readonly type: Strategy['type']; readonly rollingUpdate?: { maxSurge?: Bound; maxUnavailable?: Bound } },
  replicas: number,
): Strategy {
  const { maxSurge = 1, maxUnavailable = 0 } = rollingUpdate ?? {}
  const surge = toNumber(maxSurge, replicas, Math.ceil)
  const unavailable = toNumber(maxUnavailable, replicas, Math.floor)
  return { type, maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

function toNumber(bound: Bound, replicas: number, round: (value: number) => number): number {
  if (typeof bound === 'number') return bound
  return round((Number.parseInt(bound, 10) * replicas) / 100)
}

/** How few machines must stay available. A set removes no available machine beyond it. */
export function minAvailable(replicas: number, { type, maxUnavailable }: Strategy): number {
  return type === 'Recreate' ? 0 : Math.max(0, replicas - maxUnavailable)
}

export function decideRollout(request: RolloutRequest): Rollout {
  const changed = decideChange(request)
  const known = new Map(request.sets.map(({ name, replicas }) => [name, replicas]))
  return { ...changed, scale: changed.scale.filter(({ name, to }) => known.get(name) !== to) }
}

function decideChange(request: RolloutRequest): Rollout {
  if (request.paused) return decidePaused(request)
  return request.strategy.type === 'Recreate' ? decideRecreate(request) : decideRolling(request)
}

const currentOf = (sets: readonly SetFacts[]): SetFacts | undefined => sets.find(({ isCurrent }) => isCurrent)
const oldOf = (sets: readonly SetFacts[]): readonly SetFacts[] =>
  sets.filter(({ isCurrent }) => !isCurrent).toSorted((a, b) => a.revision - b.revision)
const sum = (sets: readonly SetFacts[], of: (set: SetFacts) => number): number =>
  sets.reduce((total, set) => total + of(set), 0)
/** Machines that there are or will be. */
const sizeOf = ({ replicas, machines }: SetFacts): number => Math.max(replicas, machines)

function decideRolling({ replicas, strategy, sets }: RolloutRequest): Rollout {
  const current = currentOf(sets)
  const old = oldOf(sets)
  const room = Math.max(0, replicas + strategy.maxSurge - sum(sets, sizeOf))
  if (!current) return { create: Math.min(replicas, room), scale: scaleDown(old, sets, replicas, strategy) }
  const grown = current.replicas + Math.min(room, replicas - current.replicas)
  const to = current.replicas > replicas ? replicas : grown
  return { create: undefined, scale: [{ name: current.name, to }, ...scaleDown(old, sets, replicas, strategy)] }
}

/**
 * Old machines that are not available go first, as far as there are enough machines without them: a cluster whose API does
 * not answer reports every machine as not available. Of what is available as many go as are not needed. Oldest set first.
 */
function scaleDown(
  old: readonly SetFacts[],
  all: readonly SetFacts[],
  replicas: number,
  strategy: Strategy,
): Rollout['scale'] {
  const needed = minAvailable(replicas, strategy)
  // Machines that a set still has to remove are as good as gone; new ones count when they are available.
  const kept = sum(all, ({ isCurrent, replicas, available }) => (isCurrent ? Math.min(replicas, available) : replicas))
  let unneeded = Math.max(0, kept - needed)
  let spare = Math.max(0, sum(all, (set) => Math.min(set.available, set.replicas)) - needed)
  return old.map((set) => {
    const available = Math.min(set.available, set.replicas)
    const unhealthy = Math.min(set.replicas - available, unneeded)
    unneeded -= unhealthy
    const gone = Math.min(available, spare)
    spare -= gone
    return { name: set.name, to: set.replicas - unhealthy - gone }
  })
}

/** The new machines come when the last old one is gone. */
function decideRecreate({ replicas, sets }: RolloutRequest): Rollout {
  const current = currentOf(sets)
  const old = oldOf(sets)
  const scale = old.map(({ name }) => ({ name, to: 0 }))
  if (old.some(({ replicas, machines, deleting }) => replicas + machines + deleting > 0))
    return { create: undefined, scale }
  return current
    ? { create: undefined, scale: [...scale, { name: current.name, to: replicas }] }
    : { create: replicas, scale }
}

/** No new template is rolled out. More replicas come to the newest set, fewer go from the oldest. */
function decidePaused({ replicas, strategy, sets }: RolloutRequest): Rollout {
  const byAge = sets.toSorted((a, b) => a.revision - b.revision)
  const newest = currentOf(sets) ?? byAge.findLast((set) => set.replicas > 0) ?? byAge.at(-1)
  const total = sum(sets, (set) => set.replicas)
  const active = sets.filter((set) => set.replicas > 0)
  if (!newest) return { create: undefined, scale: [] }
  if (active.length <= 1) return { create: undefined, scale: [{ name: (active[0] ?? newest).name, to: replicas }] }
  if (total < replicas)
    return { create: undefined, scale: [{ name: newest.name, to: newest.replicas + replicas - total }] }
  let excess = Math.max(0, total - replicas - strategy.maxSurge)
  const scale = byAge.map((set) => {
    const gone = Math.min(set.replicas, excess)
    excess -= gone
    return { name: set.name, to: set.replicas - gone }
  })
  return { create: undefined, scale }
}
