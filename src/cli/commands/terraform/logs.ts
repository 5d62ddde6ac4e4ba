// What Terraform printed: of the run in progress, of past ones, or of every run of a cluster. Redacted when it was
// written; nothing is added here.
import { clusterKind, notFound, WorkspaceTemplateApply } from '#api'
import { isOpen, type ObjectKey, readRecord } from '#engine'
import { type Connected, servedKind } from '#kube'
import { CaptError, isCaptError, parseDuration, sleep } from '#lib'
import { clusterTree, readClusterObjects } from '#view'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import type { LineChoice } from '../../logs/lines.ts'
import { findRun, type LogTask, listRuns, printOpen, printPast } from '../../logs/run-logs.ts'
import { absent } from '../../objects/list.ts'
import { applyNameOf } from '../../resources.ts'

const POLL_MS = 1000

export const command: Command = {
  name: 'logs',
  summary: 'Show what Terraform said, live or of past runs',
  positionals: 'NAME|CLUSTER',
  examples: {
    'logs demo-vpc': 'The run in progress, or the last one',
    'logs demo-vpc --follow --tail 20': 'Its last lines, then stay until the run has ended',
    'logs demo --since 10m': 'Every apply of cluster demo, the last ten minutes',
    'logs demo-vpc --list': 'The runs there were',
    'logs demo-vpc --run 0b9457d2': 'One of them, by the beginning of its id',
  },
  options: {
    ...CONNECTION_OPTIONS,
    follow: { type: 'boolean', short: 'f', about: 'Stay until the run has ended; of a cluster, until it rests.' },
    tail: {
      type: 'string',
      value: 'LINES',
      about: 'Only the last lines.',
      check: (value) => (/^\d+$/.test(value) ? undefined : 'a number of lines, such as 20'),
    },
    since: { type: 'string', value: 'DURATION', about: 'Only lines newer than this: 90s, 10m.' },
    list: { type: 'boolean', about: 'List the runs instead.' },
    run: { type: 'string', value: 'ID', about: 'Id of a run, or its beginning.' },
  },
  async run(args, io) {
    const [word] = args.positionals
    if (word === undefined) throw new CaptError('CAPT_USAGE', 'logs needs a name', { hint: 'capt logs demo-vpc' })
    const cluster = /^clusters?\/(.+)$/i.exec(word)?.[1]
    const name = cluster ?? applyNameOf(word, 'logs')
    return withConnection(args, io, async (connected) => {
      const key = { namespace: connected.namespace, name }
      if (cluster === undefined && (await isApply(connected, key))) return await logsOfApply(key, args, connected, io)
      return await logsOfCluster(key, args, connected, io)
    })
  },
}

function choiceOf({ values }: Arguments, io: Io): LineChoice {
  const { tail, since } = values
  return {
    ...(typeof tail === 'string' ? { tail: Number(tail) } : {}),
    ...(typeof since === 'string' ? { since: io.clock.now() - parseDuration(since) } : {}),
  }
}

/** The record of a deleted apply may still be there. */
async function isApply({ objects }: Connected, key: ObjectKey): Promise<boolean> {
  if ((await objects.get(WorkspaceTemplateApply, key)) !== undefined) return true
  return (await readRecord(objects, key))?.record.run !== undefined
}

async function logsOfApply(key: ObjectKey, args: Arguments, connected: Connected, io: Io): Promise<number> {
  const record = (await readRecord(connected.objects, key))?.record
  if (!record?.run)
    throw new CaptError('CAPT_RUN_UNKNOWN', `there was no run for ${key.namespace}/${key.name} yet`, {
      hint: `capt describe wtapply ${key.name} says what it waits for`,
    })
  if (args.values['list'] === true) return listRuns(record, io)
  const task: LogTask = { connected, key, choice: choiceOf(args, io), prefix: '', io }
  const wanted = args.values['run']
  const runId = typeof wanted === 'string' ? findRun(record, wanted) : record.run.id
  if (isOpen(record.run) && record.run.id === runId)
    return await printOpen(task, record, args.values['follow'] === true)
  return await printPast(task, record, runId)
}

async function logsOfCluster(key: ObjectKey, args: Arguments, connected: Connected, io: Io): Promise<number> {
  const read = async () => readClusterObjects(await servedKind(connected, clusterKind), key.name, connected)
  const found = await read().catch((error: unknown) => {
    throw isCaptError(error, 'CAPT_KUBE_NOT_FOUND') || isCaptError(error, 'CAPT_CLUSTER_API_MISSING')
      ? notFound(WorkspaceTemplateApply, key)
      : error
  })
  for (const option of ['run', 'list'])
    if (args.values[option] !== undefined)
      throw new CaptError('CAPT_USAGE', `--${option} is for one apply; ${key.name} is a Cluster`, {
        hint: `one of: ${found.applies.map(({ metadata }) => `capt logs ${metadata.name} --${option}`).join(', ')}`,
      })
  const names = found.applies.map(({ metadata }) => metadata.name)
  const width = Math.max(0, ...names.map((name) => name.length))
  const choice = choiceOf(args, io)
  const taskOf = (name: string, lines: LineChoice): LogTask => ({
    connected,
    key: { namespace: connected.namespace, name },
    choice: lines,
    prefix: `${name.padEnd(width)}  `,
    io,
  })
  const printed = new Map<string, string>()
  const isFollowed = args.values['follow'] === true
  for (const name of names) await printLast(taskOf(name, choice), printed, isFollowed)
  if (printed.size === 0 && !isFollowed) io.stderr.write(`No apply of Cluster ${key.name} has had a run yet\n`)
  if (!isFollowed) return EXIT.fine
  return await followCluster(read, taskOf, { printed, choice }, io)
}

/** A run in progress is left to those who follow it. */
async function printLast(task: LogTask, printed: Map<string, string>, isFollowed: boolean): Promise<void> {
  const record = (await readRecord(task.connected.objects, task.key))?.record
  if (!record?.run || (isOpen(record.run) && isFollowed)) return
  printed.set(task.key.name, record.run.id)
  if (isOpen(record.run)) await printOpen(task, record, false)
  else await printPast(task, record, record.run.id)
}

/** Prints each run as it comes, until nothing of the cluster is under way. */
async function followCluster(
  read: () => ReturnType<typeof readClusterObjects>,
  taskOf: (name: string, lines: LineChoice) => LogTask,
  { printed, choice }: { readonly printed: Map<string, string>; readonly choice: LineChoice },
  io: Io,
): Promise<number> {
  let code: number = EXIT.fine
  // The choice is about what was there before the command began.
  let lines = choice
  const running = new Set<string>()
  for (;;) {
    const objects = await read().catch(absent)
    for (const { metadata } of objects?.applies ?? []) {
      const task = taskOf(metadata.name, lines)
      const record = (await readRecord(task.connected.objects, task.key))?.record
      const id = record?.run?.id
      if (!record || id === undefined || printed.get(metadata.name) === id || running.has(metadata.name)) continue
      printed.set(metadata.name, id)
      running.add(metadata.name)
      const work = isOpen(record.run) ? printOpen(task, record, true) : printPast(task, record, id)
      work
        .then((ended) => {
          code = Math.max(code, ended)
        })
        // The end of the command is reported by its own wait.
        .catch(() => undefined)
        .finally(() => running.delete(metadata.name))
    }
    lines = {}
    const isAtRest = !objects || ['ready', 'stalled', 'paused'].includes(clusterTree(objects).state)
    if (isAtRest && running.size === 0) return code
    await sleep(io.clock, POLL_MS, io.signal)
  }
}
