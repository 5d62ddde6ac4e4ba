// What may happen to processes, disks, networks and clocks while a run is on, as data that a seed chooses.
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'

import type { Damages } from './damage.ts'

export const DISRUPTIONS = ['stop', 'partition', 'pod', 'disk', 'clock'] as const

/** So long after the runner was there, or after the first resource was made. */
interface Timing {
  readonly from: 'start' | 'first'
  readonly afterMs: number
}

/** What is damaged in the same moment: before the next manager or runner starts. */
export type Disruption = Timing & { readonly damages?: Damages['damages'] } & (
    | {
        readonly is: 'stop'
        readonly victim: 'manager' | 'runner' | 'terraform'
        /** Continued before or after somebody else took over. */
        readonly until: 'before' | 'after'
      }
    | { readonly is: 'partition'; readonly until: 'before' | 'after'; readonly forMs: number }
    /** `silence`: the pod is gone, and its Lease is not renewed for three durations. */
    | { readonly is: 'pod'; readonly death: 'status' | 'declared' | 'silence' }
    | { readonly is: 'kill'; readonly victims: readonly ('manager' | 'runner' | 'terraform')[] }
    | { readonly is: 'disk'; readonly moment: 'before' | 'during' }
    | {
        readonly is: 'clock'
        readonly skews: readonly [number, number]
        readonly killed: 'manager' | 'all'
        readonly fails: boolean
      }
  )

type Pick = <T>(list: readonly T[]) => T

export function disruptionOf(
  is: (typeof DISRUPTIONS)[number],
  pick: Pick,
  random: (below: number) => number,
): Disruption {
  const from = pick(['start', 'first'] as const)
  const at = { from, afterMs: random(from === 'start' ? 2500 : 1000) }
  const until = pick(['before', 'after'] as const)
  switch (is) {
    case 'stop':
      return { is, ...at, until, victim: pick(['manager', 'runner', 'terraform'] as const) }
    case 'partition':
      return { is, ...at, until, forMs: 500 + random(4000) }
    case 'pod':
      return { is, ...at, death: pick(['status', 'declared'] as const) }
    case 'disk':
      return { is, ...at, moment: pick(['before', 'during', 'during'] as const) }
    case 'clock': {
      const skews = pick([
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
        [1, -1],
        [-1, 1],
      ] as const)
      return { is, ...at, skews, killed: pick(['manager', 'all'] as const), fails: random(2) === 0 }
    }
  }
}

/** Seeds of the third hundred on: something happens to processes and to the records in one trial. */
export function combinedOf(pick: Pick, random: (below: number) => number): Disruption {
  const from = pick(['start', 'first'] as const)
  const at = { from, afterMs: random(from === 'start' ? 2500 : 1000) }
  const all = ['record', 'state', 'bundle', 'backup', 'plan'] as const
  const chosen = all.filter(() => random(100) < 30)
  const damages = chosen.map((victim) => [victim, pick(['delete', 'corrupt'] as const)] as const)
  const is = pick(['pod', 'pod', 'kill', 'kill', 'stop'] as const)
  if (is === 'pod') return { is, ...at, damages, death: pick(['silence', 'silence', 'status', 'declared'] as const) }
  const always = damages.length > 0 ? damages : [[pick(all), 'delete'] as const]
  if (is === 'stop')
    return { is, ...at, damages: always, until: pick(['before', 'after']), victim: pick(['runner', 'terraform']) }
  const victims = pick([
    ['runner'],
    ['terraform'],
    ['runner', 'terraform'],
    ['manager', 'runner', 'terraform'],
  ] as const)
  return { is, ...at, damages: always, victims }
}

export function describeDisruption(fault: Disruption): string {
  const damages = (fault.damages ?? []).map(([victim, how]) => `, ${how} ${victim}`)
  return `${describeEvent(fault)}${damages.join('')}`
}

function describeEvent(fault: Disruption): string {
  const at = `${fault.afterMs} ms after the ${fault.from === 'start' ? 'start' : 'first resource'}`
  switch (fault.is) {
    case 'stop':
      return `${fault.victim} stopped ${at}, continued ${fault.until} a takeover`
    case 'partition':
      return `runner cut off ${at}, healed ${fault.until} a takeover`
    case 'pod':
      return `pod replaced ${at}, its death ${DEATHS[fault.death]}`
    case 'kill':
      return `${fault.victims.join(', ')} killed ${at}`
    case 'disk':
      return fault.moment === 'before' ? 'disk full before the run' : `disk full ${at}`
    case 'clock':
      return `clocks ${fault.skews.join(' and ')} h off, ${fault.killed} killed ${at}${fault.fails ? ', first attempt fails' : ''}`
  }
}

const DEATHS = { status: 'in its status', declared: 'declared', silence: 'proven by silence' } as const

/** Why this machine cannot have it; undefined when it can. */
export function obstacleTo({ is }: { readonly is: Disruption['is'] | 'damage' }): string | undefined {
  if (is === 'pod') return canUnshare() ? undefined : 'unshare needs root here'
  if (is === 'disk') return canMount() ? undefined : 'mount needs root here'
  return undefined
}

const canUnshare = remembered(
  () => spawnSync('unshare', ['--pid', '--uts', '--fork', '--mount-proc', 'true']).status === 0,
)
const canMount = remembered(
  () => spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0,
)

function remembered<T>(ask: () => T): () => T {
  let known: { readonly answer: T } | undefined
  return () => {
    known ??= { answer: ask() }
    return known.answer
  }
}
