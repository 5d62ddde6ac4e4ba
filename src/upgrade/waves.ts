// Many clusters in waves: by a label, so many at once, with a soak time after each wave. The first one that is not healthy
// ends it, and those that were not reached are named. Who is next is the decision that waves of a pipeline use too.
import {
  type Clock,
  compareNames,
  decideWaves,
  formatDuration,
  type WaveMember as Member,
  sleep,
  type WaveOptions,
} from '#lib'
import type { Outcome } from './perform.ts'

export interface WaveMember {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

export interface WavePorts {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly upgrade: (cluster: string) => Promise<Outcome>
  /** Why a cluster that was upgraded is not healthy; undefined when it is. */
  readonly complaintOf: (cluster: string) => Promise<string | undefined>
  progress(text: string): void
  /** What is waited for, at every look. */
  live(text: string): void
}

export interface FleetOutcome {
  readonly done: readonly string[]
  readonly failed: readonly { readonly name: string; readonly outcome: Outcome }[]
  readonly notReached: readonly string[]
}

/** Clusters with the same value are one wave, in the order of the values, numbers as numbers; those without it come last. */
export function groupWaves(members: readonly WaveMember[], label: string | undefined): readonly (readonly string[])[] {
  const names = (some: readonly WaveMember[]) => some.map(({ name }) => name).sort(compareNames)
  if (label === undefined) return members.length === 0 ? [] : [names(members)]
  const waveOf = ({ labels }: WaveMember) => (Object.hasOwn(labels, label) ? labels[label]! : undefined)
  const values = [...new Set(members.flatMap((one) => waveOf(one) ?? []))].sort(compareNames)
  const waves = values.map((value) => names(members.filter((one) => waveOf(one) === value)))
  const rest = names(members.filter((one) => waveOf(one) === undefined))
  return rest.length > 0 ? [...waves, rest] : waves
}

const POLL_MS = 10_000
/** Clusters are read less often than progress is reported. */
const REPORT_MS = 1000

export async function performWaves(
  ports: WavePorts,
  waves: readonly (readonly string[])[],
  options: WaveOptions,
): Promise<FleetOutcome> {
  const members = new Map<string, Member>(
    waves.flatMap((names, wave) => names.map((name) => [name, { name, wave, state: 'behind' }] as const)),
  )
  const set = (name: string, state: Partial<Member>) => members.set(name, { ...members.get(name)!, ...state })
  const done: string[] = []
  const failed: { name: string; outcome: Outcome }[] = []
  const running = new Map<string, Promise<void>>()
  const begin = async (name: string) => {
    set(name, { state: 'moving' })
    const outcome = await ports.upgrade(name)
    running.delete(name)
    if (outcome.is === 'done') done.push(name)
    else failed.push({ name, outcome })
    set(name, outcome.is === 'done' ? { state: 'healthy', sinceMs: ports.clock.monotonic() } : { state: 'unhealthy' })
  }
  for (let shown = 0; ; ) {
    const decided = decideWaves([...members.values()], options, ports.clock.monotonic())
    if (decided.wave === 0 || decided.stopped) break
    const { wave, start, soakLeftMs } = decided
    if (wave !== shown && start.length > 0) {
      ports.progress(`Wave ${wave} of ${waves.length}: ${waves[wave - 1]!.join(', ')}`)
      shown = wave
    }
    for (const name of start) running.set(name, begin(name))
    if (running.size > 0) await Promise.race(running.values())
    else {
      const sick = await firstSick(ports, done)
      if (sick) {
        failed.push(sick)
        set(sick.name, { state: 'unhealthy' })
      } else await soak(ports, done, soakLeftMs ?? POLL_MS)
    }
  }
  await Promise.all(running.values())
  const seen = new Set([...done, ...failed.map(({ name }) => name)])
  return { done, failed, notReached: waves.flat().filter((name) => !seen.has(name)) }
}

/** Every cluster so far must stay healthy while the next wave is waited for. */
async function firstSick(
  { complaintOf }: WavePorts,
  names: readonly string[],
): Promise<FleetOutcome['failed'][number] | undefined> {
  for (const name of names) {
    const message = await complaintOf(name)
    if (message !== undefined)
      return { name, outcome: { is: 'stopped', message, hint: `capt describe cluster ${name}` } }
  }
  return undefined
}

/** Waits until the clusters are to be read again. */
async function soak({ clock, live, signal }: WavePorts, names: readonly string[], leftMs: number): Promise<void> {
  for (let waited = 0; waited < Math.min(POLL_MS, leftMs); waited += REPORT_MS) {
    live(`${names.join(', ')} must stay healthy for another ${formatDuration(leftMs - waited)}`)
    await sleep(clock, Math.min(REPORT_MS, leftMs - waited), signal)
  }
}
