// The embedded home: API server, controllers and a stand-in for core Cluster API, in one process.
import { resolve } from 'node:path'
import type { Manifest } from '#api'
import { type Home, startHome } from '#app'
import type { Connected } from '#kube'
import { CaptError, parseDuration } from '#lib'
import {
  APPROVAL_OPTIONS,
  type Arguments,
  approvalOf,
  type Command,
  durationIn,
  ENGINE_OPTION,
  EXIT,
  filesOption,
  type Io,
} from '../../command.ts'
import { optionWords, startDetached } from '../../home/detach.ts'
import { followEvents, readableSink } from '../../home/readable-log.ts'
import { createShippedTemplates } from '../../home/templates.ts'
import type { HomePage } from '../../home-page.ts'
import { shutdownOf, superviseFirstProcess } from '../../init-process.ts'

const NAMESPACE = 'default'
/** Shorter tokens would end before every reader has the next one. */
const SHORTEST_LIFETIME_MS = 5_000

export const command: Command = {
  name: 'up',
  summary: 'Run an embedded control plane in one process',
  examples: {
    'up --data ./home --kubeconfig ./home.kubeconfig': 'Start it; kubectl works with that kubeconfig',
    'up --data ./home -f examples/simulation.yaml': 'Start it, apply a manifest and show its progress',
    'up --data ./home --detach -f examples/simulation.yaml --wait-ready 5m':
      'In the background; return when everything is ready',
  },
  options: {
    data: {
      type: 'string',
      value: 'DIR',
      about: 'Folder for everything that must survive; made when missing, mode 0700.',
    },
    'data-key-command': {
      type: 'string',
      value: 'COMMAND',
      about:
        'Shell command that prints the key for Secrets at rest (32 bytes, base64 or hex). Default: the file encryption.key in DIR. Also read from CAPT_DATA_KEY_COMMAND.',
    },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      default: '127.0.0.1:0',
      about: 'Address to listen on. Port 0: the port that the data folder was served on before, else a free one.',
    },
    dashboard: {
      type: 'string',
      value: 'HOST:PORT|off',
      default: '127.0.0.1:0',
      about: 'Address of the page in the browser; port 0 is a free one. Its link is in DIR/dashboard-url.',
    },
    kubeconfig: { type: 'string', value: 'FILE', about: 'Where to write the kubeconfig; DIR/kubeconfig otherwise.' },
    ...filesOption('Manifest to apply once it is ready.'),
    'token-lifetime': {
      type: 'string',
      value: 'DURATION',
      default: '2160h',
      about:
        'How long tokens work. After two thirds of it (60 of 90 days) they are replaced and the files that hold them are written again.',
      check: (value) =>
        (durationIn(value) ?? 0) >= SHORTEST_LIFETIME_MS ? undefined : 'write it like 2160h, at least 5s',
    },
    detach: { type: 'boolean', about: 'Run in the background: return when the API is ready. The log is DIR/capt.log.' },
    'wait-ready': {
      type: 'string',
      value: 'DURATION',
      about: 'With -f: how long everything in it may take to be ready; then exit 3.',
    },
    ...ENGINE_OPTION,
    ...APPROVAL_OPTIONS,
    'log-level': {
      type: 'string',
      value: 'LEVEL',
      about: 'debug, info, warn or error; warn with --log-format text, info otherwise.',
    },
    'log-format': {
      type: 'string',
      value: 'text|json',
      about: 'text: a line per event; json: the whole log. text on a terminal, json otherwise.',
      check: (value) => (value === 'text' || value === 'json' ? undefined : 'one of: text, json'),
    },
  },
  onSignal: 'stops',
  async run(args, io) {
    const { data } = args.values
    if (typeof data !== 'string')
      throw new CaptError('CAPT_USAGE', 'up needs --data', { hint: 'capt up --data ./home' })
    const waitMs = waitOf(args)
    addressOf(String(args.values['listen']))
    pageAddressOf(args)
    const files = (args.values['filename'] as readonly string[] | undefined) ?? []
    const manifests = files.length === 0 ? [] : await (await import('../../sources.ts')).loadManifests(files, io)
    const dataDir = resolve(io.cwd, data)
    if (args.values['detach'] === true) return await detach(args, dataDir, { manifests, waitMs }, io)
    return await serve(args, dataDir, { manifests, waitMs }, io)
  },
}

interface Work {
  readonly manifests: readonly Manifest[]
  readonly waitMs: number | undefined
}

function waitOf({ values }: Arguments): number | undefined {
  const wait = values['wait-ready']
  if (typeof wait !== 'string') return undefined
  if (values['filename'] === undefined)
    throw new CaptError('CAPT_USAGE', '--wait-ready needs --filename', {
      hint: 'capt up --data ./home -f cluster.yaml',
    })
  return parseDuration(wait)
}

/** Undefined where the page is not served. */
function pageAddressOf({ values }: Arguments) {
  const { dashboard } = values
  return dashboard === 'off' ? undefined : addressOf(String(dashboard), '127.0.0.1', 'dashboard')
}

const kubeconfigOf = ({ values }: Arguments, dataDir: string, io: Io): string =>
  resolve(io.cwd, typeof values['kubeconfig'] === 'string' ? values['kubeconfig'] : `${dataDir}/kubeconfig`)

async function detach(args: Arguments, dataDir: string, { manifests, waitMs }: Work, io: Io): Promise<number> {
  const words = optionWords(command.options, args, ['detach', 'filename', 'wait-ready'])
  const { pid, log, ready } = await startDetached(words, dataDir, io)
  io.stdout.write(`${ready}\nProcess ${pid} goes on in the background; its log is ${log}; kill ${pid} ends it\n`)
  if (manifests.length === 0) return EXIT.fine
  const connected = await io.connect({ kubeconfig: kubeconfigOf(args, dataDir, io), namespace: NAMESPACE })
  try {
    return await applyAndWait(manifests, waitMs ?? 0, connected, io)
  } finally {
    await connected.close()
  }
}

/** `waitMs` 0: returns when everything is applied. */
async function applyAndWait(manifests: readonly Manifest[], waitMs: number, connected: Connected, io: Io) {
  const { applyManifests } = await import('../clusters/apply.ts')
  const applied = await applyManifests(manifests, { ...connected, io })
  if (waitMs === 0) return EXIT.fine
  const { waitForReady } = await import('../../progress/wait.ts')
  return await waitForReady(applied, waitMs, connected, io)
}

async function serve(args: Arguments, dataDir: string, work: Work, io: Io): Promise<number> {
  const { engine } = args.values
  const { host, port } = addressOf(String(args.values['listen']))
  const tokenLifetimeMs = parseDuration(String(args.values['token-lifetime']))
  const isText = (args.values['log-format'] ?? (io.stderr.isTerminal ? 'text' : 'json')) === 'text'
  superviseFirstProcess(io)
  const keyCommand = args.values['data-key-command'] ?? io.env['CAPT_DATA_KEY_COMMAND']
  const home = await startHome({
    dataDir,
    host,
    port,
    ...(typeof engine === 'string' ? { engine } : {}),
    approval: approvalOf(args.values),
    tokenLifetimeMs,
    ...(typeof keyCommand === 'string' ? { keyCommand } : {}),
    // Events say what happens; the log of the program adds what they do not.
    logLevel: String(args.values['log-level'] ?? (isText ? 'warn' : 'info')),
    logTo: isText ? readableSink(io.stderr) : io.stderr,
    env: io.env,
    shutdown: shutdownOf(undefined, io),
  })
  let isProgressShown = isText && work.manifests.length > 0
  const events = isText ? await followEvents(home.access, (isWarning) => isWarning || !isProgressShown, io) : undefined
  let page: HomePage | undefined
  let endFile = () => {}
  try {
    const file = kubeconfigOf(args, dataDir, io)
    await createShippedTemplates(home.objects, NAMESPACE)
    endFile = home.keepKubeconfig(file)
    io.stdout.write(`capt is ready at ${home.url} (kubectl --kubeconfig ${file} get clusters -A)\n`)
    const pageAt = pageAddressOf(args)
    if (pageAt) {
      const { openHomePage } = await import('../../home-page.ts')
      const options = { access: home.access, at: pageAt, file: `${dataDir}/dashboard-url`, tokenLifetimeMs }
      page = await openHomePage(options, io)
    }
    if (work.manifests.length > 0) {
      const waitMs = work.waitMs ?? (isText ? Number.POSITIVE_INFINITY : 0)
      const code = await Promise.race([
        applyAndWait(work.manifests, waitMs, connectedTo(home), io),
        home.failed(io.signal).then(() => EXIT.fine),
      ]).catch((error: unknown) => {
        // The home closes in order; what it had begun goes on when it is started again.
        if (io.signal.aborted) return EXIT.fine
        throw error
      })
      isProgressShown = false
      if (code !== EXIT.fine) return code
    }
    await home.failed(io.signal)
    return EXIT.fine
  } finally {
    endFile()
    await page?.close()
    await events?.close()
    await home.stop()
  }
}

function connectedTo({ objects, url, raw }: Home): Connected {
  return { objects, namespace: NAMESPACE, server: url, raw, close: async () => undefined }
}

/** `anyHost` is what a bare port means: loopback, unless the caller serves a pod. */
export function addressOf(text: string, anyHost = '127.0.0.1', flag = 'listen'): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/.exec(text)
  const port = Number(match?.[3])
  if (!match || port > 65_535)
    throw new CaptError('CAPT_USAGE', `--${flag} ${text} is not an address`, {
      hint: 'write HOST:PORT, for example 127.0.0.1:8443',
    })
  return { host: match[1] ?? (match[2] || anyHost), port }
}
