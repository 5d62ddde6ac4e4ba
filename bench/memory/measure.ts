// Weighs a manager: bundles it, runs it as it runs in its image (Node flags, one malloc arena) against the loopback
// server, forces a new list of every kind, and reads the kernel's figure for the highest resident size.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'
import { leanBuiltins } from '../../scripts/lean-builtins.ts'
import { managerFlags } from '../../test/support/manager-flags.ts'
import { KIND_COUNT } from './fleet.ts'

const HERE = import.meta.dirname
const TIMEOUT_MS = 25_000

export interface Weight {
  readonly objects: number
  readonly bytesPerObject: number
  readonly syncedMiB: number
  /** Highest resident size of the whole life. */
  readonly peakMiB: number
  /** How often each kind was listed. */
  readonly lists: readonly number[]
}

export interface Load {
  readonly objects: number
  readonly changesPerSecond?: number
  /** Forces a new list of every kind so many times. */
  readonly relists?: number
  /** Memory that the manager holds for nothing: shows that the scale moves. */
  readonly wasteMiB?: number
}

export async function weigh(load: Load): Promise<Weight> {
  const { objects, changesPerSecond = 200, relists = 1, wasteMiB = 0 } = load
  const dir = mkdtempSync(join(tmpdir(), 'capt-memory-'))
  const children: ChildProcess[] = []
  try {
    const bundle = join(dir, 'manager.mjs')
    await build({
      entryPoints: [join(HERE, 'manager.ts')],
      outfile: bundle,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node24',
      minify: true,
      plugins: [leanBuiltins],
      // Packages in CommonJS ask for built-in modules by require.
      banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
      logLevel: 'error',
    })
    const api = start(
      children,
      [join(HERE, 'api-server.ts'), String(objects / KIND_COUNT), String(changesPerSecond)],
      {},
    )
    const { port, ca, bytes } = (await firstLine(api)) as { port: number; ca: string; bytes: number }
    const server = `https://127.0.0.1:${port}`
    const manager = start(children, [...managerFlags(), bundle], {
      MALLOC_ARENA_MAX: '1',
      CAPT_BENCH: JSON.stringify({ server, ca, wasteMiB }),
    })
    const synced = (await firstLine(manager)) as { objects: number }
    const syncedMiB = residentMiB(manager, 'VmRSS')
    await sleep(2000)
    for (let round = 1; round <= relists; round++) {
      await ask(`${server}/expire`, ca)
      await waitFor(async () => (await listsOf(server, ca)).every((count) => count > round))
      await sleep(3000)
    }
    if (manager.exitCode !== null) throw new Error(`the manager ended with ${manager.exitCode}`)
    const peakMiB = residentMiB(manager, 'VmHWM')
    return { objects: synced.objects, bytesPerObject: bytes, syncedMiB, peakMiB, lists: await listsOf(server, ca) }
  } finally {
    for (const child of children) await end(child)
    rmSync(dir, { recursive: true })
  }
}

function start(children: ChildProcess[], args: readonly string[], env: Record<string, string>): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, args, { env: { PATH, HOME, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
  children.push(child)
  return child
}

async function firstLine(child: ChildProcess): Promise<unknown> {
  let complaints = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk.toString()).slice(-4000)
  })
  const lines = createInterface({ input: child.stdout! })
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const ended = once(child, 'exit', { signal: timeout }).then(([code]) => {
    throw new Error(`ended with ${code} before it said anything:\n${complaints}`)
  })
  const [line] = (await Promise.race([once(lines, 'line', { signal: timeout }), ended])) as [string]
  ended.catch(() => undefined)
  return JSON.parse(line)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

function residentMiB(child: ChildProcess, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)![1]) / 1024
}

function ask(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(url, { ca, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve(text))
    })
    call.on('error', reject).end()
  })
}

async function listsOf(server: string, ca: string): Promise<number[]> {
  return JSON.parse(await ask(`${server}/lists`, ca)) as number[]
}

async function waitFor(isTrue: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + TIMEOUT_MS
  while (!(await isTrue())) {
    if (Date.now() > until) throw new Error('the manager did not list every kind again in time')
    await sleep(200)
  }
}
