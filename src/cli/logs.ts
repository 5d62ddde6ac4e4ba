// What Terraform said: of the run in progress, and of past ones. Redacted when it was written; nothing is added here.
import { existsSync } from 'node:fs'
import { folderOf, isOpen, type ObjectKey, type RunRecord, readLog, readRecord, Tail } from '#engine'
import { CaptError, formatDuration, sleep } from '#lib'
import { CONNECTION_OPTIONS, type Command, type Connected, connectionOf, EXIT, type Io } from './command.ts'

const LOOK_MS = 250

export const command: Command = {
  name: 'logs',
  summary: 'Show what Terraform said in a run, live or past',
  positionals: 'NAME',
  examples: [
    { run: 'logs demo-vpc', about: 'The run in progress, or the last one' },
    { run: 'logs demo-vpc --follow', about: 'Stay until the run has ended' },
    { run: 'logs demo-vpc --list', about: 'The runs there were' },
    { run: 'logs demo-vpc --run 0b9457d2', about: 'One of them, by the beginning of its id' },
  ],
  options: {
    ...CONNECTION_OPTIONS,
    follow: { type: 'boolean', short: 'f', about: 'Stay until the run has ended.' },
    list: { type: 'boolean', about: 'List the runs instead.' },
    run: { type: 'string', value: 'ID', about: 'Id of a run, or its beginning.' },
  },
  async run(args, io) {
    const [name] = args.positionals
    if (name === undefined) throw new CaptError('CAPT_USAGE', 'logs needs a name', { hint: 'capt logs demo-vpc' })
    const connected = await io.connect(connectionOf(args))
    try {
      const key = { namespace: connected.namespace, name }
      const record = (await readRecord(connected.objects, key))?.record
      if (!record?.run) throw noRuns(key)
      if (args.values['list'] === true) return list(record, io)
      const wanted = args.values['run']
      const runId = typeof wanted === 'string' ? findRun(record, wanted) : record.run.id
      if (isOpen(record.run) && record.run.id === runId) {
        return await follow(connected, key, record, args.values['follow'] === true, io)
      }
      return await past(connected, key, record, runId, io)
    } finally {
      await connected.close()
    }
  },
}

function noRuns({ namespace, name }: ObjectKey): CaptError {
  return new CaptError('CAPT_RUN_UNKNOWN', `there was no run for ${namespace}/${name} yet`, {
    hint: `capt describe wtapply ${name} says what it waits for`,
  })
}

function findRun(record: RunRecord, beginning: string): string {
  const ids = [record.run?.id, ...record.history.map(({ id }) => id)].filter((id) => id !== undefined)
  const found = [...new Set(ids)].filter((id) => id.startsWith(beginning))
  if (found.length === 1) return found[0]!
  throw new CaptError(
    'CAPT_RUN_UNKNOWN',
    `${found.length === 0 ? 'no run' : 'more than one run'} begins with ${beginning}`,
    {
      hint: 'capt logs NAME --list shows them',
    },
  )
}

function list(record: RunRecord, io: Io): number {
  const { run } = record
  if (isOpen(run))
    io.stdout.write(
      `${run.id}  ${run.verb.padEnd(7)}  ${run.phase.padEnd(9)}  attempt ${run.attempt}  since ${run.startedAt}\n`,
    )
  for (const past of record.history) {
    const took = formatDuration(Date.parse(past.finishedAt) - Date.parse(past.startedAt))
    const said = past.message === undefined ? '' : `  ${past.message}`
    io.stdout.write(
      `${past.id}  ${past.verb.padEnd(7)}  ${past.phase.padEnd(9)}  attempt ${past.attempt}  ${past.startedAt}  ${took}${said}\n`,
    )
  }
  return EXIT.fine
}

async function past(connected: Connected, key: ObjectKey, record: RunRecord, runId: string, io: Io): Promise<number> {
  const text = await readLog(connected.objects, key, runId)
  if (text === undefined) {
    throw new CaptError('CAPT_LOG_GONE', `the log of run ${runId} is not kept any more`, {
      hint: `the last ones are kept: capt logs ${key.name} --list; this one ended ${record.history.find(({ id }) => id === runId)?.phase ?? ''}`,
    })
  }
  io.stdout.write(text)
  return EXIT.fine
}

/** On the machine of the run its file is read; elsewhere the record tells as much as it knows. */
async function follow(connected: Connected, key: ObjectKey, record: RunRecord, stay: boolean, io: Io): Promise<number> {
  const run = record.run!
  const file = folderOf(run.folder).logOf(run.id)
  const tail = existsSync(file) ? new Tail(file) : undefined
  const print = (line: string) => io.stdout.write(`${line}\n`)
  tail?.read(print)
  if (!tail) io.stderr.write(`The run is on ${(run.runner ?? run.holder).host}; its log comes when it has ended\n`)
  if (!stay) return EXIT.fine
  for (;;) {
    await sleep(io.clock, LOOK_MS, io.signal)
    tail?.read(print)
    const now = (await readRecord(connected.objects, key))?.record
    if (isOpen(now?.run) && now.run.id === run.id) continue
    tail?.read(print, true)
    if (!tail && now) return past(connected, key, now, run.id, io)
    const ended = now?.history.find(({ id }) => id === run.id)
    return ended && ended.phase !== 'Succeeded' ? EXIT.failed : EXIT.fine
  }
}
