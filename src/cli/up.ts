// The embedded home: API server, controllers and a stand-in for core Cluster API, in one process.
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CaptError } from '#lib'
import { startHome } from '../app.ts'
import { type Command, ENGINE_OPTION, EXIT } from './command.ts'
import { shutdownOf, superviseFirstProcess } from './first-process.ts'

export const command: Command = {
  name: 'up',
  summary: 'Run an embedded control plane in one process, without a management cluster',
  examples: [
    { run: 'up --data ./home --kubeconfig ./home.kubeconfig', about: 'Start it; kubectl works with that kubeconfig' },
    { run: 'up --data ./home -f examples/simulation.yaml', about: 'Start it and apply a manifest' },
  ],
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
    kubeconfig: { type: 'string', value: 'FILE', about: 'Where to write the kubeconfig; DIR/kubeconfig otherwise.' },
    filename: {
      type: 'string',
      short: 'f',
      value: 'FILE',
      multiple: true,
      about: 'Manifest to apply once it is ready.',
    },
    ...ENGINE_OPTION,
    'log-level': {
      type: 'string',
      value: 'LEVEL',
      about: 'debug, info, warn or error; warn on a terminal, info otherwise.',
    },
  },
  onSignal: 'stops',
  async run(args, io) {
    const { data, listen, kubeconfig, engine } = args.values
    if (typeof data !== 'string')
      throw new CaptError('CAPT_USAGE', 'up needs --data', { hint: 'capt up --data ./home' })
    const { host, port } = addressOf(String(listen))
    const files = (args.values['filename'] as readonly string[] | undefined) ?? []
    const manifests = files.length === 0 ? [] : await (await import('./sources.ts')).loadManifests(files, io)
    const dataDir = resolve(io.cwd, data)
    superviseFirstProcess(io)
    const keyCommand = args.values['data-key-command'] ?? io.env['CAPT_DATA_KEY_COMMAND']
    const home = await startHome({
      dataDir,
      host,
      port,
      ...(typeof engine === 'string' ? { engine } : {}),
      ...(typeof keyCommand === 'string' ? { keyCommand } : {}),
      // A terminal is for people: they ask with get, describe and logs.
      logLevel: String(args.values['log-level'] ?? (io.stderr.isTerminal ? 'warn' : 'info')),
      logTo: io.stderr,
      env: io.env,
      shutdown: shutdownOf(undefined, io),
    })
    try {
      const file = resolve(io.cwd, typeof kubeconfig === 'string' ? kubeconfig : `${dataDir}/kubeconfig`)
      writeFileSync(file, home.kubeconfig, { mode: 0o600 })
      io.stdout.write(`capt is ready at ${home.url} (kubectl --kubeconfig ${file} get clusters -A)\n`)
      if (manifests.length > 0) {
        const { applyManifests } = await import('./apply.ts')
        await applyManifests(manifests, {
          objects: home.objects,
          namespace: 'default',
          server: home.url,
          raw: home.raw,
          io,
        })
      }
      await home.failed(io.signal)
      return EXIT.fine
    } finally {
      await home.stop()
    }
  },
}

/** `anyHost` is what a bare port means: loopback, unless the caller serves a pod. */
export function addressOf(text: string, anyHost = '127.0.0.1'): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/.exec(text)
  const port = Number(match?.[3])
  if (!match || port > 65_535)
    throw new CaptError('CAPT_USAGE', `--listen ${text} is not an address`, {
      hint: 'write HOST:PORT, for example 127.0.0.1:8443',
    })
  return { host: match[1] ?? (match[2] || anyHost), port }
}
