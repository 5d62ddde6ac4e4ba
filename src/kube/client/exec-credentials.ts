// Credentials from a program, as kubeconfig's `exec` describes: run once, kept until they expire or are refused. What
// the program prints is a secret and appears in no message.
import { spawn } from 'node:child_process'
import { CaptError, type Clock, isPlainObject } from '#lib'
import { type Credentials, type Identity, isSameIdentity } from './access.ts'

export interface ExecPlugin {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly apiVersion: string
  readonly interactive: 'Never' | 'IfAvailable' | 'Always'
  readonly installHint: string | undefined
  /** Sent to the program when it asked for it (provideClusterInfo). */
  readonly cluster: Readonly<Record<string, unknown>> | undefined
  /** Where the plugin is configured: `users[demo].user.exec of ~/.kube/config`. */
  readonly origin: string
}

interface ExecWorld {
  readonly clock: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
  readonly timeoutMs?: number
}

const MAX_OUTPUT_BYTES = 1024 * 1024
/** A credential is not used in its last seconds: the request has to arrive too. */
const MARGIN_MS = 10_000

export function execCredentials(plugin: ExecPlugin, fixed: Identity, world: ExecWorld): Credentials {
  let held: { readonly identity: Identity; readonly expiresAt: number } | undefined
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    const { identity, expiresAt } = toIdentity(await runPlugin(plugin, world), plugin)
    held = { identity: { ...fixed, ...identity }, expiresAt }
  }

  return {
    async current() {
      if (held && held.expiresAt - MARGIN_MS > world.clock.now()) return held.identity
      // Requests that start together share one run.
      running ??= run().finally(() => {
        running = undefined
      })
      await running
      return held!.identity
    },
    async renew(refused) {
      // Only what was refused is thrown away: a run that ended meanwhile may have brought something better.
      if (held && isSameIdentity(held.identity, refused)) held = undefined
      return true
    },
  }
}

function runPlugin(plugin: ExecPlugin, world: ExecWorld): Promise<string> {
  const isInteractive = plugin.interactive !== 'Never' && world.isTerminal
  if (plugin.interactive === 'Always' && !world.isTerminal) throw fault(plugin, 'needs a terminal, and there is none')
  const info = {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: isInteractive, ...(plugin.cluster ? { cluster: plugin.cluster } : {}) },
  }
  return new Promise((resolve, reject) => {
    const child = spawn(plugin.command, plugin.args, {
      env: { ...world.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdio: [isInteractive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    })
    const deadline = isInteractive
      ? undefined
      : world.clock.after(world.timeoutMs ?? 60_000, () => child.kill('SIGKILL'))
    const chunks: Buffer[] = []
    let size = 0
    child.stdout!.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_OUTPUT_BYTES) child.kill('SIGKILL')
      else chunks.push(chunk)
    })
    child.on('error', (error) => {
      deadline?.cancel()
      const isMissing = (error as { code?: string }).code === 'ENOENT'
      reject(
        fault(plugin, isMissing ? 'is not installed' : 'cannot be started', isMissing ? plugin.installHint : undefined),
      )
    })
    child.on('close', (code, signal) => {
      deadline?.cancel()
      if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
      else reject(fault(plugin, signal ? `was stopped by ${signal}` : `ended with exit code ${code}`))
    })
  })
}

function toIdentity(output: string, plugin: ExecPlugin): { identity: Identity; expiresAt: number } {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    throw fault(plugin, 'did not print JSON')
  }
  if (!isPlainObject(value) || value['kind'] !== 'ExecCredential')
    throw fault(plugin, 'did not print an ExecCredential')
  if (value['apiVersion'] !== plugin.apiVersion) throw fault(plugin, `did not answer in ${plugin.apiVersion}`)
  const status = isPlainObject(value['status']) ? value['status'] : {}
  const text = (name: string) => (typeof status[name] === 'string' && status[name] !== '' ? status[name] : undefined)
  const [token, certificate, key] = [text('token'), text('clientCertificateData'), text('clientKeyData')]
  if ((certificate === undefined) !== (key === undefined)) throw fault(plugin, 'printed a certificate without its key')
  if (token === undefined && certificate === undefined) throw fault(plugin, 'printed neither a token nor a certificate')
  const expires = text('expirationTimestamp')
  const expiresAt = expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires)
  if (Number.isNaN(expiresAt)) throw fault(plugin, 'printed an expirationTimestamp that is not a time')
  return {
    identity: { ...(token ? { token } : {}), ...(certificate && key ? { certificate, key } : {}) },
    expiresAt,
  }
}

function fault(plugin: ExecPlugin, problem: string, hint?: string): CaptError {
  return new CaptError('CAPT_KUBECONFIG_EXEC', `The credential plugin ${plugin.command} ${problem}`, {
    hint: hint ?? `run it by hand, then repeat (${plugin.origin})`,
    at: plugin.origin,
  })
}
