// Reads the probe pod of a stage. Sends no request when no verification is requested or one is recorded.
import { type AddonStage, type AnyObject, findCondition, NodeKind, PodKind, type StageStatus } from '#api'
import type { Objects } from '#kube'
import { isWorking } from '../health/finding.ts'
import { CONTENT_ANNOTATION, MANAGED_LABEL } from '../names.ts'
import type { ObservedPart } from '../observed.ts'
import { typeOf } from '../stages/registry.ts'
import type { Rendered } from '../stages/render/rendered.ts'
import { probeKey, renderProbePod } from './probe.ts'

export interface ProbePod {
  readonly isOurs: boolean
  /** As it would be made now: the same content of the stage, the same image. */
  readonly isCurrent: boolean
  readonly isDeleting: boolean
  readonly createdAt: string | undefined
  readonly state:
    | { readonly is: 'pending' | 'failed'; readonly message: string }
    | { readonly is: 'ran'; readonly evidence: string }
}

export interface ObservedProbe {
  /** The pod to create; undefined when no verification is requested any more and a leftover pod is to be deleted. */
  readonly wanted: AnyObject | undefined
  readonly pod: ProbePod | undefined
}

/** Undefined when there is no probe to observe. */
export async function observeProbe(
  objects: Objects,
  stage: AddonStage,
  rendered: Rendered,
  parts: readonly ObservedPart[],
  before: StageStatus | undefined,
): Promise<ObservedProbe | undefined> {
  const record = before?.verification
  const isOpen = record !== undefined && record.endedAt === undefined
  if (!isOpen && !typeOf(stage).verification?.(stage)) return undefined
  const isProven = rendered.is === 'ready' && record?.contentHash === rendered.hash && !isOpen
  if (isProven || !parts.every(isHealthy)) return undefined
  const wanted = renderProbePod(stage, rendered)
  const pod = await objects.get<Pod>(PodKind, probeKey(stage.name))
  return { wanted, pod: pod ? await describe(objects, pod, wanted) : undefined }
}

function isHealthy({ isWritten, rows, findings }: ObservedPart): boolean {
  if (!isWritten || !rows.every((row) => row.equal)) return false
  return findings?.every(isWorking) ?? false
}

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: { readonly reason?: string; readonly exitCode?: number }
}

interface Pod extends AnyObject {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    readonly conditions?: unknown
    readonly containerStatuses?: readonly { readonly state?: ContainerState }[]
  }
}

async function describe(objects: Objects, pod: Pod, wanted: AnyObject | undefined): Promise<ProbePod> {
  const { metadata } = pod
  const hash = metadata.annotations?.[CONTENT_ANNOTATION]
  return {
    isOurs: metadata.labels?.[MANAGED_LABEL] === 'true',
    isCurrent: hash !== undefined && hash === wanted?.metadata.annotations?.[CONTENT_ANNOTATION],
    isDeleting: metadata.deletionTimestamp !== undefined,
    createdAt: metadata.creationTimestamp,
    state: await podStateOf(objects, pod),
  }
}

async function podStateOf(objects: Objects, pod: Pod): Promise<ProbePod['state']> {
  const { phase, reason, message } = pod.status ?? {}
  const { nodeName } = pod.spec ?? {}
  const state = pod.status?.containerStatuses?.[0]?.state
  // A manager that restarts late finds a pod past its deadline: it ran all the same.
  const hasRun = reason === 'DeadlineExceeded' && state?.terminated !== undefined
  if (nodeName !== undefined && (phase === 'Running' || phase === 'Succeeded' || hasRun))
    return { is: 'ran', evidence: `probe pod ran on node ${await nameNode(objects, nodeName)}` }
  if (phase === 'Failed') {
    const { terminated } = state ?? {}
    const why = reason ?? terminated?.reason ?? 'Failed'
    const more = message ?? (terminated?.exitCode === undefined ? '' : `exit code ${terminated.exitCode}`)
    const where = nodeName === undefined ? '' : ` on node ${nodeName}`
    return { is: 'failed', message: `the probe pod failed${where}: ${join(why, more)}` }
  }
  const scheduled = findCondition(pod.status?.conditions, 'PodScheduled')
  if (nodeName === undefined)
    return {
      is: 'pending',
      message:
        scheduled?.status === 'False'
          ? `PodScheduled=False ${join(scheduled.reason, scheduled.message)}`
          : 'no scheduler has looked at the probe pod',
    }
  const wait = join(state?.waiting?.reason ?? 'ContainerCreating', state?.waiting?.message)
  return { is: 'pending', message: `the probe pod does not start on node ${nodeName}: ${wait}` }
}

const join = (reason = '', message = '') => (message === '' ? reason : `${reason}: ${message}`)

async function nameNode(objects: Objects, name: string): Promise<string> {
  const node = await objects.get<AnyObject>(NodeKind, { name })
  const type = node?.metadata.labels?.['node.kubernetes.io/instance-type']
  return type ? `${name} (${type})` : name
}
