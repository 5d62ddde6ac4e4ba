// The saved state: Secrets in the layout of Terraform's own kubernetes backend, so that terraform by hand reads it.
// A chunked write is not atomic, so a whole copy of the new state lies beside it before the old one is touched.
import { gunzipSync } from 'node:zlib'
import { type Secret, SecretKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, sha256 } from '#lib'
import { KEEP_FINALIZER, KEPT_ANNOTATION, stateName, suffixOf, WRITER_ANNOTATION } from '../names.ts'
import { keptMetadata, type Owner } from '../owner.ts'
import type { ObjectKey } from '../workspace.ts'
import { type BackupRef, loadCopy } from './state-copies.ts'
import { readState } from './state-file.ts'
import { DATA_KEY, deleteHeld, putStateSecret, readChunks, toChunks, toStateSecret } from './state-secrets.ts'

/** The labels by which the backend finds state. Its `labels` option would change them and hide the state. */
export function backendLabels(suffix: string): Readonly<Record<string, string>> {
  return {
    tfstate: 'true',
    tfstateSecretSuffix: suffix,
    tfstateWorkspace: 'default',
    'app.kubernetes.io/managed-by': 'terraform',
  }
}

/** Undefined when no state was ever saved. Throws when what is there cannot be read and no whole copy is as new. */
export async function loadState(
  objects: Objects,
  key: ObjectKey,
  backups: readonly BackupRef[] = [],
): Promise<string | undefined> {
  const suffix = suffixOf(key)
  const found = await readChunks(objects, key.namespace, (part) => stateName(suffix, part))
  if (found.is === 'absent') return undefined
  if (found.is === 'whole' && readState(found.text)) return found.text
  for (const backup of [...backups].sort((a, b) => b.serial - a.serial)) {
    const copy = await loadCopy(objects, key, backup)
    if (copy !== undefined) return copy
  }
  throw new CaptError('CAPT_STATE_UNREADABLE', `the saved state in Secret ${stateName(suffix)} is cut or damaged`, {
    hint: `capt state list ${key.name} shows the copies; capt state restore puts one back`,
  })
}

/** One Secret of the saved state, as it was when we last read or wrote it. */
export interface PartRef {
  readonly version: string
  /** Of its data. */
  readonly digest: string
  /** It has our finalizer and belongs to the apply. */
  readonly isHeld: boolean
}

/** A saved state as it was found; without text when none was saved or when it is damaged. */
export interface StateCopy {
  readonly text?: string
  readonly isDamaged?: boolean
  readonly parts: readonly PartRef[]
  /** Value of the annotation from which a lost record is rebuilt. */
  readonly kept?: string
}

/** A larger state is not handed over, and the runner reads it itself: a handover must stay small. */
const SMALL_STATE_BYTES = 128 * 1024

/** The saved state, read in one request; undefined when that does not return a whole, small one. */
export async function readSmallState(objects: Objects, owner: Owner): Promise<StateCopy | undefined> {
  const secret = await objects.get<Secret>(SecretKind, { namespace: owner.namespace, name: stateName(suffixOf(owner)) })
  if (!secret) return { parts: [] }
  if ((secret.data?.[DATA_KEY] ?? '').length > SMALL_STATE_BYTES) return undefined
  const seen = toCopy([secret], owner)
  return seen.text === undefined ? undefined : seen
}

/** The saved state with all of its parts, whole or not. */
export async function observeState(objects: Objects, owner: Owner): Promise<StateCopy> {
  return toCopy(await readParts(objects, owner), owner)
}

/** Parts of which one in the middle is gone are found too, so that none is left behind. */
async function readParts(objects: Objects, { namespace, name }: ObjectKey): Promise<readonly (Secret | undefined)[]> {
  const suffix = suffixOf({ namespace, name })
  const parts: (Secret | undefined)[] = []
  for (let gap = 0; gap < MAX_GAP && unpack(parts) === undefined; ) {
    const secret = await objects.get<Secret>(SecretKind, { namespace, name: stateName(suffix, parts.length) })
    gap = secret ? 0 : gap + 1
    parts.push(secret)
  }
  return parts.slice(0, parts.findLastIndex((one) => one !== undefined) + 1)
}

const MAX_GAP = 2

function unpack(parts: readonly (Secret | undefined)[]): string | undefined {
  const chunks = parts.map((secret) => Buffer.from(secret?.data?.[DATA_KEY] ?? '', 'base64'))
  try {
    const text = gunzipSync(Buffer.concat(chunks)).toString('utf8')
    return readState(text) ? text : undefined
  } catch {
    return undefined
  }
}

function toCopy(parts: readonly (Secret | undefined)[], owner: Owner): StateCopy {
  const text = unpack(parts)
  const kept = parts[0]?.metadata.annotations?.[KEPT_ANNOTATION]
  const hasData = parts.some((secret) => secret?.data?.[DATA_KEY] !== undefined)
  return {
    ...(text === undefined ? {} : { text }),
    ...(text === undefined && hasData ? { isDamaged: true } : {}),
    parts: parts.map((secret) => (secret ? toPartRef(secret, owner) : MISSING_PART)),
    ...(kept === undefined ? {} : { kept }),
  }
}

/** A part that is not there: its next write makes it. */
const MISSING_PART: PartRef = { version: '', digest: '', isHeld: false }

export function toPartRef({ metadata, data }: Secret, owner: Owner): PartRef {
  const { finalizers = [], ownerReferences = [], deletionTimestamp, resourceVersion = '' } = metadata
  const isOwned = ownerReferences.some(({ uid }) => uid === owner.uid)
  return {
    version: resourceVersion,
    digest: sha256(data?.[DATA_KEY] ?? ''),
    // Nothing can be added to an object that is going.
    isHeld: deletionTimestamp !== undefined || (finalizers.includes(KEEP_FINALIZER) && isOwned),
  }
}

/** Writes the state; it must be whole. `previousParts`: how many chunks there are now. */
export async function saveState(objects: Objects, owner: Owner, text: string, previousParts: number): Promise<number> {
  const suffix = suffixOf(owner)
  const chunks = toChunks(text)
  for (const [part, chunk] of chunks.entries()) {
    await putStateSecret(objects, stateMetadata(owner, part), chunk)
  }
  for (let part = chunks.length; part < previousParts; part++) {
    await deleteHeld(objects, SecretKind, { namespace: owner.namespace, name: stateName(suffix, part) })
  }
  return chunks.length
}

/** Saves the first state of a workspace of which none is known. False when there is one after all: nothing is touched then. */
export async function saveFirstState(objects: Objects, owner: Owner, text: string): Promise<boolean> {
  const [chunk, ...more] = toChunks(text)
  if (!chunk || more.length > 0) return false
  try {
    await objects.create<Secret>(SecretKind, toStateSecret(stateMetadata(owner, 0), chunk))
    return true
  } catch (error) {
    if (isKubeError(error, 'AlreadyExists')) return false
    throw error
  }
}

export function stateMetadata(owner: Owner, part: number): Secret['metadata'] {
  const suffix = suffixOf(owner)
  const kept = keptMetadata(owner, stateName(suffix, part), 'state')
  return { ...kept, labels: { ...kept.labels, ...backendLabels(suffix) }, annotations: { encoding: 'gzip' } }
}

/** Reads back what was saved and compares it. */
export async function verifyState(objects: Objects, key: ObjectKey, text: string): Promise<void> {
  const found = await readChunks(objects, key.namespace, (part) => stateName(suffixOf(key), part))
  if (found.is === 'whole' && sha256(found.text) === sha256(text)) return
  throw new CaptError(
    'CAPT_STATE_NOT_SAVED',
    `the state read back from Secret ${stateName(suffixOf(key))} is not what was saved`,
    {
      hint: 'somebody else writes to this Secret, or the API server lost a write; the work folder still has the state',
    },
  )
}

/** Deletes the saved state, or releases it so that it outlives the apply. */
export async function releaseState(objects: Objects, key: ObjectKey, keep: boolean): Promise<void> {
  const suffix = suffixOf(key)
  const parts = await readParts(objects, key)
  for (const [part, secret] of parts.entries()) {
    if (!secret) continue
    if (keep) await disown(objects, secret)
    else await deleteHeld(objects, SecretKind, { namespace: key.namespace, name: stateName(suffix, part) })
  }
}

/** How many chunks the saved state has now. */
export async function countChunks(objects: Objects, key: ObjectKey): Promise<number> {
  const found = await readChunks(objects, key.namespace, (part) => stateName(suffixOf(key), part))
  return found.is === 'whole' ? found.parts : 0
}

async function disown(objects: Objects, secret: Secret): Promise<void> {
  const { namespace, name, resourceVersion } = secret.metadata
  // What the record referred to goes with the record.
  const annotations = { [KEPT_ANNOTATION]: null, [WRITER_ANNOTATION]: null }
  const body = { metadata: { resourceVersion, annotations, finalizers: null, ownerReferences: null } }
  await objects.patch(SecretKind, { namespace: namespace!, name }, { type: 'merge', body })
}
