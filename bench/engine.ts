// What a run through capt costs compared with the same Terraform by hand, as ratios within one run. The machine may be
// busy, so both run alternately, each begins as often as the other, and medians are compared.
//   node bench/engine.ts        ROUNDS=7 APPLIES=50 BATCHES=3
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { WorkspaceTemplateApply } from '#api'
import { defaultLimits, type Engine, type Owner, renderWorkspace } from '#engine'
import { loadKubeconfig } from '#kube'
import { anApply, aTemplate } from '#testing'
import { engineWorld } from '../test/support/engine/world.ts'
import { countRequests } from './engine-requests.ts'

const LARGE = 'resource "terraform_data" "x" {\n  count = 200\n  input = count.index\n}\n'
/** With a block for which capt does not leave `init` out: what the first run of a workspace costs. */
const LARGE_WITH_INIT = `terraform {\n  required_version = ">= 1.9"\n}\n${LARGE}`
const SLOW = 'resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "sleep 2"\n  }\n}\n'
/** What a person types, given to a shell; the output is thrown away. */
const BY_HAND =
  'terraform init -input=false && terraform plan -input=false -out=plan.bin && terraform apply -input=false plan.bin'
const CONCURRENCY = 8
const APPLIES = Number(process.env['APPLIES'] ?? 50)
const ROUNDS = Number(process.env['ROUNDS'] ?? 7)
const BATCHES = Number(process.env['BATCHES'] ?? 3)

const program = join(import.meta.dirname, '../dist/program/capt.mjs')
execFileSync(process.execPath, [program, 'version'], { stdio: 'ignore' })

const world = await engineWorld()
const { folder, connection } = world
const { objects } = connection
const access = await loadKubeconfig({ path: world.kubeconfig })
const engine = await world.engine({
  limits: { ...defaultLimits('local', CONCURRENCY), perIdentity: CONCURRENCY, perNamespace: CONCURRENCY },
  kubeconfigForRunner: world.kubeconfig,
  hasAuthority: access.ca !== undefined,
  runner: [process.execPath, program],
})
const env = { ...process.env, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1' }

function layOut(name: string, module: string): string {
  const cwd = join(folder, 'by-hand', name)
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'main.tf'), module)
  return cwd
}

const shell = (command: string, cwd: string) => promisify(execFile)('sh', ['-c', `${command} >/dev/null`], { cwd, env })

const byHand = async (name: string, module: string) => void (await shell(BY_HAND, layOut(name, module)))

async function manyByHand(batch: string): Promise<void> {
  const names = Array.from({ length: APPLIES }, (_, i) => `${batch}-${i}`)
  for (const name of names) layOut(name, SLOW)
  const list = join(folder, `${batch}.txt`)
  writeFileSync(list, names.join('\n'))
  await shell(`xargs -P ${CONCURRENCY} -I NAME sh -c 'cd NAME && ${BY_HAND}' < ${list}`, join(folder, 'by-hand'))
}

async function throughCapt(name: string, module: string): Promise<void> {
  const apply = anApply({}, { name })
  const { metadata, apiVersion, kind } = await objects.create(WorkspaceTemplateApply, apply)
  const owner: Owner = { namespace: 'default', name, uid: metadata.uid ?? '', apiVersion, kind }
  const rendering = renderWorkspace(aTemplate(module), apply)
  if (!rendering.ok) throw new Error('the module cannot be rendered')
  const { workspace } = rendering
  const ended = endOf(engine, owner)
  await engine.start({ owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 600 })
  await ended
}

function endOf(of: Engine, owner: Owner): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = of.onChange(async ({ name }) => {
    if (name !== owner.name) return
    const { record, activity } = await of.observe(owner)
    if (activity !== 'idle') return
    stop()
    if (record?.run?.phase === 'Succeeded') resolve()
    else reject(new Error(JSON.stringify(record?.run?.fault)))
  })
  return promise
}

const manyThroughCapt = (batch: string) =>
  Promise.all(Array.from({ length: APPLIES }, (_, i) => throughCapt(`${batch}-${i}`, SLOW)))

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}

/** Both alternately, the one that begins changing each time. The first pair warms caches and does not count. */
async function compare(
  what: string,
  limit: number,
  rounds: number,
  work: Readonly<Record<'hand' | 'capt', (round: number) => Promise<unknown>>>,
): Promise<void> {
  const seconds = { hand: [] as number[], capt: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const who of round % 2 === 0 ? (['hand', 'capt'] as const) : (['capt', 'hand'] as const)) {
      const took = await timed(() => work[who](round))
      if (round > 0 || rounds === 1) seconds[who].push(took)
    }
  }
  const [hand, capt] = [median(seconds.hand), median(seconds.capt)]
  const ratio = capt / hand
  say(
    ratio <= limit,
    `${what}: ${hand.toFixed(2)} s by hand, ${capt.toFixed(2)} s through capt, ratio ${ratio.toFixed(2)} (limit ${limit})`,
  )
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function say(fine: boolean, sentence: string): void {
  process.stdout.write(`${fine ? 'within' : 'OVER  '}  ${sentence}\n`)
  if (!fine) process.exitCode = 1
}

try {
  for (const [what, module] of [
    ['one run of 200 resources', LARGE],
    ['one run of 200 resources that needs init', LARGE_WITH_INIT],
  ] as const) {
    const name = what.replace(/\W+/g, '-')
    await compare(what, 1.1, ROUNDS, {
      hand: (round) => byHand(`${name}-${round}`, module),
      capt: (round) => throughCapt(`${name}-${round}`, module),
    })
  }
  await compare(`${APPLIES} runs of 2 seconds, ${CONCURRENCY} at once`, 1.2, BATCHES, {
    hand: (round) => manyByHand(`slow-${round}`),
    capt: (round) => manyThroughCapt(`slow-${round}`),
  })
  const { toReady, idle } = await countRequests(world)
  say(toReady.length <= 5, `from the end of Terraform to Ready: ${toReady.length} requests (limit 5)`)
  say(idle.length === 0, `a ready apply in 10 seconds: ${idle.length} requests (limit 0)`)
} finally {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
}
