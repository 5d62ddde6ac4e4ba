// What a run through capt costs compared with the same Terraform by hand, as ratios within one run: the machine may be
// busy, but it is the same machine for both.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { toCustomResourceDefinition, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { startApiServer } from '#apiserver'
import { createLocalEngine, type Engine, type Owner, renderWorkspace } from '#engine'
import { connect, loadKubeconfig } from '#kube'
import { silentLog, systemClock } from '#lib'
import { anApply, aTemplate } from '#testing'

const LARGE = 'resource "terraform_data" "x" {\n  count = 200\n  input = count.index\n}\n'
const SLOW = 'resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "sleep 2"\n  }\n}\n'
const CONCURRENCY = 8
const APPLIES = Number(process.env['APPLIES'] ?? 50)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)

const folder = mkdtempSync(join(tmpdir(), 'capt-bench-'))
const program = join(import.meta.dirname, '../dist/program/capt.mjs')
const env = { ...process.env, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1' }

async function byHand(name: string, module: string): Promise<void> {
  const cwd = join(folder, 'by-hand', name)
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'main.tf'), module)
  for (const args of [
    ['init', '-input=false'],
    ['plan', '-input=false', '-out=plan.bin'],
    ['apply', '-input=false', 'plan.bin'],
  ]) {
    await promisify(execFile)('terraform', args, { cwd, env, maxBuffer: 64 * 1024 * 1024 })
  }
}

async function inParallel(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    for (let i = next++; i < count; i = next++) await work(i)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane))
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}

const server = await startApiServer({
  dataDir: join(folder, 'home'),
  crds: [WorkspaceTemplate, WorkspaceTemplateApply].map((kind) => toCustomResourceDefinition(kind)),
})
const kubeconfig = join(folder, 'kubeconfig')
writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 })
const { objects, close } = connect(await loadKubeconfig({ path: kubeconfig }))
const engine: Engine = await createLocalEngine({
  objects,
  workDir: join(folder, 'runs'),
  clock: systemClock,
  log: silentLog,
  concurrency: CONCURRENCY,
  kubeconfigForRunner: kubeconfig,
  runner: existsSync(program)
    ? [process.execPath, program]
    : [process.execPath, join(import.meta.dirname, '../src/main.ts')],
})

async function throughCapt(name: string, module: string): Promise<void> {
  const apply = anApply({}, { name })
  const { metadata, apiVersion, kind } = await objects.create(WorkspaceTemplateApply, apply)
  const owner: Owner = { namespace: 'default', name, uid: metadata.uid ?? '', apiVersion, kind }
  const rendering = renderWorkspace(aTemplate(module), apply)
  if (!rendering.ok) throw new Error('the module cannot be rendered')
  const { workspace } = rendering
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const look = async () => {
    const { record, activity } = await engine.observe(owner)
    if (activity !== 'idle') return
    if (record?.run?.phase !== 'Succeeded') throw new Error(JSON.stringify(record?.run?.fault))
    resolve()
  }
  const stop = engine.onChange((key) => void (key.name === name && look()))
  await engine.start({ owner, verb: 'apply', hash: workspace.hash, workspace, timeoutSeconds: 600 })
  await ended
  stop()
}

const best = (values: readonly number[]) => Math.min(...values)
try {
  const hand: number[] = []
  const capt: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    hand.push(await timed(() => byHand(`large-${round}`, LARGE)))
    capt.push(await timed(() => throughCapt(`large-${round}`, LARGE)))
  }
  report('one run of 200 resources', best(hand), best(capt), 1.1)
  const handAll = await timed(() => inParallel(APPLIES, (i) => byHand(`slow-${i}`, SLOW)))
  const captAll = await timed(async () => {
    await Promise.all(Array.from({ length: APPLIES }, (_, i) => throughCapt(`slow-${i}`, SLOW)))
  })
  report(`${APPLIES} runs of 2 seconds, ${CONCURRENCY} at once`, handAll, captAll, 1.2)
} finally {
  await engine.stop()
  await close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
}

function report(what: string, hand: number, capt: number, limit: number): void {
  const ratio = capt / hand
  const verdict = ratio <= limit ? 'within' : 'over'
  process.stdout.write(
    `${what}: ${hand.toFixed(2)} s by hand, ${capt.toFixed(2)} s through capt, ratio ${ratio.toFixed(2)} (${verdict} ${limit})\n`,
  )
  if (ratio > limit) process.exitCode = 1
}
