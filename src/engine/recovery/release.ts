// A person releases a workspace: what is recorded is listed first, then everything kept for it is deleted while the
// resources stay. Also finds what is kept for applies that are gone, because their finalizers were stripped.
import { randomUUID } from 'node:crypto'
import { type AnyObject, type Lease, LeaseKind, type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import type { Objects } from '#kube'
import { CaptError, type Clock, toTimestamp } from '#lib'
import { observeLock } from '../lock/lock.ts'
import { livenessOf } from '../lock/processes.ts'
import { checksKey, KEEP_FINALIZER, PART_LABEL, recordKey, suffixOf, WORKSPACE_LABEL } from '../names.ts'
import type { Owner } from '../owner.ts'
import { isOpen, newRecord, type RunRecord } from '../record/record.ts'
import { readIfWhole, recordTaken, writeRecord } from '../record/record-store.ts'
import { deleteBundle } from '../saved/bundle.ts'
import { deletePlan } from '../saved/plan.ts'
import { deleteCopy, loadCopy } from '../state/state-copies.ts'
import { readState } from '../state/state-file.ts'
import { deleteHeld } from '../state/state-secrets.ts'
import { observeState, releaseState } from '../state/state-store.ts'
import { forgetWorkspace } from './forget.ts'

export interface Recorded {
  /** Addresses in the state, in side copies, among the suspects and in the plan of a lost run, sorted. */
  readonly addresses: readonly string[]
  /** Resources that are counted somewhere and named nowhere. */
  readonly unnamed: number
}

/** Everything that some source recorded; `status`: resources in the status of the apply. */
export async function listRecorded(objects: Objects, owner: Owner, status = 0): Promise<Recorded> {
  const record = await readIfWhole(objects, owner)
  const state = readState((await observeState(objects, owner)).text ?? '')
  const doubtful = [...(record?.suspects ?? []), ...(record?.inFlight?.addresses ?? [])]
  const named = new Set([...(state?.addresses ?? []), ...doubtful.map(({ address }) => address)])
  const copies = [...(record?.pending ?? []), ...(record?.side ?? []), ...(state ? [] : (record?.backups ?? []))]
  for (const copy of copies)
    for (const address of readState((await loadCopy(objects, owner, copy)) ?? '')?.addresses ?? []) named.add(address)
  const counted = state ? 0 : Math.max(record?.state?.resources ?? 0, record?.expected ?? 0, record ? 0 : status)
  return { addresses: [...named].sort(), unnamed: Math.max(0, counted - named.size) }
}

/**
 * Removes what is kept and leaves the resources alone. The apply, where there is one, starts over with a record that
 * notes this; otherwise nothing is left. Refuses while a run works on it.
 */
export async function orphanResources(
  objects: Objects,
  clock: Clock,
  owner: Owner,
  { isApplyThere, resources }: { readonly isApplyThere: boolean; readonly resources: number },
): Promise<void> {
  const seen = await readSeen(objects, owner)
  await refuseWhileAtWork(objects, owner, seen?.record)
  if (!isApplyThere) {
    await forgetWorkspace(objects, owner, { keepState: false, stillUsed: await credentialsInUse(objects, owner) })
    await releaseRest(objects, owner)
    return
  }
  const record = seen?.record
  if (record?.plan) await deletePlan(objects, owner, record.plan)
  for (const bundle of [...(record?.spare ?? []), ...(record?.bundle ? [record.bundle] : [])])
    await deleteBundle(objects, owner, bundle)
  for (const copy of [...(record?.backups ?? []), ...(record?.pending ?? []), ...(record?.side ?? [])])
    await deleteCopy(objects, owner, copy)
  await releaseState(objects, owner, false)
  const forgotten = { workspaceId: record?.workspaceId ?? '', at: toTimestamp(clock.now()), resources }
  const begun = { ...newRecord(randomUUID()), forgotten, kept: record?.kept ?? [], history: record?.history ?? [] }
  if (await writeRecord(objects, owner, seen, begun)) return
  throw recordTaken(owner)
}

async function refuseWhileAtWork(objects: Objects, owner: Owner, record: RunRecord | undefined): Promise<void> {
  const lock = await observeLock(objects, owner)
  const run = record?.run
  const isRunning = isOpen(run) && livenessOf(run.runner ?? run.holder) !== 'dead'
  if (lock.is === 'free' || (lock.is === 'ours' && lock.liveness === 'dead')) {
    if (!isRunning) return
  }
  const who = lock.is === 'foreign' ? lock.who : `run ${run?.id ?? (lock.is === 'ours' ? lock.runId : '')}`
  throw new CaptError('CAPT_STATE_LOCKED', `the state of ${owner.namespace}/${owner.name} is in use by ${who}`, {
    hint: `wait for it, or stop it: capt cancel ${owner.name}; when its machine is gone: capt retry ${owner.name} --holder-is-gone`,
  })
}

/** A damaged record is replaced: the version of its Secret is all that is needed of it. */
async function readSeen(objects: Objects, owner: Owner) {
  const record = await readIfWhole(objects, owner)
  const secret = await objects.get<Secret>(SecretKind, recordKey(owner))
  if (!secret) return undefined
  return { record: record ?? newRecord(''), version: secret.metadata.resourceVersion }
}

/** Credentials that other applies of the namespace refer to stay held. */
async function credentialsInUse(objects: Objects, { namespace, name }: Owner): Promise<ReadonlySet<string>> {
  const used = new Set<string>()
  for await (const apply of objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace })) {
    const ref = apply.spec.credentialsRef
    if (apply.metadata.name !== name && ref) used.add(`${ref.namespace ?? namespace}/${ref.name}`)
  }
  return used
}

/** Whatever else has the label of the workspace: no record names it any more. */
async function releaseRest(objects: Objects, owner: Owner): Promise<void> {
  for (const { kind, object } of await keptObjects(objects, owner.namespace, suffixOf(owner)))
    await deleteHeld(objects, kind, { namespace: owner.namespace, name: object.metadata.name })
}

export interface Abandoned {
  /** Of the apply that is gone. */
  readonly name: string
  readonly kept: readonly string[]
  readonly recorded: Recorded
}

/** What is held for applies that do not exist. Lists Secrets: for people, never for a manager. */
export async function findAbandoned(objects: Objects, namespace: string): Promise<readonly Abandoned[]> {
  const alive = new Set<string>()
  for await (const { metadata } of objects.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace }))
    for (const key of [{ namespace, name: metadata.name }, checksKey({ namespace, name: metadata.name })])
      alive.add(suffixOf(key))
  const bySuffix = new Map<string, AnyObject[]>()
  for (const { object } of await keptObjects(objects, namespace)) {
    const suffix = object.metadata.labels?.[WORKSPACE_LABEL] ?? ''
    // A state that was kept on purpose has no finalizer: nothing holds it, and nobody waits for it.
    if (alive.has(suffix) || !object.metadata.finalizers?.includes(KEEP_FINALIZER)) continue
    bySuffix.set(suffix, [...(bySuffix.get(suffix) ?? []), object])
  }
  const found: Abandoned[] = []
  for (const objectsOf of bySuffix.values()) {
    const name = objectsOf.flatMap(({ metadata }) => metadata.ownerReferences ?? []).find(isApply)?.name
    if (name === undefined) continue
    const owner: Owner = { namespace, name, uid: '', ...APPLY }
    const kept = objectsOf.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort()
    found.push({ name, kept, recorded: await listRecorded(objects, owner) })
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const APPLY = { apiVersion: WorkspaceTemplateApply.apiVersion, kind: WorkspaceTemplateApply.kind }
const isApply = ({ kind }: { readonly kind: string }): boolean => kind === APPLY.kind

async function keptObjects(objects: Objects, namespace: string, suffix?: string) {
  const labelSelector = suffix === undefined ? `${WORKSPACE_LABEL},${PART_LABEL}` : `${WORKSPACE_LABEL}=${suffix}`
  const found: { readonly kind: typeof SecretKind; readonly object: AnyObject }[] = []
  // Items of a list do not say what they are.
  for (const kind of [SecretKind, LeaseKind])
    for await (const object of objects.list<Secret | Lease>(kind, { namespace, labelSelector }))
      found.push({ kind, object: { ...object, kind: kind.kind } })
  return found
}
