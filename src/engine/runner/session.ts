// What the parts of one run share: where it is, what was asked, who to tell, and when to stop.
import { statSync } from 'node:fs'
import type { Objects } from '#kube'
import type { Clock, Log } from '#lib'
import { createRedactor, type Redactor } from '../secrets.ts'
import type { ObjectKey } from '../workspace.ts'
import type { BundleKeeper } from './bundle-keeper.ts'
import type { Credentials } from './credentials.ts'
import { type Folder, type RunRequest, readFact } from './folder.ts'
import type { Handover } from './handover.ts'
import type { PlanKeeper } from './plan-keeper.ts'
import type { Layout } from './prepare.ts'
import type { RecordKeeper } from './record-keeper.ts'
import { RunLog } from './run-log.ts'
import { Stopping } from './stopping.ts'
import type { TerraformRun } from './terraform-run.ts'

const FOLDER_LOOK_MS = 1000
/** A folder that was removed and made again is another one: Terraform is still in the first. */
const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino

export interface RunnerWorld {
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by SIGTERM: Terraform is asked to stop and given its time. */
  readonly stop: AbortSignal
  /** False when an API server that does not answer cannot come back: what names its address is gone. */
  readonly canReturn?: () => boolean
  /** What the manager has settled by then. */
  readonly handover?: Handover | undefined
}

/** What a run has come to so far; whoever closes it needs to know, however it ended. */
export interface Trace {
  /** Secrets that its credentials come from. */
  refs: readonly ObjectKey[]
  credentials?: Credentials
  layout?: Layout
  terraform?: TerraformRun
  plans?: PlanKeeper
  bundles?: BundleKeeper
  /** Serials of the outdated copies of the state that are gone. */
  dropped?: Promise<ReadonlySet<number>>
}

export class Session {
  readonly folder: Folder
  readonly request: RunRequest
  readonly keeper: RecordKeeper
  readonly world: RunnerWorld
  readonly stopping: Stopping
  readonly runLog: RunLog
  readonly trace: Trace = { refs: [] }
  #secrets: readonly string[]
  #redact: Redactor

  constructor(folder: Folder, request: RunRequest, keeper: RecordKeeper, world: RunnerWorld) {
    this.folder = folder
    this.request = request
    this.keeper = keeper
    this.world = world
    this.#secrets = request.workspace?.secretValues ?? []
    this.#redact = createRedactor(this.#secrets)
    this.runLog = new RunLog(folder.logOf(request.runId), world.clock, (text) => this.#redact(text))
    this.stopping = new Stopping((reason) => this.say(`Asked to stop (${reason})`))
  }

  /** Into the log of the run. */
  say(text: string): void {
    this.runLog.add(text)
  }

  redact(text: string): string {
    return this.#redact(text)
  }

  /** From here on these are masked wherever the run speaks. */
  learnSecrets(secrets: readonly string[]): void {
    this.#secrets = [...this.#secrets, ...secrets]
    this.#redact = createRedactor(this.#secrets)
  }

  /** Stops the run on SIGTERM, at its deadline and when its folder is removed; returns how to stop watching. */
  watchTime(): () => void {
    const { clock, stop } = this.world
    const onStop = () => this.stopping.request(this.#cancelReason())
    if (stop.aborted) onStop()
    stop.addEventListener('abort', onStop, { once: true })
    const timeout = clock.after(this.request.timeoutSeconds * 1000, () => this.stopping.request('deadline'))
    const inode = inodeOf(this.folder.path)
    const looking = setInterval(() => {
      if (inodeOf(this.folder.path) !== inode) this.stopping.request('folder')
    }, FOLDER_LOOK_MS)
    looking.unref()
    return () => {
      clearInterval(looking)
      stop.removeEventListener('abort', onStop)
      timeout.cancel()
    }
  }

  #cancelReason() {
    const cancel = readFact(this.folder, 'cancel')
    return cancel?.runId === this.request.runId ? cancel.reason : 'shutdown'
  }
}
