// The helm of the person, run with access to one cluster. Credentials reach it in a file that only its owner reads, values
// on standard input; neither is an argument.
import { spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Helm } from '#karpenter'
import { CaptError, redact } from '#lib'

type Environment = Readonly<Record<string, string | undefined>>

export function findHelm(env: Environment): string | undefined {
  const paths = (env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return paths.map((folder) => join(folder, 'helm')).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

interface HelmOptions {
  readonly path: string
  readonly env: Environment
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** A kubeconfig with credentials that are valid now. */
  kubeconfig(): Promise<object>
}

/** The token in its kubeconfig ends after 15 minutes; a helm that works longer cannot record how it ended. */
const LONGEST_MS = 14 * 60_000

export function helmAt({ path, env, timeoutMs, signal, kubeconfig }: HelmOptions): Helm {
  const seconds = Math.max(1, Math.round(Math.min(timeoutMs, LONGEST_MS) / 1000))
  const wait = ['--wait', '--timeout', `${seconds}s`]
  async function run(args: readonly string[], input = ''): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'capt-helm-'))
    try {
      const file = join(folder, 'kubeconfig')
      writeFileSync(file, JSON.stringify(await kubeconfig()), { mode: 0o600 })
      return await finish(path, args, input, { ...env, KUBECONFIG: file } as NodeJS.ProcessEnv, signal)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return {
    path,
    async upgrade({ name, chart, version, namespace, values = {} }) {
      const where = ['--version', version, '--namespace', namespace, '--create-namespace']
      await run(
        ['upgrade', '--install', name, chart, ...where, '--skip-crds', '--values', '-', ...wait],
        JSON.stringify(values),
      )
    },
    async uninstall(name, namespace) {
      // helm before 3.13 has no option that ignores a missing release; helm 4 has no --all.
      const states = ['--deployed', '--failed', '--pending', '--uninstalling']
      const found = await run(['list', '--short', '--filter', `^${name}$`, '--namespace', namespace, ...states])
      if (found.trim() !== '') await run(['uninstall', name, '--namespace', namespace, ...wait])
    },
  }
}

function finish(
  path: string,
  args: readonly string[],
  input: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, { env, stdio: ['pipe', 'pipe', 'pipe'], signal })
    let printed = ''
    child.stdout.on('data', (data: Buffer) => {
      printed = (printed + data.toString()).slice(-2000)
    })
    let complaint = ''
    child.stderr.on('data', (data: Buffer) => {
      complaint = (complaint + data.toString()).slice(-2000)
    })
    const fail = (why: string) =>
      reject(
        new CaptError('CAPT_KARPENTER_HELM', `helm ${args.slice(0, 3).join(' ')}: ${redact(why)}`, {
          hint: 'capt explain takes the text of the error',
        }),
      )
    child.on('error', (error) => fail(error.message))
    child.on('close', (code) => (code === 0 ? resolve(printed) : fail(complaint.trim() || `ended with ${code}`)))
    // helm may end before it has read everything; its exit code counts.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}
