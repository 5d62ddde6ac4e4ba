// What Kubernetes knows of the Job of a run: whether it is there, what its pod does, and why it does not start. Also takes
// away what belongs to a run that is over, and what belongs to a workspace that is forgotten.
import {
  type AnyObject,
  CoreEventKind,
  JobKind,
  PodKind,
  RoleBindingKind,
  RoleKind,
  SecretKind,
  ServiceAccountKind,
} from '#api'
import { ignore, type Objects } from '#kube'
import { ALL_SLOTS, slotName, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import type { JobRef, Run } from '../record/record.ts'
import { deleteHeld } from '../state/state-secrets.ts'
import type { ObjectKey } from '../workspace.ts'
import { type Explanation, explainPod, hasEnded, type JobEvent, type PodFacts } from './explain-pod.ts'
import { identityName, ROLES_ANNOTATION } from './render-identity.ts'
import { RUN_LABEL } from './render-job.ts'

interface JobFacts extends AnyObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

interface ObservedJob {
  readonly is: 'missing' | 'active' | 'ended'
  readonly explanation?: Explanation | undefined
  /** Since when it could have started, by the server's clock. */
  readonly createdAt?: string | undefined
}

export async function observeJob(objects: Objects, ref: JobRef, runId: string): Promise<ObservedJob> {
  const job = await objects.get<JobFacts>(JobKind, ref)
  if (!job) return { is: 'missing' }
  const createdAt = job.metadata.creationTimestamp
  const isOver = job.status?.conditions?.some(
    ({ type, status }) => ['Complete', 'Failed'].includes(type) && status === 'True',
  )
  const selection = { namespace: ref.namespace, labelSelector: `${RUN_LABEL}=${runId}` }
  const all = await Array.fromAsync(objects.list<AnyObject & PodFacts>(PodKind, selection))
  const pods = all.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid))
  const pod = pods.find((one) => !hasEnded(one)) ?? pods[0]
  const explanation = explainPod(pod, pod ? [] : await eventsOf(objects, job))
  // The controller of Jobs notices the end of a pod a little later than we do.
  const hasPodsEnded = pods.length > 0 && pods.every(hasEnded)
  return { is: isOver || hasPodsEnded ? 'ended' : 'active', explanation, createdAt }
}

async function eventsOf(objects: Objects, { metadata }: AnyObject): Promise<readonly JobEvent[]> {
  const selection = { namespace: metadata.namespace, fieldSelector: `involvedObject.uid=${metadata.uid ?? ''}` }
  const events = Array.fromAsync(objects.list<AnyObject & JobEvent>(CoreEventKind, selection))
  // Without the right to read them the cause has no name; the run is bounded all the same.
  return (await events.catch(ignore('Forbidden'))) ?? []
}

/** Why the pod that claimed the run has ended. */
export async function explainRunner(objects: Objects, { runner }: Run): Promise<Explanation | undefined> {
  const pod = await runnerPod(objects, runner)
  return pod && hasEnded(pod) ? explainPod(pod) : undefined
}

/** Whether the pod that claimed the run is still there: it holds its lock until it has ended. */
export async function isRunnerThere(objects: Objects, { runner }: Run): Promise<boolean> {
  const pod = await runnerPod(objects, runner)
  return pod !== undefined && !hasEnded(pod)
}

async function runnerPod(objects: Objects, runner: Run['runner']): Promise<PodFacts | undefined> {
  if (!runner?.pod) return undefined
  const { namespace, name, uid } = runner.pod
  const found = await objects.get<AnyObject & PodFacts>(PodKind, { namespace, name })
  return found?.metadata.uid === uid ? found : undefined
}

/** Of a run that is over, with the copies of its credentials. */
export async function deleteJob(objects: Objects, ref: JobRef): Promise<void> {
  await objects.delete(SecretKind, ref)
  await stopJob(objects, ref)
}

/** The pod gets Terraform's grace period, and keeps its Secret: it saves the state before it ends. */
export async function stopJob(objects: Objects, ref: JobRef): Promise<void> {
  await objects.delete(JobKind, ref, { propagation: 'Background' })
}

/** The account, its roles, and slots that no record names. */
export async function forgetIdentity(objects: Objects, owner: Owner, runNamespace: string): Promise<void> {
  const suffix = suffixOf(owner)
  const name = identityName(suffix)
  const account = await objects.get<AnyObject>(ServiceAccountKind, { namespace: runNamespace, name })
  // No run of this engine was ever started.
  if (!account) return
  await Promise.all(
    ALL_SLOTS.map((slot) => deleteSlot(objects, { namespace: owner.namespace, name: slotName(suffix, slot) })),
  )
  await removeIdentity(objects, owner, account)
}

/** The account and its roles. */
export async function removeIdentity(objects: Objects, key: ObjectKey, account: AnyObject): Promise<void> {
  const { namespace: home = '', name, annotations } = account.metadata
  const others = (annotations?.[ROLES_ANNOTATION] ?? '').split(',').filter(Boolean)
  for (const namespace of [key.namespace, ...others]) {
    for (const kind of [RoleBindingKind, RoleKind]) await deleteHeld(objects, kind, { namespace, name })
  }
  // Deleted last, so that an interrupted removal can be resumed.
  await objects.delete(ServiceAccountKind, { namespace: home, name })
}

async function deleteSlot(objects: Objects, key: ObjectKey): Promise<void> {
  if (await objects.get(SecretKind, key)) await deleteHeld(objects, SecretKind, key)
}
