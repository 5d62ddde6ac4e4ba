// One seeded trial of damage: a workspace is made, its records are deleted or corrupted, something goes on, and a ledger that
// the resources write themselves says whether anything was lost, made twice or left behind.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { conditionOf, RETRY_ANNOTATION, type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import { PART_LABEL, readRecord, WORKSPACE_LABEL } from '#engine'
import { type EngineWorld, isReady, isStalled, type Manager } from '../engine-world.ts'
import { keptFor, ledgerModule, namesOf, readLedger, strip } from '../support/ledger.ts'
import { randomOf } from './campaign.ts'

export const VICTIMS = ['record', 'state', 'bundle', 'backup', 'folder'] as const
type Victim = (typeof VICTIMS)[number]
type Damage = 'delete' | 'corrupt'

export interface Trial {
  readonly seed: number
  readonly resources: number
  readonly damages: readonly (readonly [Victim, Damage])[]
  /** `during`: while Terraform works. `away`: while no manager runs. */
  readonly moment: 'during' | 'after' | 'away'
  readonly next: 'retry' | 'delete' | 'nothing'
}

export interface Outcome {
  readonly seed: number
  readonly trial: string
  readonly end: 'went on' | 'stalled, then restored'
  readonly seconds: number
}

export function trialOf(seed: number): Trial {
  const random = randomOf(seed)
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  const victims = VICTIMS.filter(() => random(100) < 40)
  const chosen = victims.length > 0 ? victims : [pick(VICTIMS)]
  return {
    seed,
    resources: 1 + random(5),
    damages: chosen.map((victim) => [victim, victim === 'folder' || random(2) === 0 ? 'delete' : 'corrupt'] as const),
    moment: pick(['during', 'after', 'after', 'away']),
    next: pick(['retry', 'delete', 'nothing']),
  }
}

export const describeTrial = ({ seed, resources, damages, moment, next }: Trial): string =>
  `seed ${seed}: ${resources} resources, ${damages.map(([victim, how]) => `${how} ${victim}`).join(', ')} ${moment} the run, then ${next}`

const named = (name: string) => ({ namespace: 'default', name })

/** A stop says what happened and how to go on, or the trial has failed. */
const ENDS_MS = 150_000

export async function runTrial(world: EngineWorld, managed: { manager: Manager }, trial: Trial): Promise<Outcome> {
  const began = Date.now()
  const { objects } = world.connection
  const name = `t${trial.seed}`
  const file = join(world.folder, `ledger-${name}`)
  const folder = join(world.workDir, 'workspaces', namesOf(name).suffix)
  const all = Array.from({ length: trial.resources }, (_, i) => String(i))
  const find = () => objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, named(name))
  const slow = trial.moment === 'during' ? 'sleep 0.$((i * 2 + 2));' : ''

  await world.make(name, ledgerModule(file, trial.resources, slow))
  if (trial.moment === 'during') {
    await poll(`the first resource of ${name}`, async () => readLedger(file).made.length > 0)
  } else {
    await world.until(name, isReady)
  }
  if (trial.moment === 'away') await managed.manager.stop()
  const saved = await damage(world, name, folder, trial)
  if (trial.next === 'delete') await objects.delete(WorkspaceTemplateApply, named(name))
  if (trial.next === 'retry') await retry(world, name)
  if (trial.moment === 'away') managed.manager = await world.manager()

  const runOf = (apply: WorkspaceTemplateApply | undefined) => apply?.status?.run
  const first = runOf(await find())?.id
  const isEnd = (apply: WorkspaceTemplateApply | undefined): boolean => {
    if (!apply) return true
    if (isStalled(apply)) return true
    if (!isReady(apply) || trial.next === 'delete') return false
    return trial.next === 'nothing' || trial.moment === 'during' || runOf(apply)?.id !== first || isQuick(began)
  }
  await poll(
    `an end of ${describeTrial(trial)}`,
    async () => isEnd(await find()),
    async () => JSON.stringify((await find())?.status),
  )
  let now = await find()
  const hasStalled = now !== undefined && isStalled(now)
  if (hasStalled) {
    const { message = '' } = conditionOf(now!, 'Stalled') ?? {}
    assert.match(
      message,
      /capt (state|forget|retry)|restore|retainWorkspaceOnDelete/,
      `no way out is named: ${message}`,
    )
    assertNothingTwice(await suspectsOf(world, name), readLedger(file), trial)
    for (const secret of saved) await putBack(world, secret)
    await retry(world, name)
    await poll(
      `the end of the stall of ${describeTrial(trial)}`,
      async () => {
        const apply = await find()
        return !apply || (isReady(apply) && trial.next !== 'delete')
      },
      async () => JSON.stringify((await find())?.status),
    )
    now = await find()
  }
  const suspects = await suspectsOf(world, name)
  if (now) {
    assertNothingTwice(suspects, readLedger(file), trial)
    await objects.delete(WorkspaceTemplateApply, named(name))
  }
  await poll(
    `the deletion of ${describeTrial(trial)}`,
    async () => !(await find()),
    async () => JSON.stringify((await find())?.status),
  )
  const { made, gone } = readLedger(file)
  for (const one of all) {
    if (!suspects.has(`terraform_data.x[${one}]`))
      assert.ok(
        gone.filter((index) => index === one).length >= made.filter((index) => index === one).length,
        `${describeTrial(trial)}: resource ${one} was left behind without a word`,
      )
  }
  assert.deepEqual(await keptFor(objects, name), [], `${describeTrial(trial)}: something is kept`)
  const end = hasStalled ? 'stalled, then restored' : 'went on'
  return { seed: trial.seed, trial: describeTrial(trial), end, seconds: Math.round((Date.now() - began) / 1000) }
}

/** A retry of something that changes nothing may end before its id is read. */
const isQuick = (began: number): boolean => Date.now() - began > 30_000

function assertNothingTwice(
  suspects: ReadonlySet<string>,
  { made, gone }: ReturnType<typeof readLedger>,
  trial: Trial,
): void {
  for (const one of new Set(made)) {
    const count = (list: readonly string[]) => list.filter((index) => index === one).length
    if (!suspects.has(`terraform_data.x[${one}]`))
      assert.ok(count(made) - count(gone) <= 1, `${describeTrial(trial)}: resource ${one} was made twice`)
  }
}

async function suspectsOf(world: EngineWorld, name: string): Promise<ReadonlySet<string>> {
  const found = await readRecord(world.connection.objects, named(name)).catch(() => undefined)
  return new Set(found?.record.suspects.map(({ address }) => address))
}

/** Returns the Secrets as they were, as a person's backup has them. */
async function damage(
  world: EngineWorld,
  name: string,
  folder: string,
  { damages }: Trial,
): Promise<readonly Secret[]> {
  const { objects } = world.connection
  const { suffix } = namesOf(name)
  const own: Secret[] = []
  for await (const secret of objects.list<Secret>(SecretKind, { namespace: 'default' }))
    if (secret.metadata.labels?.[WORKSPACE_LABEL] === suffix) own.push(secret)
  const hit: Secret[] = []
  for (const [victim, how] of damages) {
    if (victim === 'folder') rmSync(folder, { recursive: true, force: true })
    for (const secret of own.filter(({ metadata }) => metadata.labels?.[PART_LABEL] === victim)) {
      hit.push(secret)
      if (how === 'delete') await strip(objects, SecretKind, secret.metadata.name)
      else await corrupt(world, secret)
    }
  }
  return hit
}

async function corrupt(world: EngineWorld, { metadata, data = {} }: Secret): Promise<void> {
  const half = (value: string) => value.slice(0, Math.floor(value.length / 8) * 4)
  const broken = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, half(value)]))
  await world.connection.objects.patch(SecretKind, named(metadata.name), { type: 'merge', body: { data: broken } })
}

async function putBack(world: EngineWorld, { metadata, data = {}, type }: Secret): Promise<void> {
  const { objects } = world.connection
  const { name, namespace, labels, annotations } = metadata
  const live = await objects.get<Secret>(SecretKind, named(name))
  if (live) await objects.patch(SecretKind, named(name), { type: 'merge', body: { data } })
  else
    await objects.create(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: namespace!, labels: labels ?? {}, annotations: annotations ?? {} },
      ...(type ? { type } : {}),
      data,
    } as Secret)
}

async function retry(world: EngineWorld, name: string): Promise<void> {
  const body = { metadata: { annotations: { [RETRY_ANNOTATION]: `${Date.now()}` } } }
  await world.connection.objects
    .patch(WorkspaceTemplateApply, named(name), { type: 'merge', body })
    .catch((error: unknown) => {
      if (!/not found/i.test(String(error))) throw error
    })
}

async function poll(
  what: string,
  test: () => Promise<boolean>,
  why: () => Promise<string> = async () => '',
): Promise<void> {
  const deadline = Date.now() + ENDS_MS
  while (!(await test())) {
    if (Date.now() > deadline) assert.fail(`${what} did not come: ${await why()}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
