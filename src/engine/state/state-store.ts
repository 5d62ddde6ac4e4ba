// The saved state: Secrets in the layout of Terraform's own kubernetes backend, so that terraform by hand reads it.
// A chunked write is not atomic, so a whole copy of the new state lies beside it before the old one is touched.
import { gunzipSync, gzipSync } from 'node:zlib'
import { type Secret, SecretKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError, sha256 } from '#lib'
import { backupName, KEEP_FINALIZER, stateName, suffixOf } from '../names.ts'
import { keptMetadata, type Owner } from '../owner.ts'
import type { ObjectKey } from '../workspace.ts'
import { readState } from './state-file.ts'

const DATA_KEY = 'tfstate'
/** A Secret holds 1 MiB at most; base64 and metadata must fit into one request too. */
export const CHUNK_BYTES = 900 * 1024

/** The labels by which the backend finds state. Its `labels` option would change them and hide the state. */
export function backendLabels(suffix: string): Readonly<Record<string, string>> {
  return {
    tfstate: 'true',
    tfstateSecretSuffix: suffix,
    tfstateWorkspace: 'default',
    'app.kubernetes.io/managed-by': 'terraform',
  }
}

/** Undefined when no state was ever saved. Throws when what is there cannot be read and no whole copy exists. */
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
    const copy = await loadBackup(objects, key, backup.serial)
    if (copy !== undefined) return copy
  }
  throw new CaptError('CAPT_STATE_UNREADABLE', `the saved state in Secret ${stateName(suffix)} is cut or damaged`, {
    hint: `capt state list ${key.name} shows the copies; capt state restore puts one back`,
  })
}

/** A saved state as it was found; without text when none was ever saved. */
export interface StateCopy {
  readonly text?: string
  readonly parts: number
}

/** More than this is left to whoever needs it: what is only glanced at must not fill a memory. */
const GLANCE_BYTES = 128 * 1024

/** A look at the saved state in one request; undefined when that does not show a whole, small one. */
export async function glanceAtState(objects: Objects, key: ObjectKey): Promise<StateCopy | undefined> {
  const secret = await objects.get<Secret>(SecretKind, { namespace: key.namespace, name: stateName(suffixOf(key)) })
  if (!secret) return { parts: 0 }
  const data = secret.data?.[DATA_KEY] ?? ''
  if (data.length > GLANCE_BYTES) return undefined
  try {
    const text = gunzipSync(Buffer.from(data, 'base64')).toString('utf8')
    return readState(text) ? { text, parts: 1 } : undefined
  } catch {
    return undefined
  }
}

export async function loadBackup(objects: Objects, key: ObjectKey, serial: number): Promise<string | undefined> {
  const found = await readChunks(objects, key.namespace, (part) => backupName(suffixOf(key), serial, part))
  return found.is === 'whole' && readState(found.text) ? found.text : undefined
}

export interface BackupRef {
  readonly serial: number
  readonly parts: number
  readonly savedAt: string
  readonly resources: number
}

/** A copy under its own name; it is not what Terraform's backend reads. */
export async function saveBackup(objects: Objects, owner: Owner, text: string, savedAt: string): Promise<BackupRef> {
  const { serial, addresses } = readState(text)!
  const chunks = toChunks(text)
  for (const [part, chunk] of chunks.entries()) {
    const metadata = keptMetadata(owner, backupName(suffixOf(owner), serial, part), 'backup')
    await putSecret(objects, metadata, chunk)
  }
  return { serial, parts: chunks.length, savedAt, resources: addresses.length }
}

export async function deleteBackup(objects: Objects, owner: ObjectKey, backup: BackupRef): Promise<void> {
  for (let part = 0; part < backup.parts; part++) {
    await letGo(objects, { namespace: owner.namespace, name: backupName(suffixOf(owner), backup.serial, part) })
  }
}

/** Writes the state; it must be whole. `previousParts` tells how many chunks lie there now. */
export async function saveState(objects: Objects, owner: Owner, text: string, previousParts: number): Promise<number> {
  const suffix = suffixOf(owner)
  const chunks = toChunks(text)
  for (const [part, chunk] of chunks.entries()) {
    await putSecret(objects, stateMetadata(owner, part), chunk)
  }
  for (let part = chunks.length; part < previousParts; part++) {
    await letGo(objects, { namespace: owner.namespace, name: stateName(suffix, part) })
  }
  return chunks.length
}

/** Saves the first state of a workspace of which none is known. False when there is one after all: nothing is touched then. */
export async function saveFirstState(objects: Objects, owner: Owner, text: string): Promise<boolean> {
  const [chunk, ...more] = toChunks(text)
  if (!chunk || more.length > 0) return false
  try {
    await objects.create<Secret>(SecretKind, toSecret(stateMetadata(owner, 0), chunk))
    return true
  } catch (error) {
    if (isKubeError(error, 'AlreadyExists')) return false
    throw error
  }
}

function stateMetadata(owner: Owner, part: number): Secret['metadata'] {
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

/** Takes the saved state away, or lets go of it so that it outlives the apply. */
export async function releaseState(objects: Objects, key: ObjectKey, keep: boolean): Promise<void> {
  const suffix = suffixOf(key)
  for (let part = 0; ; part++) {
    const name = stateName(suffix, part)
    const secret = await objects.get<Secret>(SecretKind, { namespace: key.namespace, name })
    if (!secret) return
    if (keep) await disown(objects, secret)
    else await letGo(objects, { namespace: key.namespace, name })
  }
}

export function chunksOf(text: string): number {
  return toChunks(text).length
}

let packed: { readonly text: string; readonly chunks: readonly Buffer[] } | undefined

/** A state is saved ten times a second while it grows: packed once each time, and lightly. */
function toChunks(text: string): readonly Buffer[] {
  if (packed?.text === text) return packed.chunks
  const bytes = gzipSync(text, { level: 1 })
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES))
  packed = { text, chunks }
  return chunks
}

type Found = { readonly is: 'absent' | 'cut' } | { readonly is: 'whole'; readonly text: string; readonly parts: number }

/** Chunks are read until they make a whole; annotations cannot be trusted, because Terraform keeps them as they are. */
async function readChunks(objects: Objects, namespace: string, nameOf: (part: number) => string): Promise<Found> {
  const chunks: Buffer[] = []
  for (;;) {
    const secret = await objects.get<Secret>(SecretKind, { namespace, name: nameOf(chunks.length) })
    const data = secret?.data?.[DATA_KEY]
    if (data === undefined) return { is: chunks.length === 0 ? 'absent' : 'cut' }
    chunks.push(Buffer.from(data, 'base64'))
    try {
      return { is: 'whole', text: gunzipSync(Buffer.concat(chunks)).toString('utf8'), parts: chunks.length }
    } catch (error) {
      if ((error as { code?: string }).code !== 'Z_BUF_ERROR') return { is: 'cut' }
    }
  }
}

/** How many chunks the saved state has now. */
export async function countChunks(objects: Objects, key: ObjectKey): Promise<number> {
  const found = await readChunks(objects, key.namespace, (part) => stateName(suffixOf(key), part))
  return found.is === 'whole' ? found.parts : 0
}

async function putSecret(objects: Objects, metadata: Secret['metadata'], chunk: Buffer): Promise<void> {
  await objects.apply(SecretKind, toSecret(metadata, chunk))
}

function toSecret(metadata: Secret['metadata'], chunk: Buffer): Secret {
  const data = { [DATA_KEY]: chunk.toString('base64') }
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }
}

/** Removes our hold, then the object; forgives one that is gone. */
export async function letGo(objects: Objects, key: ObjectKey): Promise<void> {
  await removeHold(objects, key)
  await objects.delete(SecretKind, key)
}

export async function removeHold(objects: Objects, key: ObjectKey): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const secret = await objects.get<Secret>(SecretKind, key)
    const { finalizers = [], resourceVersion } = secret?.metadata ?? {}
    if (!finalizers.includes(KEEP_FINALIZER)) return
    const left = finalizers.filter((one) => one !== KEEP_FINALIZER)
    const body = { metadata: { resourceVersion, finalizers: left.length > 0 ? left : null } }
    try {
      await objects.patch(SecretKind, key, { type: 'merge', body })
      return
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }
  throw new CaptError('CAPT_CONTENDED', `Secret ${key.namespace}/${key.name} keeps changing`, {
    hint: 'the next attempt tries again',
  })
}

async function disown(objects: Objects, secret: Secret): Promise<void> {
  const { namespace, name, resourceVersion } = secret.metadata
  const body = { metadata: { resourceVersion, finalizers: null, ownerReferences: null } }
  await objects.patch(SecretKind, { namespace: namespace!, name }, { type: 'merge', body })
}
