// Why a run is asked to stop. The first reason holds.
import type { RunFault } from '../../faults/faults.ts'
import { diskFull, folderGone } from '../failure.ts'
import type { CancelReason } from '../inputs/folder.ts'

type StopReason = CancelReason | 'disk' | 'fenced' | 'folder' | 'state'

export class Stopping {
  readonly #abort = new AbortController()
  readonly #onStop: (reason: StopReason) => void
  #reason: StopReason | undefined
  #fault: RunFault | undefined

  constructor(onStop: (reason: StopReason) => void) {
    this.#onStop = onStop
  }

  get reason(): StopReason | undefined {
    return this.#reason
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** `fault`: what the run ends with, where the reason does not say all of it. */
  request(reason: StopReason, fault?: RunFault): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#fault = fault
    this.#onStop(reason)
    this.#abort.abort()
  }

  fault(timeoutSeconds: number): RunFault {
    if (this.#fault) return this.#fault
    switch (this.#reason) {
      case 'deadline':
        return {
          kind: 'deadline',
          code: 'CAPT_RUN_DEADLINE',
          message: `the run took longer than its ${timeoutSeconds} seconds`,
          hint: 'raise spec.timeout, or see in capt logs what takes so long; then: capt retry',
        }
      case 'disk':
        return diskFull()
      case 'fenced':
        return {
          kind: 'lost',
          code: 'CAPT_STATE_FENCED',
          message: 'the lock was lost: another run works on this state by now',
          hint: 'what this run made is in a copy beside the state; capt state list shows it',
        }
      case 'folder':
        return folderGone()
      case 'cancelled':
        return {
          kind: 'cancelled',
          code: 'CAPT_RUN_CANCELLED',
          message: 'the run was cancelled',
          hint: 'capt retry starts another one',
        }
      default:
        return {
          kind: 'lost',
          code: 'CAPT_RUN_STOPPED',
          message: 'the runner was stopped',
          hint: 'the next attempt goes on from the saved state',
        }
    }
  }
}
