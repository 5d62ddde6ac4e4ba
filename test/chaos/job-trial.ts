// One seeded trial of the engine `job`: an apply is made, struck twice while it runs or is destroyed, and deleted. In the end
// nothing is lost, made twice without being named, or left behind: no Job, Role, account, Secret or process.
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  type AnyObject,
  JobKind,
  type KindRef,
  PodKind,
  RoleBindingKind,
  RoleKind,
  SecretKind,
  ServiceAccountKind,
} from '#api'
import { type JobWorld, jobWorld } from '../support/engine/job-world.ts'
import { ledgerModule } from '../support/engine/ledger.ts'
import { isReady } from '../support/engine/world.ts'
import { mixed, randomOf } from './campaign.ts'
import { TrialWorld } from './trial-world.ts'

/** `node`: its pods are gone without a word. `all`: manager, node and Job at once. `api`: the API server is away for a while. */
export const JOB_VICTIMS = [
  'pod',
  'memory',
  'node',
  'manager',
  'manager and pod',
  'job',
  'pod object',
  'all',
  'api',
] as const
type Victim = (typeof JOB_VICTIMS)[number]

interface Strike {
  readonly victim: Victim
  /** `start`: when the apply is made. `work`: when the first resource is. `destroy`: when the apply is deleted. */
  readonly phase: 'start' | 'work' | 'destroy'
  readonly afterMs: number
}

export interface JobTrial {
  readonly seed: number
  readonly resources: number
  readonly strikes: readonly Strike[]
}

/** Two kills each. */
export const JOB_SEEDS = 100

export function jobTrialOf(seed: number): JobTrial {
  const random = randomOf(mixed(seed + 1000))
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  const phases = pick([
    ['start', 'work'],
    ['work', 'work'],
    ['work', 'destroy'],
    ['start', 'destroy'],
    ['destroy', 'destroy'],
  ] as const)
  // The first victims alternate, so that a few seeds have one of each.
  const victims = [JOB_VICTIMS[seed % JOB_VICTIMS.length]!, pick(JOB_VICTIMS)]
  const strikes = phases.map((phase, i) => ({ phase, victim: victims[i]!, afterMs: random(2000) }))
  return { seed, resources: 2 + random(3), strikes }
}

export function describeJobTrial({ seed, resources, strikes }: JobTrial): string {
  const struck = strikes.map(({ victim, phase, afterMs }) => `${victim} ${afterMs} ms into ${phase}`)
  return `seed ${seed}: ${resources} resources, kills ${struck.join(', then ')}`
}

/** With this an absence is proven within seconds. */
const FAST = { CAPT_TEST_CLOCK_SPEED: '30' }
const AWAY_MS = 3_000
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export async function runJobTrial(trial: JobTrial): Promise<object> {
  const jobs = await jobWorld()
  const world = await TrialWorld.open(`j${trial.seed}`, jobs)
  const managers = new Managers(world)
  try {
    await managers.start()
    await world.engine.make(world.name, ledgerModule(world.file, trial.resources, 'sleep 0.$((i * 2 + 3));'))
    const during = trial.strikes.filter(({ phase }) => phase !== 'destroy')
    for (const strike of during) await hit(strike, jobs, world, managers)
    await world.settle('the apply', isReady)
    world.assertNothingTwice()
    const after = trial.strikes.filter(({ phase }) => phase === 'destroy')
    if (after.length > 0) await world.remove()
    for (const strike of after) await hit(strike, jobs, world, managers)
    await world.finish()
    await world.poll('the end of every pod', () => jobs.actor.containers.size === 0, 30_000)
    assert.deepEqual(await leftOf(jobs), [], 'something is left of the runs')
    return { trial: describeJobTrial(trial) }
  } finally {
    await managers.stop()
    await world.close()
  }
}

async function hit(strike: Strike, jobs: JobWorld, world: TrialWorld, managers: Managers): Promise<void> {
  const { victim, phase, afterMs } = strike
  if (phase === 'work') await world.poll('the first resource', () => world.ledger.made.length > 0)
  await pause(afterMs)
  await world.observe()
  const job = (await world.record())?.run?.job
  const { objects } = world
  switch (victim) {
    case 'pod':
      return jobs.actor.kill()
    case 'memory':
      return jobs.actor.kill('OOMKilled')
    case 'node':
      await jobs.actor.loseNode()
      return managers.replace(FAST)
    case 'manager':
      return managers.replace()
    case 'manager and pod':
      await managers.stop()
      await jobs.actor.kill()
      // A pod that was deleted is gone before anybody reads how it ended: its death is proven by silence.
      return managers.start((await isPodGoing(world)) ? FAST : {})
    case 'job':
      return job ? objects.delete(JobKind, job, { propagation: 'Background' }) : undefined
    case 'pod object':
      for await (const { metadata } of objects.list<AnyObject>(PodKind, { namespace: 'default' }))
        await objects.delete(PodKind, { namespace: 'default', name: metadata.name })
      return
    case 'all':
      await managers.stop()
      if (job) await objects.delete(JobKind, job, { propagation: 'Background' })
      await jobs.actor.loseNode()
      return managers.start(FAST)
    case 'api':
      await world.engine.restartServer(AWAY_MS)
  }
}

/** The pod that claimed the run was deleted, so its object goes as soon as its process has. */
async function isPodGoing(world: TrialWorld): Promise<boolean> {
  const claimed = (await world.record())?.run?.runner?.pod
  if (!claimed) return false
  const { namespace, name } = claimed
  const pod = await world.objects.get(PodKind, { namespace, name })
  return pod === undefined || pod.metadata.deletionTimestamp !== undefined
}

/** The manager as a process: one at a time, killed as kill -9 does. */
class Managers {
  readonly #world: TrialWorld
  #current: ChildProcess | undefined

  constructor(world: TrialWorld) {
    this.#world = world
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#current = await this.#world.spawnManager({ env, runner: 'job' })
  }

  async stop(): Promise<void> {
    const child = this.#current
    this.#current = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async replace(env?: Readonly<Record<string, string>>): Promise<void> {
    await this.stop()
    await this.start(env)
  }
}

/** By kind and name: what runs had in the namespace. */
async function leftOf({ connection: { objects } }: JobWorld): Promise<readonly string[]> {
  const left: string[] = []
  const kinds: readonly KindRef[] = [JobKind, PodKind, RoleKind, RoleBindingKind, ServiceAccountKind, SecretKind]
  for (const kind of kinds)
    for await (const { metadata } of objects.list<AnyObject>(kind, { namespace: 'default' }))
      if (/^(capt|tfstate)-/.test(metadata.name)) left.push(`${kind.kind} ${metadata.name}`)
  return left
}
