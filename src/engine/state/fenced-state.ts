// Saves the state so that a runner which lost its lock cannot overwrite what its successor wrote: every write names the
// version it replaces, and a refused write goes on only while the lock is still held and nobody else changed the data.
import { type Lease, LeaseKind, type Secret, SecretKind } from '#api'
import { ignore, isKubeError, type Objects } from '#kube'
import { CaptError, sha256 } from '#lib'
import { KEPT_ANNOTATION, leaseKey, stateName, suffixOf, WRITER_ANNOTATION } from '../names.ts'
import type { Owner } from '../owner.ts'
import { DATA_KEY, deleteHeld, toChunks, toStateSecret } from './state-secrets.ts'
import { observeState, type PartRef, type StateCopy, stateMetadata, toPartRef } from './state-store.ts'

interface Fence {
  /** The run that holds the lock. */
  readonly runId: string
  /** What a lost record is rebuilt from, as text. */
  readonly kept: string
}

const ATTEMPTS = 10

/** Throws CAPT_STATE_FENCED when another run holds the lock or wrote meanwhile; what it wrote is left alone. */
export async function saveFenced(
  objects: Objects,
  owner: Owner,
  text: string,
  before: readonly PartRef[],
  fence: Fence,
): Promise<readonly PartRef[]> {
  const written: PartRef[] = []
  for (const [part, chunk] of toChunks(text).entries()) {
    written.push(await writePart(objects, owner, part, chunk, before[part], fence))
  }
  for (let part = written.length; part < before.length; part++) {
    await deleteHeld(objects, SecretKind, { namespace: owner.namespace, name: stateName(suffixOf(owner), part) })
  }
  return written
}

async function writePart(
  objects: Objects,
  owner: Owner,
  part: number,
  chunk: Buffer,
  before: PartRef | undefined,
  fence: Fence,
): Promise<PartRef> {
  const metadata = stateMetadata(owner, part)
  const key = { namespace: owner.namespace, name: metadata.name }
  const secret = toStateSecret(
    { ...metadata, annotations: { ...metadata.annotations, [KEPT_ANNOTATION]: fence.kept } },
    chunk,
  )
  let known = before?.version ? before : undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      const made = known
        ? await objects.patch<Secret>(SecretKind, key, { type: 'merge', body: toPatch(secret, known) })
        : await objects.create<Secret>(SecretKind, secret)
      return toPartRef(made, owner)
    } catch (error) {
      if (!isKubeError(error, 'Conflict', 'AlreadyExists', 'NotFound')) throw error
      if (isKubeError(error, 'NotFound') && !known) throw error
    }
    const now = await objects.get<Secret>(SecretKind, key)
    const found = now && toPartRef(now, owner)
    const decision = decideRefused({
      part,
      ours: sha256(secret.data?.[DATA_KEY] ?? ''),
      known: known?.digest,
      found: found?.digest,
      isHeld: await isHeld(objects, owner, fence.runId),
    })
    if (decision === 'fenced') throw fenced(owner)
    if (decision === 'written') return found!
    known = found
  }
  throw new CaptError('CAPT_CONTENDED', `Secret ${key.namespace}/${key.name} keeps changing`, {
    hint: 'the next attempt tries again',
  })
}

const EMPTY = sha256('')

/** Why a write was refused, by digests of the data: ours is there (the answer was lost), only metadata changed, or theirs is. */
export function decideRefused(seen: {
  readonly part: number
  readonly ours: string
  readonly known: string | undefined
  readonly found: string | undefined
  readonly isHeld: boolean
}): 'written' | 'again' | 'fenced' {
  const { part, ours, known, found, isHeld: held } = seen
  if (!held) return 'fenced'
  if (found === ours) return 'written'
  if (found === undefined || found === known || found === EMPTY) return 'again'
  // Left over from a larger state: the writer of the first part owns the others.
  return part > 0 && known === undefined ? 'again' : 'fenced'
}

/** A Lease that is not there is held by nobody else: none can be made in a namespace that is going. */
async function isHeld(objects: Objects, owner: Owner, runId: string): Promise<boolean> {
  const lease = await objects.get<Lease>(LeaseKind, leaseKey(owner))
  return lease === undefined || lease.spec?.holderIdentity === runId
}

export function fenced({ namespace, name }: Owner): CaptError {
  return new CaptError('CAPT_STATE_FENCED', `another run works on the state of ${namespace}/${name} by now`, {
    hint: `what this run made is in a copy beside the state: capt state list ${name} shows it`,
  })
}

function toPatch({ metadata, data }: Secret, { version, isHeld: held }: PartRef) {
  const { labels, annotations, finalizers, ownerReferences } = metadata
  return {
    metadata: { resourceVersion: version, labels, annotations, ...(held ? {} : { finalizers, ownerReferences }) },
    data,
  }
}

/**
 * After a runner was lost it may still be alive behind a partition: the state is marked, so that its next write is refused.
 * Returns the state as it is from then on.
 */
export async function takeOverState(objects: Objects, owner: Owner, runId: string): Promise<StateCopy> {
  const { parts } = await observeState(objects, owner)
  const suffix = suffixOf(owner)
  const body = { metadata: { annotations: { [WRITER_ANNOTATION]: runId } } }
  for (const [part, { version }] of parts.entries()) {
    if (!version) continue
    await objects.patch(
      SecretKind,
      { namespace: owner.namespace, name: stateName(suffix, part) },
      { type: 'merge', body },
    )
  }
  if (parts.length === 0) await createMark(objects, owner, runId)
  return observeState(objects, owner)
}

/** Without data it is no state: it only takes the name, which a late first save would use. */
async function createMark(objects: Objects, owner: Owner, runId: string): Promise<void> {
  const metadata = stateMetadata(owner, 0)
  const annotations = { ...metadata.annotations, [WRITER_ANNOTATION]: runId }
  const mark: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, annotations }, type: 'Opaque' }
  // A namespace that is going takes no new Secrets, neither ours nor theirs.
  await objects.create<Secret>(SecretKind, mark).catch(ignore('AlreadyExists', 'NamespaceTerminating'))
}
