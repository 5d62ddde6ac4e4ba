// Deletes objects after showing what will go with them, and follows the deletion until it has ended.
import { type AnyObject, conditionOf, type KindRef } from '#api'
import { CaptError, formatDuration, parseDuration, sleep } from '#lib'
import {
  CONNECTION_OPTIONS,
  type Command,
  type Connected,
  connectionOf,
  EXIT,
  Interrupted,
  type Io,
} from './command.ts'
import { describeCluster } from './describe.ts'
import { confirm } from './output.ts'
import { findKind } from './resources.ts'

const LOOK_MS = 1000

export const command: Command = {
  name: 'delete',
  summary: 'Delete objects and what was made for them, and wait until they are gone',
  positionals: 'KIND NAME...',
  examples: [
    { run: 'delete cluster demo', about: 'Take a cluster away: add-ons, control plane, network, in that order' },
    { run: 'delete cluster blue green --yes', about: 'Two clusters, without a question' },
    { run: 'delete wtapply scratch --yes --wait=false', about: 'Ask for it and return at once' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    yes: { type: 'boolean', short: 'y', about: 'Do not ask.' },
    'dry-run': { type: 'boolean', about: 'Show what would go and change nothing.' },
    wait: { type: 'string', value: 'DURATION|false', default: '1h', about: 'How long to follow the deletion.' },
  },
  async run(args, io) {
    const [word, ...given] = args.positionals
    if (word === undefined || given.length === 0)
      throw new CaptError('CAPT_USAGE', 'delete needs a kind and a name', { hint: 'capt delete cluster demo' })
    const wait = String(args.values['wait'])
    const deadlineMs = wait === 'false' ? 0 : parseDuration(wait)
    const connected = await io.connect(connectionOf(args))
    try {
      const kind = await findKind(word, connected)
      const names = [...new Set(given)]
      const objects = await readObjects(kind, names, connected)
      if (kind.kind === 'Cluster') for (const name of names) io.stderr.write(await describeCluster(name, connected, io))
      if (args.values['dry-run'] === true) {
        for (const name of names) io.stderr.write(`Would delete ${kind.kind}/${name}; nothing was changed\n`)
        return EXIT.fine
      }
      const shown = names.map((name) => `${connected.namespace}/${name}`).join(', ')
      if (!(await confirm(`Delete ${kind.kind} ${shown} and what was made for it?`, args, io))) return EXIT.failed
      for (const { metadata } of objects) {
        const key = { namespace: connected.namespace, name: metadata.name }
        await connected.objects.delete(kind, key, metadata.uid ? { uid: metadata.uid } : {})
      }
      return deadlineMs === 0 ? EXIT.fine : await follow(kind, names, deadlineMs, connected, io)
    } finally {
      await connected.close()
    }
  },
}

/** All of them, or an error: one wrong name and nothing is deleted. */
async function readObjects(kind: KindRef, names: readonly string[], { objects, namespace }: Connected) {
  const found: AnyObject[] = []
  for (const name of names) {
    const object = await objects.get<AnyObject>(kind, { namespace, name })
    if (!object)
      throw new CaptError('CAPT_KUBE_NOT_FOUND', `There is no ${kind.kind} "${name}" in namespace ${namespace}`, {
        hint: `capt get ${kind.plural} -A shows where there are some; nothing was deleted`,
      })
    found.push(object)
  }
  return found
}

async function follow(
  kind: KindRef,
  names: readonly string[],
  deadlineMs: number,
  { objects, namespace }: Connected,
  io: Io,
): Promise<number> {
  const started = io.clock.monotonic()
  const waited = () => io.clock.monotonic() - started
  const steps = new Map<string, string>()
  let left = names
  const stillDeleting = () => `${left.map((name) => `${kind.kind}/${name}`).join(', ')} still being deleted`
  while (waited() < deadlineMs) {
    const remaining: string[] = []
    for (const name of left) {
      const object = await objects.get<AnyObject>(kind, { namespace, name })
      if (!object) {
        io.stdout.write(`${kind.kind}/${name} is gone (${formatDuration(waited())})\n`)
        continue
      }
      remaining.push(name)
      const step = conditionOf(object, 'Deleting')?.message ?? conditionOf(object, 'Ready')?.message ?? ''
      const prefix = names.length > 1 ? `${kind.kind}/${name}: ` : ''
      if (step !== '' && step !== steps.get(name)) io.stderr.write(`${prefix}${step.split('\n')[0]}\n`)
      steps.set(name, step)
    }
    left = remaining
    if (left.length === 0) return EXIT.fine
    await sleep(io.clock, LOOK_MS, io.signal).catch(() => {
      throw new Interrupted(`${stillDeleting()}; the deletion goes on without this command`)
    })
  }
  io.stderr.write(`${stillDeleting()}; the deletion goes on without this command\n`)
  return EXIT.notReady
}
