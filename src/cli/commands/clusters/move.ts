// Hands clusters over to another management cluster, Terraform state included: pause, wait for runs to end, copy, delete
// here without destroying anything, unpause there. What fails before the copy is complete leaves everything as it was.

import { isDeletedForMove } from '#api'
import type { Connected } from '#kube'
import { CaptError, parseDuration } from '#lib'
import {
  chooseClusters,
  copyAll,
  deleteAll,
  differs,
  isCluster,
  kindsServedBy,
  type Node,
  nameOf,
  type Payload,
  pack,
  readAll,
  refuseCoreMachines,
  refuseTaken,
  setPaused,
  shippedPipeline,
  waitForRuns,
} from '#move'
import { type Arguments, CONNECTION_OPTIONS, type Command, connectionOf, EXIT, type Io } from '../../command.ts'
import { confirm, endDryRun, YES_OPTION } from '../../output.ts'
import { createReporter } from '../../progress/reporter.ts'

export const command: Command = {
  name: 'move',
  summary: 'Hand clusters to another management API, state included',
  positionals: '[CLUSTER...]',
  examples: {
    'move --to-kubeconfig mgmt.yaml': 'Move every cluster of the namespace',
    'move demo --to-kubeconfig mgmt.yaml --dry-run': 'Show what would go',
  },
  options: {
    ...CONNECTION_OPTIONS,
    'to-kubeconfig': { type: 'string', value: 'FILE', about: 'Kubeconfig of the cluster to move to.' },
    'to-context': { type: 'string', value: 'NAME', about: "Context in that file; the file's current one otherwise." },
    wait: { type: 'string', value: 'DURATION', default: '10m', about: 'How long to wait for runs in progress.' },
    ...YES_OPTION,
    'dry-run': { type: 'boolean', about: 'Show what would go and change nothing.' },
  },
  onSignal: 'finishes',
  async run(args, io) {
    const file = args.values['to-kubeconfig']
    if (typeof file !== 'string')
      throw new CaptError('CAPT_USAGE', 'move needs --to-kubeconfig', { hint: 'capt move --to-kubeconfig mgmt.yaml' })
    const from = await io.connect(connectionOf(args))
    const context = args.values['to-context']
    const to = await io.connect({
      kubeconfig: file,
      namespace: from.namespace,
      ...(typeof context === 'string' ? { context } : {}),
    })
    try {
      return await move(args, io, from, to)
    } finally {
      await from.close()
      await to.close()
    }
  },
}

async function move(args: Arguments, io: Io, from: Connected, to: Connected): Promise<number> {
  const print = (text: string) => io.stderr.write(`${text}\n`)
  const kinds = await kindsServedBy(from, to)
  const all = await readAll(from, kinds)
  const names = chooseClusters(all, args.positionals, from)
  await refuseCoreMachines(from, names)
  const shipped = await shippedPipeline(to)
  const { copied, deleted } = pack(all, names, shipped)
  if (copied.some((node) => isCluster(node) && isDeletedForMove(node.object))) return finish(deleted, io, from, to)
  for (const node of copied) print(`  ${nameOf(node)}`)
  print(
    `${copied.length} objects of ${names.size === 1 ? 'one cluster' : `${names.size} clusters`}: ${from.server} → ${to.server}`,
  )
  if (differs(all, shipped))
    print('The AddonPipeline of capt is not the same there: add-ons follow the one of the target')
  await refuseTaken(copied, to.objects)
  if (args.values['dry-run'] === true) return endDryRun(io)
  if (!(await confirm(`Move ${[...names].join(', ')} to ${to.server}?`, args, io))) return EXIT.failed

  const clusters = copied.filter(isCluster)
  await setPaused(from.objects, clusters, true)
  let payload: Payload
  try {
    print('Paused; waiting for runs in progress')
    await waitWithProgress(from, kinds, names, parseDuration(String(args.values['wait'])), io)
    // Runs that ended meanwhile have saved their state: read everything once more.
    payload = pack(await readAll(from, kinds), names, shipped)
    await copyAll(payload.copied, to)
  } catch (error) {
    await setPaused(from.objects, clusters, false)
    print('Nothing was moved; the clusters go on here')
    throw error
  }
  print(`Copied ${payload.copied.length} objects`)
  return finish(payload.deleted, io, from, to)
}

async function waitWithProgress(
  from: Connected,
  kinds: Awaited<ReturnType<typeof kindsServedBy>>,
  names: ReadonlySet<string>,
  limitMs: number,
  io: Io,
): Promise<void> {
  const reporter = createReporter(io)
  try {
    await waitForRuns(from, kinds, names, limitMs, {
      ...io,
      onBusy: (busy) => reporter.live(`in progress: ${busy.map(nameOf).join(', ')}`),
    })
  } finally {
    reporter.close()
  }
}

/** Everything is there: it is deleted here, and then work begins there. A move that was cut off goes on from here. */
async function finish(nodes: readonly Node[], io: Io, from: Connected, to: Connected): Promise<number> {
  const clusters = nodes.filter(isCluster)
  await deleteAll(nodes, from.objects)
  io.stderr.write('Deleted here, without destroying anything\n')
  await setPaused(to.objects, clusters, false)
  const names = clusters.map(({ object }) => object.metadata.name).sort()
  io.stdout.write(`Moved ${names.join(', ')} to ${to.server}\n`)
  return EXIT.fine
}
