// One seeded trial: a workspace is made, something happens to it, and in the end nothing is lost, made twice without being
// named, left behind or stuck. Which seed does what is fixed: a seed that failed once is repeated for ever.
import { isReady } from '../support/engine/world.ts'
import { mixed, randomOf } from './campaign.ts'
import { DAMAGED, type Damages, damageRecords, VICTIMS } from './damage.ts'
import { disrupt } from './disrupt.ts'
import { combinedOf, DISRUPTIONS, type Disruption, describeDisruption, disruptionOf } from './disruptions.ts'
import { TrialWorld } from './trial-world.ts'

export interface Trial {
  readonly seed: number
  readonly resources: number
  /** Damaged records, or something that happens to processes, disks, networks and clocks. */
  readonly fault: Damages | Disruption
  readonly next: 'retry' | 'delete' | 'nothing'
}

export interface Outcome {
  readonly trial: string
  readonly end: 'went on' | 'stalled, then restored'
}

/**
 * Seeds up to here damage records of a small state; then of any size; then come the disruptions one after the other; then both
 * in one trial.
 */
const SMALL = 100
const ANY_SIZE = 150
const EITHER = 300
export const SEEDS = 360

export function trialOf(seed: number): Trial {
  const random = randomOf(seed <= SMALL ? seed : mixed(seed))
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  if (seed > EITHER) {
    const resources = 2 + random(4)
    return { seed, resources, fault: combinedOf(pick, random), next: pick(['retry', 'delete', 'nothing']) }
  }
  if (seed > ANY_SIZE) {
    const resources = 2 + random(4)
    const fault = disruptionOf(DISRUPTIONS[(seed - ANY_SIZE - 1) % DISRUPTIONS.length]!, pick, random)
    return { seed, resources, fault, next: pick(['retry', 'delete', 'nothing']) }
  }
  const isSmall = seed <= SMALL
  const all = isSmall ? VICTIMS : DAMAGED
  const victims = all.filter(() => random(100) < 40)
  const chosen = victims.length > 0 ? victims : [pick(all)]
  const resources = 1 + random(5)
  const damages = chosen.map(
    (victim) => [victim, victim === 'folder' || random(2) === 0 ? 'delete' : 'corrupt'] as const,
  )
  const moment = pick(
    isSmall ? (['during', 'after', 'after', 'away'] as const) : (['starting', 'during', 'after', 'away'] as const),
  )
  const next = pick(['retry', 'delete', 'nothing'] as const)
  const isRunning = moment === 'during' || moment === 'starting'
  const kills = isRunning && chosen.includes('plan') && !chosen.includes('record') && !chosen.includes('folder')
  return { seed, resources, fault: { is: 'damage', damages, moment, isLarge: chosen.includes('part'), kills }, next }
}

export function describeTrial({ seed, resources, fault, next }: Trial): string {
  if (fault.is !== 'damage') return `seed ${seed}: ${resources} resources, ${describeDisruption(fault)}, then ${next}`
  const what = fault.damages.map(([victim, how]) => `${how} ${victim}`).join(', ')
  return `seed ${seed}: ${resources} resources${fault.isLarge ? ' in a large state' : ''}, ${what} ${fault.moment} the run${fault.kills ? ', which is killed' : ''}, then ${next}`
}

export async function runTrial(trial: Trial): Promise<Outcome> {
  const world = await TrialWorld.open(`t${trial.seed}`)
  try {
    const { fault, next, resources } = trial
    const proceed = async () => {
      if (next === 'delete') await world.remove()
      if (next === 'retry') await world.retry()
    }
    const before = (await (fault.is === 'damage'
      ? damageRecords(world, fault, resources, proceed)
      : disrupt(world, fault, resources, proceed))) as string | undefined
    const began = Date.now()
    await world.settle('an end', (apply) => {
      if (next === 'delete' || !isReady(apply)) return false
      // A retry of something that changes nothing may end before its id is read.
      return next === 'nothing' || apply.status?.run?.id !== before || Date.now() - began > 10_000
    })
    await world.finish()
    return { trial: describeTrial(trial), end: world.hasStalled ? 'stalled, then restored' : 'went on' }
  } finally {
    await world.close()
  }
}
