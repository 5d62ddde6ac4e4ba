// Decides which members of a fleet a change reaches next: wave by wave, so many at once, with a soak time after each wave. One
// that is not healthy stops it. Pure: the state of every member and the time are given.

export interface WaveMember {
  readonly name: string
  /** Lower goes first. */
  readonly wave: number
  /** `behind`: it does not have the change. `paused`: it is passed over. */
  readonly state: 'behind' | 'moving' | 'healthy' | 'unhealthy' | 'paused'
  /** Of a healthy one: since when. */
  readonly sinceMs?: number
  /** Of an unhealthy one. */
  readonly reason?: string
}

export interface WaveOptions {
  readonly maxConcurrent: number
  readonly soakMs: number
}

export interface WaveDecision {
  /** Counted from 1; 0 when no member is left. */
  readonly wave: number
  readonly waves: number
  /** Members that may begin now. */
  readonly start: readonly string[]
  readonly moving: readonly string[]
  readonly healthy: readonly string[]
  /** Those that do not begin now. */
  readonly notReached: readonly string[]
  readonly paused: readonly string[]
  /** The first member that is not healthy: nothing begins. */
  readonly stopped?: { readonly name: string; readonly reason: string }
  /** How long the earlier waves must still stay healthy before the present one begins. */
  readonly soakLeftMs?: number
}

export function decideWaves(
  members: readonly WaveMember[],
  { maxConcurrent, soakMs }: WaveOptions,
  nowMs: number,
): WaveDecision {
  const sorted = members.toSorted((a, b) => a.wave - b.wave || compareNames(a.name, b.name))
  const named = (state: WaveMember['state'], some = sorted) =>
    some.filter((one) => one.state === state).map(({ name }) => name)
  const ranks = [...new Set(sorted.map(({ wave }) => wave))]
  const open = sorted.find(({ state }) => state === 'behind' || state === 'moving')?.wave
  const base = {
    wave: open === undefined ? 0 : ranks.indexOf(open) + 1,
    waves: ranks.length,
    start: [],
    moving: named('moving'),
    healthy: named('healthy'),
    notReached: named('behind'),
    paused: named('paused'),
  }
  const sick = sorted.find(({ state }) => state === 'unhealthy')
  if (sick) return { ...base, stopped: { name: sick.name, reason: sick.reason ?? '' } }
  if (open === undefined) return base
  const earlier = sorted.filter(({ wave, state }) => wave < open && state === 'healthy')
  const soakLeftMs = Math.max(0, ...earlier.map(({ sinceMs = nowMs }) => sinceMs + soakMs - nowMs))
  const own = sorted.filter(({ wave }) => wave === open)
  const waiting = named('behind', own)
  if (waiting.length > 0 && soakLeftMs > 0) return { ...base, soakLeftMs }
  const start = waiting.slice(0, Math.max(0, maxConcurrent - named('moving', own).length))
  return { ...base, start, notReached: base.notReached.filter((name) => !start.includes(name)) }
}

/** Numbers in names and in label values count as numbers. A collator of Intl would cost the manager 2.5 MiB. */
export function compareNames(a: string, b: string): number {
  const [x, y] = [a, b].map((name) => name.split(/(\d+)/)) as [string[], string[]]
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const [one, other] = [x[i]!, y[i]!]
    const order = i % 2 === 1 ? Number(one) - Number(other) : Number(one > other) - Number(one < other)
    if (order !== 0) return order
  }
  return x.length - y.length
}
