// The log of one run, past or in progress. On the machine of the run its file is read; elsewhere the record is all there is.
import { existsSync } from 'node:fs'
import { folderOf, isOpen, type ObjectKey, type RunRecord, readLog, readRecord, Tail } from '#engine'
import type { Connected } from '#kube'
import { CaptError, formatDuration, sleep } from '#lib'
import { EXIT, type Io } from '../command.ts'
import { chooseLines, type LineChoice } from './lines.ts'

const POLL_MS = 250

export interface LogTask {
  readonly connected: Connected
  readonly key: ObjectKey
  readonly choice: LineChoice
  /** Before each line: of several logs at once. */
  readonly prefix: string
  readonly io: Io
}

export function findRun(record: RunRecord, beginning: string): string {
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

export function listRuns(record: RunRecord, io: Io): number {
  const { run } = record
  if (isOpen(run))
    io.stdout.write(
      `${run.id}  ${run.verb.padEnd(7)}  ${run.phase.padEnd(9)}  attempt ${run.attempt}  since ${run.startedAt}\n`,
    )
  for (const past of record.history) {
    const took = formatDuration(Date.parse(past.finishedAt) - Date.parse(past.startedAt))
    const message = past.message === undefined ? '' : `  ${past.message}`
    io.stdout.write(
      `${past.id}  ${past.verb.padEnd(7)}  ${past.phase.padEnd(9)}  attempt ${past.attempt}  ${past.startedAt}  ${took}${message}\n`,
    )
  }
  return EXIT.fine
}

export async function printPast(task: LogTask, record: RunRecord, runId: string): Promise<number> {
  const { connected, key, io } = task
  const past = record.history.find(({ id }) => id === runId)
  const text = await readLog(connected.objects, key, runId)
  if (text === undefined) {
    throw new CaptError('CAPT_LOG_GONE', `the log of run ${runId} is not kept any more`, {
      hint: `the last ones are kept: capt logs ${key.name} --list; this one ended ${past?.phase ?? ''}`,
    })
  }
  const startedAt = past?.startedAt ?? record.run?.startedAt ?? ''
  if (past) {
    const took = formatDuration(Date.parse(past.finishedAt) - Date.parse(past.startedAt))
    announce(task, `${past.verb} of ${past.startedAt}, ${past.phase.toLowerCase()} after ${took}`)
  }
  const lines = text.replace(/\n$/, '').split('\n')
  for (const line of text === '' ? [] : chooseLines(lines, task.choice, startedAt))
    io.stdout.write(`${task.prefix}${line}\n`)
  return EXIT.fine
}

/** Times in a log have no date: the start of the run has it. */
function announce({ key, io }: LogTask, what: string): void {
  io.stderr.write(`${key.name}: terraform ${what} (times are UTC)\n`)
}

/** What there is of the run in progress; with `stay`, what comes until it ends. */
export async function printOpen(task: LogTask, record: RunRecord, stay: boolean): Promise<number> {
  const { connected, key, io, prefix } = task
  const run = record.run!
  const file = folderOf(run.folder).logOf(run.id)
  const tail = existsSync(file) ? new Tail(file) : undefined
  const print = (line: string) => io.stdout.write(`${prefix}${line}\n`)
  announce(task, `${run.verb} of ${run.startedAt}, in progress`)
  const first: string[] = []
  tail?.read((line) => first.push(line))
  for (const line of chooseLines(first, task.choice, run.startedAt)) print(line)
  const pod = run.job && run.runner?.pod
  const live = pod ? `; live: kubectl logs -n ${pod.namespace} ${pod.name} --follow` : ''
  if (!tail)
    io.stderr.write(`The run is on ${(run.runner ?? run.holder).host}; its log comes when it has ended${live}\n`)
  if (!stay) return EXIT.fine
  for (;;) {
    await sleep(io.clock, POLL_MS, io.signal)
    tail?.read(print)
    const now = (await readRecord(connected.objects, key))?.record
    if (isOpen(now?.run) && now.run.id === run.id) continue
    tail?.read(print, true)
    if (!tail && now) return printPast(task, now, run.id)
    const ended = now?.history.find(({ id }) => id === run.id)
    return ended && ended.phase !== 'Succeeded' ? EXIT.failed : EXIT.fine
  }
}
