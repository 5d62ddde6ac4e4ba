// What every step of a run uses and none of them changes: the folder, the request, the record's writer, the log, and when to
// stop. What the steps find out is passed from one to the next (values.ts).
import { statSync } from 'node:fs'
import type { Objects } from '#kube'
import { type Clock, type Log, sleep } from '#lib'
import { readRecord } from '../record/record-store.ts'
import { RunSlots } from '../record/slots.ts'
import { createRedactor, type Redactor } from '../secrets.ts'
import { type CancelReason, type Folder, type RunRequest, readFact } from './inputs/folder.ts'
import { RunLog } from './process/run-log.ts'
import { Stopping } from './process/stopping.ts'
import type { Handover } from './record/handover.ts'
import type { RecordWriter } from './record/record-writer.ts'

const FOLDER_POLL_MS = 1000
/** Terraform is asked to stop no later than this, whether or not the API server says why. */
const REASON_MS = 3_000
/** A folder that was removed and made again is another one: Terraform is still in the first. */
const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino

export interface RunnerWorld {
  readonly objects: Objects
  /** The same without retries, for what must be answered now. */
  readonly unretried?: Objects
  readonly clock: Clock
  readonly log: Log
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by SIGTERM: Terraform is asked to stop and given its time. */
  readonly stop: AbortSignal
  /** False when an API server that does not answer cannot come back: what names its address is gone. */
  readonly canReturn?: () => boolean
  /** What the manager has prepared for this run. */
  readonly handover?: Handover | undefined
}

export class RunContext {
  readonly folder: Folder
  readonly request: RunRequest
  readonly writer: RecordWriter
  readonly world: RunnerWorld
  readonly stopping: Stopping
  readonly runLog: RunLog
  /** Set where the run may store things only in slots: in a Job. */
  readonly slots: RunSlots | undefined
  #secrets: readonly string[]
  #redact: Redactor

  constructor(folder: Folder, request: RunRequest, writer: RecordWriter, world: RunnerWorld) {
    this.folder = folder
    this.request = request
    this.writer = writer
    this.world = world
    this.slots = request.job ? new RunSlots(() => writer.record) : undefined
    this.#secrets = request.workspace?.secretValues ?? []
    this.#redact = createRedactor(this.#secrets)
    const echo = request.job ? (text: string) => void process.stdout.write(text) : undefined
    this.runLog = new RunLog(folder.logOf(request.runId), world.clock, (text) => this.#redact(text), echo)
    this.stopping = new Stopping((reason) => this.note(`Asked to stop (${reason})`))
  }

  /** Into the log of the run. */
  note(text: string): void {
    this.runLog.add(text)
  }

  redact(text: string): string {
    return this.#redact(text)
  }

  /** From here on these are masked in the log, the record and errors. */
  addSecrets(secrets: readonly string[]): void {
    this.#secrets = [...this.#secrets, ...secrets]
    this.#redact = createRedactor(this.#secrets)
  }

  /** Stops the run on SIGTERM, at its deadline and when its folder is removed; returns how to stop watching. */
  watchTime(): () => void {
    const { clock, stop } = this.world
    const onStop = () => void this.#cancelReason().then((reason) => this.stopping.request(reason))
    if (stop.aborted) onStop()
    stop.addEventListener('abort', onStop, { once: true })
    const timeout = clock.after(this.request.timeoutSeconds * 1000, () => this.stopping.request('deadline'))
    const inode = inodeOf(this.folder.path)
    const poll = setInterval(() => {
      if (inodeOf(this.folder.path) !== inode) this.stopping.request('folder')
    }, FOLDER_POLL_MS)
    poll.unref()
    return () => {
      clearInterval(poll)
      stop.removeEventListener('abort', onStop)
      timeout.cancel()
    }
  }

  /** A manager on this machine leaves the reason in the folder, one that deletes our Job leaves it in the record. */
  async #cancelReason(): Promise<CancelReason> {
    const { runId, job, owner } = this.request
    const cancel = readFact(this.folder, 'cancel')
    if (cancel?.runId === runId) return cancel.reason
    if (!job) return 'shutdown'
    const read = readRecord(this.world.unretried ?? this.world.objects, owner).catch(() => undefined)
    const asked = await Promise.race([read, sleep(this.world.clock, REASON_MS).then(() => undefined)])
    return asked?.record.run?.id === runId && asked.record.run.cancelling ? 'cancelled' : 'shutdown'
  }
}
