// Many clusters in waves: by a label, so many at once, with a soak time after each wave. The first one that is not healthy
// ends it, and those that were not reached are named.
import { type Clock, sleep } from '#lib'
import type { Outcome } from './perform.ts'

export interface WaveMember {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

interface WaveOptions {
  readonly atOnce: number
  readonly soakMs: number
}

export interface WavePorts {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly upgrade: (cluster: string) => Promise<Outcome>
  /** Why a cluster that was upgraded is not healthy; undefined when it is. */
  readonly complaintOf: (cluster: string) => Promise<string | undefined>
  progress(text: string): void
}

export interface FleetOutcome {
  readonly done: readonly string[]
  readonly failed: readonly { readonly name: string; readonly outcome: Outcome }[]
  readonly notReached: readonly string[]
}

/** Clusters with the same value are one wave, in the order of the values, numbers as numbers; those without it come last. */
export function groupWaves(members: readonly WaveMember[], label: string | undefined): readonly (readonly string[])[] {
  const order = new Intl.Collator('en', { numeric: true })
  const names = (some: readonly WaveMember[]) => some.map(({ name }) => name).sort(order.compare)
  if (label === undefined) return members.length === 0 ? [] : [names(members)]
  const waveOf = ({ labels }: WaveMember) => (Object.hasOwn(labels, label) ? labels[label]! : undefined)
  const values = [...new Set(members.flatMap((one) => waveOf(one) ?? []))].sort(order.compare)
  const waves = values.map((value) => names(members.filter((one) => waveOf(one) === value)))
  const rest = names(members.filter((one) => waveOf(one) === undefined))
  return rest.length > 0 ? [...waves, rest] : waves
}

export async function performWaves(
  ports: WavePorts,
  waves: readonly (readonly string[])[],
  { atOnce, soakMs }: WaveOptions,
): Promise<FleetOutcome> {
  const done: string[] = []
  const failed: { name: string; outcome: Outcome }[] = []
  for (const [index, wave] of waves.entries()) {
    ports.progress(`Wave ${index + 1} of ${waves.length}: ${wave.join(', ')}`)
    const queue = [...wave]
    const work = async () => {
      for (let name = queue.shift(); name !== undefined && failed.length === 0; name = queue.shift()) {
        const outcome = await ports.upgrade(name)
        if (outcome.is === 'done') done.push(name)
        else failed.push({ name, outcome })
      }
    }
    await Promise.all(Array.from({ length: Math.min(atOnce, wave.length) }, work))
    if (failed.length === 0 && index < waves.length - 1) failed.push(...(await soak(ports, done, soakMs)))
    if (failed.length > 0) break
  }
  const seen = new Set([...done, ...failed.map(({ name }) => name)])
  return { done, failed, notReached: waves.flat().filter((name) => !seen.has(name)) }
}

const LOOK_MS = 10_000

/** Every cluster so far must stay healthy during this time. */
async function soak(ports: WavePorts, names: readonly string[], soakMs: number): Promise<FleetOutcome['failed']> {
  const end = ports.clock.monotonic() + soakMs
  for (;;) {
    for (const name of names) {
      const message = await ports.complaintOf(name)
      if (message !== undefined)
        return [{ name, outcome: { is: 'stopped', message, hint: `capt describe cluster ${name}` } }]
    }
    const left = end - ports.clock.monotonic()
    if (left <= 0) return []
    await sleep(ports.clock, Math.min(LOOK_MS, left), ports.signal)
  }
}
