// Applies manifests: all of them are read and checked before the first one is sent, so that bad input changes nothing.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import {
  type AnyObject,
  checkManifests,
  conditionOf,
  isTrue,
  type Key,
  type KindRef,
  type Manifest,
  readManifests,
  toCaptError,
  upgradeManifests,
} from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, messageOf, parseDuration, sleep } from '#lib'
import { CONNECTION_OPTIONS, type Command, connectionOf, EXIT, type Io } from './command.ts'
import { kindFinder } from './discovery.ts'

export const command: Command = {
  name: 'apply',
  summary: 'Check manifests field by field, then apply them',
  examples: [
    { run: 'apply -f cluster.yaml', about: 'One file' },
    { run: 'apply -f examples/ --wait 30m', about: 'A folder, and wait until everything is ready' },
    { run: 'apply -f - --dry-run', about: 'Standard input, checked by the server, nothing changed' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    filename: {
      type: 'string',
      short: 'f',
      value: 'FILE',
      multiple: true,
      about: 'File, folder or - for standard input.',
    },
    'dry-run': { type: 'boolean', about: 'Let the server check everything and change nothing.' },
    wait: { type: 'string', value: 'DURATION', about: 'Wait until what has a Ready condition is ready.' },
  },
  async run(args, io) {
    const files = (args.values['filename'] as readonly string[] | undefined) ?? []
    if (files.length === 0)
      throw new CaptError('CAPT_USAGE', 'apply needs --filename', { hint: 'capt apply -f cluster.yaml' })
    const waitMs = typeof args.values['wait'] === 'string' ? parseDuration(args.values['wait']) : 0
    const manifests = await readAll(files, io)
    const connected = await io.connect(connectionOf(args))
    try {
      const target = {
        objects: connected.objects,
        namespace: connected.namespace,
        io,
        raw: connected.raw,
        server: connected.server,
      }
      const applied = await applyManifests(manifests, { ...target, dryRun: args.values['dry-run'] === true })
      if (waitMs === 0) return EXIT.fine
      return await waitForReady(applied, waitMs, connected.objects, io)
    } finally {
      await connected.close()
    }
  },
}

export interface Target {
  readonly objects: Objects
  readonly namespace: string
  readonly io: Io
  readonly server: string
  raw(path: string): Promise<{ readonly status: number; readonly body: string }>
  readonly dryRun?: boolean
  readonly quiet?: boolean
}

export interface Applied {
  readonly kind: KindRef
  readonly key: Key
}

export async function applyFiles(files: readonly string[], target: Target): Promise<readonly Applied[]> {
  return applyManifests(await readAll(files, target.io), target)
}

/** Everything is checked before anything is sent. */
async function readAll(files: readonly string[], io: Io): Promise<Manifest[]> {
  const manifests: Manifest[] = []
  for (const file of files)
    manifests.push(...(file === '-' ? readManifests(await readStdin(io), 'standard input') : readPath(file, io)))
  if (manifests.length === 0)
    throw new CaptError('CAPT_INVALID', `There is no manifest in ${files.join(', ')}`, {
      hint: 'a manifest has apiVersion, kind and metadata.name',
    })
  const upgraded = upgradeManifests(manifests)
  for (const note of upgraded.notes) io.stderr.write(`note: ${note}\n`)
  const [first, ...more] = checkManifests(upgraded.manifests)
  if (!first) return [...upgraded.manifests]
  for (const fault of more.slice(0, 20))
    io.stderr.write(
      `also: ${fault.subject}: ${fault.path ? `${fault.path}: ` : ''}${fault.message}\n  at   ${fault.at}\n`,
    )
  const error = toCaptError(first, more.length)
  throw new CaptError(error.code, error.message, {
    at: first.at,
    hint: [first.hint, 'nothing was applied'].filter(Boolean).join('; '),
  })
}

function readPath(file: string, io: Io): Manifest[] {
  const path = resolve(io.cwd, file)
  try {
    if (!statSync(path).isDirectory()) return readManifests(readFileSync(path, 'utf8'), file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === undefined) throw cause
    throw new CaptError('CAPT_INVALID', `${file} cannot be read: ${messageOf(cause)}`, {
      cause,
      hint: 'give a file, a folder or -',
    })
  }
  const inside = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort()
  return inside.flatMap((name) =>
    readManifests(readFileSync(join(path, name), 'utf8'), relative(io.cwd, join(path, name))),
  )
}

async function readStdin(io: Io): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of io.stdin) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function applyManifests(manifests: readonly Manifest[], target: Target): Promise<readonly Applied[]> {
  const { io, objects } = target
  const find = kindFinder(target)
  const applied: Applied[] = []
  for (const { object, notes, file, line } of manifests) {
    for (const note of notes) io.stderr.write(`note: ${note}\n`)
    try {
      const kind = await find(object.apiVersion, object.kind)
      const namespace = kind.namespaced ? (object.metadata.namespace ?? target.namespace) : undefined
      const { name } = object.metadata
      const sent = { ...object, metadata: { ...object.metadata, ...(namespace ? { namespace } : {}) } }
      const before = await objects.get<AnyObject>(kind, namespace ? { namespace, name } : { name })
      const after = await objects.apply<AnyObject>(kind, sent, {
        fieldManager: 'capt-apply',
        ...(target.dryRun ? { dryRun: true } : {}),
      })
      const word = !before
        ? 'created'
        : before.metadata.resourceVersion === after.metadata.resourceVersion
          ? 'unchanged'
          : 'changed'
      if (!target.quiet) io.stdout.write(`${object.kind}/${name} ${word}${target.dryRun ? ' (dry run)' : ''}\n`)
      applied.push({ kind, key: namespace ? { namespace, name } : { name } })
    } catch (error) {
      throw refusal(error, `${file}, line ${line}`, applied.length, manifests.length)
    }
  }
  return applied
}

function refusal(error: unknown, at: string, done: number, of: number): CaptError {
  const progress = done === 0 ? 'nothing was applied' : `${done} of ${of} were applied; apply again when this is mended`
  const code = error instanceof CaptError ? error.code : 'CAPT_INTERNAL'
  const hint = [error instanceof CaptError ? error.hint : undefined, progress].filter(Boolean).join('; ')
  return new CaptError(isKubeError(error, 'Invalid') ? 'CAPT_INVALID' : code, messageOf(error), {
    at,
    hint,
    cause: error,
  })
}

async function waitForReady(applied: readonly Applied[], waitMs: number, objects: Objects, io: Io): Promise<number> {
  const until = io.clock.monotonic() + waitMs
  const said = new Map<string, string>()
  for (;;) {
    const open: string[] = []
    for (const { kind, key } of applied) {
      const object = await objects.get<AnyObject>(kind, key)
      const ready = object && (conditionOf(object, 'Ready') ?? conditionOf(object, 'Available'))
      if (!object || !ready || isTrue(object, ready.type)) continue
      const name = `${kind.kind}/${key.name}`
      open.push(name)
      if (said.get(name) !== ready.message) io.stderr.write(`${name}: ${ready.message.split('\n')[0]}\n`)
      said.set(name, ready.message)
    }
    if (open.length === 0) return EXIT.fine
    if (io.clock.monotonic() > until || io.signal.aborted) {
      io.stderr.write(`Not ready: ${open.join(', ')}\n`)
      return EXIT.notReady
    }
    await sleep(io.clock, 1000, io.signal)
  }
}
