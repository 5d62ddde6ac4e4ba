// Deletes objects after showing in which order things go and what remains, and follows the deletion until it has ended.
import type { Connected } from '#kube'
import { CaptError, parseDuration } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { deletionOutline } from '../../objects/deletion-outline.ts'
import { FILE_OPTION, filesOf, groupsOf, readGroup, SELECTOR_OPTION } from '../../objects/select.ts'
import { confirm, endDryRun, YES_OPTION } from '../../output.ts'
import { type Deleted, followDeletion } from '../../progress/deletion.ts'

export const command: Command = {
  name: 'delete',
  summary: 'Delete an object and what was made for it',
  positionals: 'KIND NAME... | KIND/NAME...',
  examples: {
    'delete cluster demo': 'Take a cluster away: add-ons, control plane, network, in that order',
    'delete cluster blue green --yes': 'Two clusters, without a question',
    'delete -f cluster.yaml --dry-run': 'What would go and what would remain, of the objects of a file',
    'delete clusters -l env=test': 'Those with a label',
    'delete wtapply scratch --yes --wait=false': 'Ask for it and return at once',
  },
  options: {
    ...CONNECTION_OPTIONS,
    ...FILE_OPTION,
    ...SELECTOR_OPTION,
    ...YES_OPTION,
    'dry-run': { type: 'boolean', about: 'Show what would go and change nothing.' },
    'ignore-not-found': { type: 'boolean', about: 'Objects that do not exist are no error.' },
    wait: { type: 'string', value: 'DURATION|false', default: '1h', about: 'How long to follow the deletion.' },
  },
  async run(args, io) {
    const { positionals, values } = args
    const isNamed = positionals.length > 1 || positionals.some((word) => word.includes('/'))
    if (filesOf(args).length === 0 && !isNamed && (positionals.length === 0 || values['selector'] === undefined))
      throw new CaptError('CAPT_USAGE', 'delete needs a kind and a name, a file or a selector', {
        hint: 'capt delete cluster demo, or capt delete -f cluster.yaml',
      })
    const wait = String(values['wait'])
    const deadlineMs = wait === 'false' ? 0 : parseDuration(wait)
    return withConnection(args, io, async (connected) => {
      const found = await readAll(args, connected, io)
      if (found.length === 0) {
        io.stderr.write('There is nothing to delete\n')
        return EXIT.fine
      }
      for (const one of found) io.stderr.write(await deletionOutline(one, connected))
      if (values['dry-run'] === true) return endDryRun(io)
      if (!(await confirm(questionOf(found), args, io))) return EXIT.failed
      for (const { kind, namespace, name, uid } of found)
        await connected.objects.delete(kind, { namespace, name }, uid ? { uid } : {})
      return deadlineMs === 0 ? EXIT.fine : await followDeletion(found, deadlineMs, connected, io)
    })
  },
}

interface Found extends Deleted {
  readonly uid: string | undefined
}

/** All of them, or an error: one wrong name and nothing is deleted. */
async function readAll(args: Arguments, connected: Connected, io: Io): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const group of await groupsOf(args.positionals, args, { connected, io, command: 'delete' })) {
    const { objects, missing } = await readGroup(group, connected)
    const [error] = missing
    if (error && args.values['ignore-not-found'] !== true)
      throw new CaptError(error.code, error.message, { hint: `${error.hint}; nothing was deleted` })
    const namespace = group.namespace ?? connected.namespace
    for (const { metadata } of objects)
      found.push({ kind: group.kind, namespace, name: metadata.name, uid: metadata.uid })
  }
  return found
}

function questionOf(found: readonly Found[]): string {
  const names = found.map(({ kind, namespace, name }) => `${kind.kind} ${namespace}/${name}`)
  return `Delete ${names.join(', ')} and what was made for ${found.length === 1 ? 'it' : 'them'}?`
}
