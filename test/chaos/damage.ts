// Damage to what is kept for a workspace: Secrets are deleted or cut, its work folder is removed.
import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Secret, SecretKind } from '#api'
import { PART_LABEL, WORKSPACE_LABEL } from '#engine'
import { livenessOf } from '../../src/engine/lock/processes.ts'
import { ledgerModule, namesOf, strip } from '../support/engine/ledger.ts'
import { isReady } from '../support/engine/world.ts'
import { attempt, type TrialWorld } from './trial-world.ts'

export const VICTIMS = ['record', 'state', 'bundle', 'backup', 'folder'] as const
/** `part`: of a state that takes several Secrets. */
export const DAMAGED = [...VICTIMS, 'part', 'plan'] as const
type Victim = (typeof DAMAGED)[number]

export interface Damages {
  readonly is: 'damage'
  readonly damages: readonly (readonly [Victim, 'delete' | 'corrupt'])[]
  /** `starting`: a second run has been asked for. `during`: while Terraform works. `away`: while no manager runs. */
  readonly moment: 'starting' | 'during' | 'after' | 'away'
  readonly isLarge: boolean
  /** Runner and Terraform are killed with it: the next runner would use the stored plan. */
  readonly kills: boolean
}

/** Returns the run that was the last one before. */
export async function damageRecords(
  world: TrialWorld,
  { damages, moment, isLarge, kills }: Damages,
  resources: number,
  proceed: () => Promise<void>,
): Promise<string | undefined> {
  const slow = moment === 'during' ? 'sleep 0.$((i * 2 + 2));' : ''
  await world.startManager()
  await world.engine.make(
    world.name,
    `${isLarge ? largeModule(world) : ''}${ledgerModule(world.file, resources, slow)}`,
  )
  if (moment === 'during') await world.poll('the first resource', () => world.ledger.made.length > 0)
  else await world.settle('the first run', isReady)
  const before = (await world.find())?.status?.run?.id
  if (moment === 'away') await world.stopManager()
  if (moment === 'starting') {
    rmSync(join(world.folder, 'request.json'), { force: true })
    await world.retry()
    await world.poll('the next run', () => existsSync(join(world.folder, 'request.json')))
  }
  await world.observe()
  if (kills) await killRun(world)
  await damage(world, damages)
  await proceed()
  if (moment === 'away') await world.startManager()
  return moment === 'during' || moment === 'starting' ? undefined : before
}

async function killRun(world: TrialWorld): Promise<void> {
  const runner = (await world.record())?.run?.runner
  for (const who of [runner, world.terraform()])
    if (who && livenessOf(who) === 'alive') attempt(() => process.kill(who.pid, 'SIGKILL'))
}

/** Random bytes cannot be packed: the state takes several Secrets. */
function largeModule(world: TrialWorld): string {
  const noise = join(world.engine.folder, 'noise')
  writeFileSync(noise, randomBytes(480_000).toString('base64'))
  return `resource "terraform_data" "large" { input = file(${JSON.stringify(noise)}) }\n`
}

export async function damage(world: TrialWorld, damages: Damages['damages'] = []): Promise<void> {
  const { suffix } = namesOf(world.name)
  const own: Secret[] = []
  for await (const secret of world.objects.list<Secret>(SecretKind, { namespace: 'default' }))
    if (secret.metadata.labels?.[WORKSPACE_LABEL] === suffix) own.push(secret)
  for (const [victim, how] of damages) {
    if (victim === 'folder') rmSync(world.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
    for (const secret of own.filter((one) => isVictim(one, victim))) {
      // A plan is of no use to anybody later.
      if (victim !== 'plan') world.saved.push(secret)
      if (how === 'delete') await strip(world.objects, SecretKind, secret.metadata.name)
      else await corrupt(world, secret)
    }
  }
}

function isVictim({ metadata }: Secret, victim: Victim): boolean {
  const part = metadata.labels?.[PART_LABEL]
  return victim === 'part' ? part === 'state' && /-part-\d+$/.test(metadata.name) : part === victim
}

async function corrupt(world: TrialWorld, { metadata, data = {} }: Secret): Promise<void> {
  const half = (value: string) => value.slice(0, Math.floor(value.length / 8) * 4)
  const broken = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, half(value)]))
  const key = { namespace: 'default', name: metadata.name }
  try {
    await world.objects.patch(SecretKind, key, { type: 'merge', body: { data: broken } })
  } catch (error) {
    // What is kept for a moment only may be gone by now.
    if (!/not found/i.test(String(error))) throw error
  }
}
