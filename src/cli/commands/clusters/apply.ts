// Applies manifests: all of them are read and checked before the first one is sent, so that bad input changes nothing.
import type { AnyObject, Manifest, UnknownObject } from '#api'
import { type Connected, isKubeError, kindFinder, requireServed } from '#kube'
import { CaptError, messageOf, ownValueAt, parseDuration } from '#lib'
import { CONNECTION_OPTIONS, type Command, EXIT, filesOption, type Io, withConnection } from '../../command.ts'
import { type Applied, waitForReady } from '../../progress/wait.ts'
import { loadManifests } from '../../sources.ts'

export const command: Command = {
  name: 'apply',
  summary: 'Check manifests field by field, then apply them',
  examples: {
    'apply -f cluster.yaml': 'One file',
    'apply -f examples/ --wait 30m': 'A folder, and wait until everything is ready',
    'apply -f - --dry-run': 'Standard input, checked by the server, nothing changed',
  },
  options: {
    ...CONNECTION_OPTIONS,
    ...filesOption('File, folder or - for standard input.'),
    'dry-run': { type: 'boolean', about: 'Let the server check everything and change nothing.' },
    wait: {
      type: 'string',
      value: 'DURATION',
      about: 'Wait until everything applied, and what is made of it, is ready.',
    },
  },
  async run(args, io) {
    const files = (args.values['filename'] as readonly string[] | undefined) ?? []
    if (files.length === 0)
      throw new CaptError('CAPT_USAGE', 'apply needs --filename', { hint: 'capt apply -f cluster.yaml' })
    const waitMs = typeof args.values['wait'] === 'string' ? parseDuration(args.values['wait']) : 0
    const manifests = await loadManifests(files, io)
    return withConnection(args, io, async (connected) => {
      const applied = await applyManifests(manifests, { ...connected, io, dryRun: args.values['dry-run'] === true })
      if (waitMs === 0 || args.values['dry-run'] === true) return EXIT.fine
      return await waitForReady(applied, waitMs, connected, io)
    })
  },
}

interface Target extends Omit<Connected, 'close'> {
  readonly io: Io
  readonly dryRun?: boolean
  readonly quiet?: boolean
}

export async function applyFiles(files: readonly string[], target: Target): Promise<readonly Applied[]> {
  return applyManifests(await loadManifests(files, target.io), target)
}

export async function applyManifests(manifests: readonly Manifest[], target: Target): Promise<readonly Applied[]> {
  const { io, objects } = target
  const find = kindFinder(target)
  const applied: Applied[] = []
  await requireServed(
    manifests.map(({ object }) => object),
    target,
    find,
  ).catch((error: unknown) => {
    throw refusal(error, undefined, 0, manifests.length)
  })
  await requireTargets(manifests, target)
  for (const manifest of manifests) {
    const { object, notes, file, line } = manifest
    for (const note of notes) io.stderr.write(`note: ${note}\n`)
    try {
      const kind = await find(object.apiVersion, object.kind)
      const namespace = kind.namespaced ? (object.metadata.namespace ?? target.namespace) : undefined
      const { name } = object.metadata
      const before = await objects.get<AnyObject>(kind, namespace ? { namespace, name } : { name })
      const wanted = manifest.isStrategyAssumed ? keepStrategy(object, before, io) : object
      const sent = { ...wanted, metadata: { ...wanted.metadata, ...(namespace ? { namespace } : {}) } }
      const after = await objects.apply<AnyObject>(kind, sent, {
        // A manager of its own: what capt-apply owns and this manifest does not have would be removed.
        fieldManager: manifest.isAddition ? 'capt-apply-labels' : 'capt-apply',
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

/** Labels need an object to be put on: one that is there, or one that comes before them. */
async function requireTargets(manifests: readonly Manifest[], target: Target): Promise<void> {
  const find = kindFinder(target)
  for (const [i, { object, isAddition, file, line }] of manifests.entries()) {
    if (!isAddition) continue
    const { name, namespace = target.namespace } = object.metadata
    const isBefore = manifests
      .slice(0, i)
      .some((one) => one.object.kind === object.kind && one.object.metadata.name === name && !one.isAddition)
    const kind = await find(object.apiVersion, object.kind)
    if (isBefore || (await target.objects.get<AnyObject>(kind, { namespace, name })) !== undefined) continue
    throw new CaptError('CAPT_INVALID', `There is no ${object.kind} ${namespace}/${name} to put labels on`, {
      at: `${file}, line ${line}`,
      hint: `apply the whole ${object.kind} first, or give this manifest a spec; nothing was applied`,
    })
  }
}

/** A strategy cannot be changed: one that nobody chose gives way to the one that is there. */
function keepStrategy(object: UnknownObject, before: AnyObject | undefined, io: Io): UnknownObject {
  const live: unknown = before && ownValueAt(before, ['spec', 'strategy'])
  if (typeof live !== 'string' || live === 'Reconcile') return object
  io.stderr.write(
    `note: ${object.kind}/${object.metadata.name} keeps strategy: ${live}, which cannot be changed; delete it and apply again for Reconcile\n`,
  )
  return { ...object, spec: { ...(object['spec'] as object), strategy: live } }
}

function refusal(error: unknown, at: string | undefined, done: number, of: number): CaptError {
  const progress = done === 0 ? 'nothing was applied' : `${done} of ${of} were applied; apply again when this is mended`
  const code = error instanceof CaptError ? error.code : 'CAPT_INTERNAL'
  const hint = [error instanceof CaptError ? error.hint : undefined, progress].filter(Boolean).join('; ')
  return new CaptError(isKubeError(error, 'Invalid') ? 'CAPT_INVALID' : code, messageOf(error), {
    ...(at === undefined ? {} : { at }),
    hint,
    cause: error,
  })
}
