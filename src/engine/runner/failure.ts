// Why a run ended, as an error on its way up to the record.
import { readFileSync } from 'node:fs'
import { isKubeError } from '#kube'
import { CaptError, isCaptError, messageOf } from '#lib'
import type { FaultKind, RunFault } from '../faults/faults.ts'

export class RunFailure extends CaptError {
  readonly kind: FaultKind
  readonly address: string | undefined

  constructor(fault: RunFault, cause?: unknown) {
    super(fault.code, fault.message, { hint: fault.hint, cause })
    this.name = 'RunFailure'
    this.kind = fault.kind
    this.address = fault.address
  }
}

const KIND_OF_CODE: Readonly<Record<string, FaultKind>> = {
  CAPT_CREDENTIALS_MISSING: 'credentials',
  CAPT_CREDENTIALS_REFUSED: 'credentials',
  CAPT_REFERENCE_FORBIDDEN: 'credentials',
  CAPT_BUNDLE_TOO_LARGE: 'user',
  CAPT_OUTPUTS_TOO_LARGE: 'user',
  CAPT_CONNECTION_SECRET_TAKEN: 'user',
  CAPT_STATE_CONFLICT: 'user',
  CAPT_STATE_UNREADABLE: 'user',
  CAPT_STATE_LOST: 'user',
  CAPT_RECORD_LOST: 'user',
  CAPT_STATE_STALE: 'user',
  CAPT_STATE_SIDE_COPY: 'user',
  CAPT_STATE_TOO_LARGE: 'user',
  CAPT_SLOTS_FULL: 'user',
  CAPT_STATE_FENCED: 'lost',
  CAPT_INPUTS_GONE: 'user',
  CAPT_SIMULATED_UNSUPPORTED: 'user',
  CAPT_TF_INVALID: 'user',
}

/** Any error as a fault: ours have a hint, those of the API server are transient, the rest is internal. */
export function toRunFault(error: unknown): RunFault {
  if (error instanceof RunFailure) {
    const { kind, code, message, hint = '', address } = error
    return { kind, code, message, hint, ...(address === undefined ? {} : { address }) }
  }
  if ((error as NodeJS.ErrnoException | null)?.code === 'ENOSPC') return diskFull()
  if (isKubeError(error)) {
    return {
      kind: 'network',
      code: error.code,
      message: error.message,
      hint: error.hint ?? 'the next attempt tries again',
    }
  }
  if (isCaptError(error)) {
    const { code, message, hint = '' } = error
    return { kind: KIND_OF_CODE[code] ?? 'internal', code, message, hint }
  }
  return { kind: 'internal', code: 'CAPT_RUN_FAILED', message: messageOf(error), hint: 'capt logs shows what happened' }
}

export function diskFull(): RunFault {
  return {
    kind: 'internal',
    code: 'CAPT_DISK_FULL',
    message: 'the disk of the work folder is full',
    hint: 'free disk space there, then: capt retry',
  }
}

export function folderGone(): RunFault {
  return {
    kind: 'lost',
    code: 'CAPT_WORK_FOLDER_GONE',
    message: 'the work folder was removed during the run',
    hint: 'the next attempt goes on from the saved state; look at status.suspects',
  }
}

/** Reads how often the kernel killed a process of this group because memory ran out. */
export function oomKills(): number {
  for (const path of ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control']) {
    try {
      return Number(/oom_kill (\d+)/.exec(readFileSync(path, 'utf8'))?.[1] ?? 0)
    } catch {
      // This machine counts elsewhere, or not at all.
    }
  }
  return 0
}

export function killed(signal: string, stderr: string, oomBefore: number): RunFault {
  if (oomKills() > oomBefore || /out of memory|cannot allocate memory/i.test(stderr)) {
    return {
      kind: 'memory',
      code: 'CAPT_TF_OUT_OF_MEMORY',
      message: 'Terraform ran out of memory',
      hint: 'give the runner more memory, or lower -parallelism in applyArgs',
    }
  }
  return {
    kind: 'lost',
    code: 'CAPT_TF_KILLED',
    message: `Terraform was ended by ${signal}`,
    hint: 'the next attempt goes on from the saved state; look at status.suspects',
  }
}
