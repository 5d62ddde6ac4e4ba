// Deletes one object after saying what will go with it, and follows the deletion until it has ended.
import { type AnyObject, conditionOf, type KindRef } from '#api'
import { CaptError, formatDuration, parseDuration, sleep } from '#lib'
import { CONNECTION_OPTIONS, type Command, type Connected, connectionOf, EXIT, type Io } from './command.ts'
import { describeCluster } from './describe.ts'
import { confirm } from './output.ts'
import { findKind } from './resources.ts'

export const command: Command = {
  name: 'delete',
  summary: 'Delete an object and what was made for it, and wait until it is gone',
  positionals: 'KIND NAME',
  examples: [
    { run: 'delete cluster demo', about: 'Take a cluster away: add-ons, control plane, network, in that order' },
    { run: 'delete wtapply scratch --yes --wait=false', about: 'Ask for it and return at once' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    yes: { type: 'boolean', short: 'y', about: 'Do not ask.' },
    'dry-run': { type: 'boolean', about: 'Show what would go and change nothing.' },
    wait: { type: 'string', value: 'DURATION|false', default: '1h', about: 'How long to follow the deletion.' },
  },
  async run(args, io) {
    const [word, name] = args.positionals
    if (word === undefined || name === undefined)
      throw new CaptError('CAPT_USAGE', 'delete needs a kind and a name', { hint: 'capt delete cluster demo' })
    const wait = String(args.values['wait'])
    const deadlineMs = wait === 'false' ? 0 : parseDuration(wait)
    const connected = await io.connect(connectionOf(args))
    try {
      const kind = await findKind(word, connected)
      const key = { namespace: connected.namespace, name }
      const object = await connected.objects.get<AnyObject>(kind, key)
      if (!object)
        throw new CaptError(
          'CAPT_KUBE_NOT_FOUND',
          `There is no ${kind.kind} "${name}" in namespace ${connected.namespace}`,
        )
      if (kind.kind === 'Cluster') io.stderr.write(await describeCluster(name, connected, io))
      if (args.values['dry-run'] === true) {
        io.stderr.write(`Would delete ${kind.kind}/${name}; nothing was changed\n`)
        return EXIT.fine
      }
      if (!(await confirm(`Delete ${kind.kind} ${connected.namespace}/${name} and what was made for it?`, args, io)))
        return EXIT.failed
      await connected.objects.delete(kind, key, object.metadata.uid ? { uid: object.metadata.uid } : {})
      return deadlineMs === 0 ? EXIT.fine : await follow(kind, name, deadlineMs, connected, io)
    } finally {
      await connected.close()
    }
  },
}

async function follow(kind: KindRef, name: string, deadlineMs: number, connected: Connected, io: Io): Promise<number> {
  const started = io.clock.monotonic()
  let said = ''
  while (io.clock.monotonic() - started < deadlineMs) {
    const object = await connected.objects.get<AnyObject>(kind, { namespace: connected.namespace, name })
    if (!object) {
      io.stdout.write(`${kind.kind}/${name} is gone (${formatDuration(io.clock.monotonic() - started)})\n`)
      return EXIT.fine
    }
    const step = conditionOf(object, 'Deleting')?.message ?? conditionOf(object, 'Ready')?.message ?? ''
    if (step !== '' && step !== said) io.stderr.write(`${step.split('\n')[0]}\n`)
    said = step
    await sleep(io.clock, 1000, io.signal)
  }
  io.stderr.write(`${kind.kind}/${name} is still being deleted; it goes on without this command\n`)
  return EXIT.notReady
}
