// Drives the program as it ships: dist/ and bin/capt copied to an empty folder, without node_modules or sources on any
// path, started as child processes with the command lines that a user types.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { leaksIn } from '../support/secrets/planted.ts'
import { findTool, type Ran, type RunOptions, run } from '../support/tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A command of the shipped program that is running. */
export interface Running {
  readonly pid: number
  readonly child: ChildProcess
  /** Everything written to standard output and standard error so far. */
  out(): string
  err(): string
  /** Resolves when standard output or standard error contains the text; fails when the process ends before that. */
  untilSaid(text: string | RegExp, timeoutMs?: number): Promise<void>
  /** Resolves with the exit code, or with the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals, timeoutMs?: number): Promise<number | NodeJS.Signals>
}

export interface Shipped {
  /** Contains `program/` (the copy), and whatever the test writes. Removed at the end. */
  readonly folder: string
  /** Path of the copied `bin/capt`. */
  readonly bin: string
  readonly env: Readonly<Record<string, string>>
  /** Runs a command of the copy to its end. */
  capt(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Runs it and fails unless it ends with code 0; returns its standard output. */
  captOk(args: readonly string[], options?: RunOptions): Promise<string>
  start(args: readonly string[], options?: StartOptions): Running
  /** `capt up` with the default port; resolves when it is ready. `data` is a folder name below `folder`. */
  up(data?: string, more?: readonly string[], options?: StartOptions): Promise<UpHome>
  kubectl(kubeconfig: string, args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Ids of the processes that work below the folder or were started from it, this test excluded. */
  processes(): readonly number[]
  /** Those of them that are runners: one for each Terraform run under way. */
  runners(): readonly number[]
  /**
   * Ends what is left of the started processes and of what they started, and removes the folder. Fails when a planted secret is in
   * what the program printed or logged, or a token that it issued in what a running program printed or logged.
   */
  end(): Promise<void>
}

export interface UpHome extends Running {
  readonly url: string
  readonly dataDir: string
  readonly kubeconfig: string
}

/** kubectl, when it is installed; in CI it must be. */
export const kubectlPath = findTool('kubectl')

export function shippedProgram(): Shipped {
  assert.ok(existsSync(join(ROOT, 'dist', 'program', 'capt.mjs')), 'run make build first')
  const folder = mkdtempSync(join(tmpdir(), 'capt-shipped-'))
  const program = join(folder, 'program')
  cpSync(join(ROOT, 'dist', 'program'), join(program, 'dist', 'program'), { recursive: true })
  cpSync(join(ROOT, 'bin', 'capt'), join(program, 'bin', 'capt'))
  const bin = join(program, 'bin', 'capt')
  const env = cleanEnvironment(folder)
  const all: Running[] = []

  const start = (args: readonly string[], options: StartOptions = {}): Running => {
    const child = spawn(bin, args, {
      cwd: options.cwd ?? folder,
      env: { ...env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const running = follow(child, args)
    all.push(running)
    return running
  }
  const processes = () => processesBelow(folder)
  const leaks = new Set<string>()
  const search = (text: string) => {
    for (const leak of leaksIn(text)) leaks.add(leak)
  }
  const capt = async (args: readonly string[], options?: RunOptions): Promise<Ran> => {
    const ran = await runClean(bin, args, { cwd: folder, env, ...options })
    search(ran.out + ran.err)
    return ran
  }

  return {
    folder,
    bin,
    env,
    start,
    capt,
    async captOk(args, options) {
      const { code, out, err } = await capt(args, options)
      assert.equal(code, 0, `capt ${args.join(' ')}: ${out}${err}`)
      return out
    },
    async up(data = 'home', more = [], options = {}) {
      const running = start(['up', '--data', data, ...more], options)
      await running.untilSaid(/capt is ready at \S+/)
      const url = /capt is ready at (\S+)/.exec(running.out())![1]!
      const dataDir = join(folder, data)
      return { ...running, url, dataDir, kubeconfig: join(dataDir, 'kubeconfig') }
    },
    kubectl: (kubeconfig, args, options) =>
      run(kubectlPath ?? 'kubectl', ['--kubeconfig', kubeconfig, ...args], { cwd: folder, ...options }),
    processes,
    runners: () => processesBelow(folder, /\0runner\0--folder\0/),
    async end() {
      for (const running of all) await running.stop('SIGKILL')
      // A runner is a process group of its own and outlives the manager that started it.
      for (const pid of processes()) killQuietly(pid)
      await waitUntil('the end of every process', () => processes().length === 0)
      // A test may have put a link to a device there, which has no end.
      const textsOf = (pattern: string) =>
        globSync(pattern, { cwd: folder, withFileTypes: true }).flatMap((found) =>
          found.isFile() ? [readFileSync(join(found.parentPath, found.name), 'utf8')] : [],
        )
      const issued = textsOf('**/kubeconfig').flatMap((text) => /^ +token: (\S+)$/m.exec(text)?.[1] ?? [])
      for (const text of [...all.map((running) => running.out() + running.err()), ...textsOf('**/*.log')]) {
        search(text)
        for (const token of issued) if (text.includes(token)) leaks.add(`the token ${token.slice(0, 6)}…`)
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
      assert.deepEqual([...leaks], [], 'secrets in what the program printed or logged')
    },
  }
}

/** Waits for a condition with a generous limit: a busy machine is slow, not wrong. */
export async function waitUntil(
  what: string,
  test: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
  why: () => string = () => '',
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const asked = Date.now()
    if (await test()) return
    const now = Date.now()
    if (now > deadline) assert.fail(`${what} did not happen within ${timeoutMs} ms. ${why()}`)
    // A test that starts a program takes the processor from what it waits for.
    await new Promise((resolve) => setTimeout(resolve, Math.max(50, 2 * (now - asked))))
  }
}

/** A port that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

/** Only what a login shell would have: no npm folders, no settings of this checkout, no credentials of the machine. */
function cleanEnvironment(folder: string): Record<string, string> {
  // Tools such as terraform stay reachable; node is the one that runs this test, the folders of the checkout are not there.
  const tools = join(folder, 'tools')
  mkdirSync(tools)
  symlinkSync(process.execPath, join(tools, 'node'))
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules'))
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !/^(npm_|NODE_|AWS_|KUBE|CAPT_|TF_)/i.test(name),
  ) as [string, string][]
  return { ...Object.fromEntries(kept), HOME: folder, PATH: [tools, dirname('/usr/bin/env'), ...path].join(delimiter) }
}

/** Exactly the given environment: `run` of the tools adds the one of this process. */
function runClean(program: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  const unset = Object.keys(process.env).filter((name) => options.env?.[name] === undefined)
  return run('/usr/bin/env', [...unset.flatMap((name) => ['-u', name]), program, ...args], options)
}

function follow(child: ChildProcess, args: readonly string[]): Running {
  let out = ''
  let err = ''
  child.stdout!.on('data', (data: Buffer) => {
    out += data.toString()
  })
  child.stderr!.on('data', (data: Buffer) => {
    err += data.toString()
  })
  let over: number | NodeJS.Signals | undefined
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('error', () => resolve(127))
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'))
  }).then((code) => {
    over = code
    return code
  })
  const says = (text: string | RegExp) =>
    typeof text === 'string' ? out.includes(text) || err.includes(text) : text.test(out) || text.test(err)
  return {
    pid: child.pid ?? -1,
    child,
    out: () => out,
    err: () => err,
    ended,
    async untilSaid(text, timeoutMs) {
      await waitUntil(
        `"${text}" of capt ${args.join(' ')}`,
        () => says(text) || over !== undefined,
        timeoutMs,
        () => out + err,
      )
      assert.ok(says(text), `capt ${args.join(' ')} ended with ${over}: ${out}${err}`)
    },
    async stop(signal = 'SIGTERM', timeoutMs = 60_000) {
      if (over === undefined) child.kill(signal)
      await waitUntil(
        `the end of capt ${args.join(' ')} after ${signal}`,
        () => over !== undefined,
        timeoutMs,
        () => err,
      )
      return over!
    },
  }
}

function processesBelow(folder: string, commandLine = /^/): readonly number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      if (/^\S+ \(.*\) Z/s.test(readFileSync(`/proc/${name}/stat`, 'latin1'))) return []
      const texts = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${name}/${file}`, 'latin1'))
      return texts.some((text) => text.includes(folder)) && commandLine.test(texts[0]!) ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
