// Starts and stops the embedded API: one process, one port, one data folder, as many realms as asked for.
import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { compileSchema, toYaml } from '#api'
import {
  CaptError,
  type Clock,
  DEFAULT_TOKEN_LIFETIME_MS,
  isCaptError,
  messageOf,
  sha256,
  systemClock,
  toKubeconfig,
} from '#lib'
import { openDataFolder } from './data-folder.ts'
import { createListener } from './http/listener.ts'
import { servingCertificate } from './http/serving-certificate.ts'
import type { CompileSchema, Converters } from './kinds/custom.ts'
import type { ApiObject } from './object.ts'
import { installCrd, openRealm, type RealmState } from './realm.ts'
import type { HistoryLimits } from './store/history.ts'
import { keepRotated } from './tokens/keep-rotated.ts'
import { openRealmTokens } from './tokens/realm-tokens.ts'

export interface ApiServerOptions {
  /** Made when absent; only its owner may read it. */
  readonly dataDir: string
  readonly host?: string
  /** 0 takes the port that the data folder was served on before, or any free one for a new folder. */
  readonly port?: number
  readonly clock?: Clock
  readonly log?: (message: string, error: unknown) => void
  /** Installed in the root realm at start; a stored definition that differs is brought up to date. */
  readonly crds?: readonly object[]
  /** In-process conversion between served versions, by `group/Kind`. */
  readonly converters?: Converters
  readonly onRequest?: (request: { method: string; path: string; query: string; code: number }) => void
  readonly history?: HistoryLimits
  /** For tests of a full disk. */
  readonly maxPages?: number
  /** A shell command that prints the key of the data folder; without it the key is in a file of the folder. */
  readonly keyCommand?: string
  /** The port that a data folder of an earlier version was served on: it did not keep it. */
  readonly formerPort?: number | undefined
  /** A token is replaced after two thirds of it and works until its end. */
  readonly tokenLifetimeMs?: number | undefined
}

/** One isolated API: its own objects, kinds and token. */
interface Realm {
  readonly path: string
  readonly url: string
  /** The current one; a replaced one works for a while. */
  readonly token: string
  /** When the token will be replaced. */
  readonly tokenReplacedAt: number
  readonly caPem: string
  kubeconfig(): string
  /** Installs or updates CustomResourceDefinitions. */
  install(crds: readonly object[]): void
}

export interface ApiServer extends Realm {
  /** Resolves when requests are answered. */
  ready(): Promise<void>
  /** Opens the realm, making it first if need be. It is there again after a restart. */
  realm(path: string): Realm
  removeRealm(path: string): void
  realms(): readonly string[]
  /** Called when the token of the root or the certificate of the authority was replaced; returns how to end that. */
  onToken(listener: () => void): () => void
  close(): Promise<void>
}

const REALM_PATH = /^(\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)+$/
const RESERVED = new Set(['api', 'apis', 'openapi', 'version', 'healthz', 'livez', 'readyz', 'metrics', 'snapshot'])

export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { dataDir, host = '127.0.0.1', port = 0, clock = systemClock } = options
  const log = options.log ?? (() => {})
  const lifetimeMs = options.tokenLifetimeMs ?? DEFAULT_TOKEN_LIFETIME_MS
  const folder = openDataFolder({
    path: dataDir,
    now: clock.now(),
    formerPort: options.formerPort,
    maxPages: options.maxPages,
    keyCommand: options.keyCommand,
  })
  const { store, authority } = folder
  const compile = rememberSchemas()
  const open = new Map<string, RealmState>()

  const enter = (path: string): RealmState => {
    const known = open.get(path)
    if (known) return known
    const state = openRealm({
      store: store.realm(path),
      tokens: openRealmTokens(path, { store, clock, lifetimeMs }),
      clock,
      compile,
      log,
      converters: options.converters,
      history: options.history,
    })
    open.set(path, state)
    return state
  }

  let server: Server | undefined
  try {
    const root = enter('')
    for (const crd of options.crds ?? []) installCrd(root, crd as ApiObject)
    for (const { path } of store.realms()) enter(path)

    const ips = [...new Set(['127.0.0.1', '::1', ...(isAddress(host) ? [host] : [])])]
    const certificate = servingCertificate(authority.current, ips, clock)
    const listener = createListener({
      realmFor: (path) => longestRealm(open, path),
      isReady: () => true,
      snapshot: () => folder.snapshot(),
      onRequest: options.onRequest,
      log,
    })
    server = createServer(certificate.context(), listener)
    server.requestTimeout = 60_000
    // A watcher that vanished without a word is noticed by its socket.
    server.on('secureConnection', (socket) => socket.setKeepAlive(true, 30_000))
    server.keepAliveTimeout = 120_000
    await listenOn(server, host, port, folder.port)
    folder.keepPort((server.address() as AddressInfo).port)

    const base = `https://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
    const present = (state: RealmState): Realm => {
      const url = `${base}${state.path}`
      return {
        path: state.path,
        url,
        get caPem() {
          return authority.current().certificate
        },
        get token() {
          return state.tokens.current()
        },
        get tokenReplacedAt() {
          return state.tokens.replacedAt()
        },
        kubeconfig: () =>
          toYaml(
            toKubeconfig({
              name: nameOf(state.path),
              server: url,
              caData: Buffer.from(authority.current().certificate).toString('base64'),
              user: { token: state.tokens.current() },
            }),
          ),
        install: (crds) => {
          for (const crd of crds) installCrd(state, crd as ApiObject)
        },
      }
    }
    const listening = server
    const rotation = keepRotated(() => open, { clock, lifetimeMs, log })
    const endings = [
      certificate.keepValid(listening),
      authority.keepValid(clock, rotation.notify, log),
      () => rotation.end(),
    ]
    let closing: Promise<void> | undefined
    // Assigned to, not copied from: the getters of the root return the current token and authority each time.
    return Object.assign(present(root), {
      ready: () => Promise.resolve(),
      onToken: rotation.onRoot,
      realm(path: string) {
        checkRealmPath(path)
        return present(enter(path))
      },
      removeRealm(path: string) {
        checkRealmPath(path)
        const state = open.get(path)
        if (!state) return
        closeRealm(state)
        open.delete(path)
        store.removeRealm(path)
      },
      realms: () => [...open.keys()].filter((path) => path !== '').sort(),
      close() {
        for (const end of endings.splice(0)) end()
        closing ??= stop(listening, open, folder.release)
        return closing
      },
    })
  } catch (error) {
    server?.close()
    for (const state of open.values()) closeRealm(state)
    folder.release()
    throw error
  }
}

function longestRealm(open: ReadonlyMap<string, RealmState>, path: string): RealmState | undefined {
  let candidate = path
  while (candidate !== '') {
    const found = open.get(candidate)
    if (found) return found
    candidate = candidate.slice(0, candidate.lastIndexOf('/'))
  }
  return open.get('')
}

function closeRealm(state: RealmState): void {
  state.collector.stop()
  for (const stop of [...state.streams]) stop()
}

async function stop(server: Server, open: ReadonlyMap<string, RealmState>, release: () => void): Promise<void> {
  for (const state of open.values()) closeRealm(state)
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const hurry = setTimeout(() => server.closeAllConnections(), 1000)
  await closed
  clearTimeout(hurry)
  release()
}

/**
 * The port of a new folder is chosen below the range from which Linux and macOS take the ports of outgoing connections:
 * a kept port from that range could be taken by any client while the home is stopped.
 */
const FIRST_FREE_PORT = 20_000
const FREE_PORTS = 10_000
const FREE_PORT_ATTEMPTS = 100

async function listenOn(server: Server, host: string, port: number, kept: number | undefined): Promise<void> {
  if (port !== 0) return await listen(server, host, port, 'choose another port with --listen')
  if (kept !== undefined) {
    const hint = `kubeconfigs and running Terraform runs use this port of the data folder: end the program that has taken it, or choose another one with --listen ${host}:PORT`
    return await listen(server, host, kept, hint)
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await listen(server, host, FIRST_FREE_PORT + randomInt(FREE_PORTS), 'choose a port with --listen')
    } catch (error) {
      if (!isCaptError(error, 'CAPT_PORT_IN_USE') || attempt === FREE_PORT_ATTEMPTS) throw error
    }
  }
}

function listen(server: Server, host: string, port: number, hintWhenTaken: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenFault(error, host, port, hintWhenTaken)))
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      server.on('error', () => {})
      resolve()
    })
  })
}

function listenFault(error: NodeJS.ErrnoException, host: string, port: number, hint: string): CaptError {
  if (error.code === 'EADDRINUSE') {
    return new CaptError('CAPT_PORT_IN_USE', `${host}:${port} is in use by another program`, { hint, cause: error })
  }
  return new CaptError('CAPT_LISTEN_FAILED', `Cannot listen on ${host}:${port}: ${messageOf(error)}`, {
    hint: 'check that the address belongs to this machine and that the port is allowed',
    cause: error,
  })
}

function checkRealmPath(path: string): void {
  if (REALM_PATH.test(path) && !RESERVED.has(path.split('/')[1]!)) return
  throw new CaptError('CAPT_INVALID', `"${path}" is not a path for a realm`, {
    hint: 'write it like /workloads/default/demo; the first part must not be api, apis or another name the API uses',
  })
}

const nameOf = (path: string) => (path === '' ? 'capt' : path.slice(1).replaceAll('/', '-'))
const isAddress = (host: string) => /^[\d.]+$/.test(host) || host.includes(':')

/** Realms often install the same definitions: one compilation serves all. */
function rememberSchemas(): CompileSchema {
  const compiled = new Map<string, ReturnType<CompileSchema>>()
  return (schema) => {
    const key = sha256(JSON.stringify(schema))
    const known = compiled.get(key) ?? compileSchema(schema)
    compiled.set(key, known)
    return known
  }
}
