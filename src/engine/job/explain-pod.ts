// Why the pod of a run does not start, or why it ended, by what Kubernetes reports about it. Pure: Job, pod and events in, a
// fault with a name out. Undefined where nothing is wrong, or where nothing is known.
import { redact } from '#lib'
import type { RunFault } from '../faults/faults.ts'

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: { readonly reason?: string; readonly exitCode?: number; readonly message?: string }
}

export interface PodFacts {
  readonly metadata: { readonly name: string; readonly uid?: string | undefined }
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }[]
    readonly containerStatuses?: readonly { readonly name: string; readonly state?: ContainerState }[]
  }
}

/** An event on the Job: why its controller makes no pod. */
export interface JobEvent {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
}

export interface Explanation {
  readonly fault: RunFault
  /** Of a pod that has not started: how long it may take to pass by itself. Undefined: it has ended. */
  readonly patienceSeconds?: number
}

const IMAGE = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
])
const CONFIG = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'])
/** Reasons of the condition DisruptionTarget. */
const NODE_GONE = new Set(['DeletionByTaintManager', 'DeletionByPodGC', 'NodeLost', 'NodeShutdown', 'Terminated'])

/** Whether the container has ended for good: proof that the runner is dead. */
export function hasEnded({ status }: PodFacts): boolean {
  if (['Succeeded', 'Failed'].includes(status?.phase ?? '')) return true
  const states = status?.containerStatuses ?? []
  return states.length > 0 && states.every(({ state }) => state?.terminated !== undefined)
}

export function explainPod(pod: PodFacts | undefined, events: readonly JobEvent[] = []): Explanation | undefined {
  if (!pod) return explainRefusal(events)
  return hasEnded(pod) ? explainEnd(pod) : explainWait(pod)
}

/** No pod at all: the quota, a policy or a webhook refuses it. */
function explainRefusal(events: readonly JobEvent[]): Explanation | undefined {
  const refusal = events.findLast(({ reason }) => reason === 'FailedCreate')
  if (!refusal) return undefined
  const message = short(refusal.message)
  if (/exceeded quota/i.test(message)) {
    return waits('capacity', 'CAPT_RUN_QUOTA_EXCEEDED', 600, `the quota refuses the pod of the run: ${message}`, {
      hint: 'raise the ResourceQuota of the namespace of the runs, or let other runs end',
    })
  }
  return waits('dependency', 'CAPT_RUN_REFUSED', 300, `the pod of the run is refused: ${message}`, {
    hint: 'change the policy or the webhook that refuses it, or the --run options of the manager',
  })
}

function explainEnd({ spec, status, metadata }: PodFacts): Explanation | undefined {
  const ended = status?.containerStatuses?.[0]?.state?.terminated
  const disruption = status?.conditions?.find(({ type, status: is }) => type === 'DisruptionTarget' && is === 'True')
  const reason = disruption?.reason ?? status?.reason ?? ''
  const cause = short(disruption?.message ?? status?.message)
  const where = spec?.nodeName === undefined ? '' : ` on node ${spec.nodeName}`
  const next = 'the next attempt goes on from the saved state; look at status.suspects'
  if (ended?.reason === 'OOMKilled') {
    return {
      fault: {
        kind: 'memory',
        code: 'CAPT_RUN_OUT_OF_MEMORY',
        message: `the runner ran out of memory and was killed (pod ${metadata.name})`,
        hint: 'raise the memory of the runs (--run-memory), or lower -parallelism in applyArgs',
      },
    }
  }
  if (NODE_GONE.has(reason)) {
    const message = `the node of the runner is gone${where}${cause === '' ? '' : `: ${cause}`}`
    return { fault: { kind: 'lost', code: 'CAPT_RUN_NODE_LOST', message, hint: next } }
  }
  if (reason === 'Evicted' || disruption) {
    const message = `the runner was evicted${where}${cause === '' ? ` (${reason})` : `: ${cause}`}`
    const hint = /ephemeral/i.test(cause) ? 'raise the ephemeral storage of the runs (--run-storage)' : next
    return { fault: { kind: 'lost', code: 'CAPT_RUN_EVICTED', message, hint } }
  }
  if (ended === undefined || ended.exitCode === 0) return undefined
  const lines = ended.message?.trim().split('\n') ?? []
  const last = short(lines.findLast((line) => !/^\s*hint\b/.test(line)))
  return {
    fault: {
      kind: 'lost',
      code: 'CAPT_RUN_POD_FAILED',
      message: `the runner ended with exit code ${ended.exitCode}${last === '' ? '' : `: ${last}`}`,
      hint: next,
    },
  }
}

function explainWait({ status }: PodFacts): Explanation | undefined {
  const waiting = status?.containerStatuses?.[0]?.state?.waiting
  const reason = waiting?.reason ?? ''
  if (IMAGE.has(reason)) {
    const message = `the image of the runner cannot be pulled: ${short(waiting?.message ?? reason)}`
    return waits('dependency', 'CAPT_RUN_IMAGE_UNAVAILABLE', 600, message, {
      hint: 'check --runner-image, the registry and the imagePullSecrets of the account of the runs',
    })
  }
  if (CONFIG.has(reason)) {
    const message = `the container of the runner cannot be made: ${short(waiting?.message ?? reason)}`
    return waits('dependency', 'CAPT_RUN_REFUSED', 300, message, {
      hint: 'check the --run options of the manager and the account of the runs',
    })
  }
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') {
    const message = `no node takes the pod of the run: ${short(scheduled.message)}`
    return waits('capacity', 'CAPT_RUN_UNSCHEDULABLE', 900, message, {
      hint: 'add nodes, or lower what a run asks for (--run-memory, --run-storage)',
    })
  }
  return undefined
}

function waits(
  kind: RunFault['kind'],
  code: string,
  patienceSeconds: number,
  message: string,
  { hint }: { readonly hint: string },
): Explanation {
  return { fault: { kind, code, message, hint }, patienceSeconds }
}

/** Messages of others: one line, bounded, without secrets. */
const short = (text = ''): string => redact(text.replace(/\s+/g, ' ').slice(0, 300))
