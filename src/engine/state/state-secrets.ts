// The Secrets that states lie in: packed, cut into chunks, held by our finalizer until we release them.
import { gunzipSync, gzipSync } from 'node:zlib'
import { type AnyObject, type KindRef, type Secret, SecretKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import { CaptError } from '#lib'
import { KEEP_FINALIZER, STATE_PARTS } from '../names.ts'
import type { ObjectKey } from '../workspace.ts'

export const DATA_KEY = 'tfstate'
/** A Secret holds 1 MiB at most; base64 and metadata must fit into one request too. */
const CHUNK_BYTES = 900 * 1024

let packed: { readonly text: string; readonly chunks: readonly Buffer[] } | undefined

/** A state is saved ten times a second while it grows: packed once each time, and lightly. */
export function toChunks(text: string): readonly Buffer[] {
  if (packed?.text === text) return packed.chunks
  const bytes = gzipSync(text, { level: 1 })
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES))
  packed = { text, chunks }
  return chunks
}

const toMiB = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)

/** A run in a Job may write so many parts as its role names. `text`: the state, where it is known. */
export function stateTooLarge(text?: string): CaptError {
  const most = toMiB(STATE_PARTS * CHUNK_BYTES)
  const bytes = text === undefined ? undefined : toChunks(text).reduce((sum, { length }) => sum + length, 0)
  const message =
    bytes === undefined
      ? `the state takes more than ${most} MiB packed`
      : `the state takes ${toMiB(bytes)} MiB packed; a run in a Job saves ${most} MiB`
  return new CaptError('CAPT_STATE_TOO_LARGE', message, {
    hint: 'what it has is in a copy beside it, see capt state list; divide the module into several applies, or use the engine local',
  })
}

type Found = { readonly is: 'absent' | 'cut' } | { readonly is: 'whole'; readonly text: string; readonly parts: number }

/** Chunks are read until they make a whole; annotations cannot be trusted, because Terraform keeps them as they are. */
export async function readChunks(
  objects: Objects,
  namespace: string,
  nameOf: (part: number) => string,
): Promise<Found> {
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

export async function putStateSecret(objects: Objects, metadata: Secret['metadata'], chunk: Buffer): Promise<void> {
  await objects.apply(SecretKind, toStateSecret(metadata, chunk))
}

export function toStateSecret(metadata: Secret['metadata'], chunk: Buffer): Secret {
  const data = { [DATA_KEY]: chunk.toString('base64') }
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }
}

/** Removes our hold, then the object; forgives one that is gone. */
export async function deleteHeld(objects: Objects, kind: KindRef, key: ObjectKey): Promise<void> {
  await removeFinalizer(objects, kind, key)
  await objects.delete(kind, key)
}

export async function removeFinalizer(objects: Objects, kind: KindRef, key: ObjectKey): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const held = await objects.get<AnyObject>(kind, key)
    const { finalizers = [], resourceVersion } = held?.metadata ?? {}
    if (!finalizers.includes(KEEP_FINALIZER)) return
    const left = finalizers.filter((one) => one !== KEEP_FINALIZER)
    const body = { metadata: { resourceVersion, finalizers: left.length > 0 ? left : null } }
    try {
      await objects.patch(kind, key, { type: 'merge', body })
      return
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }
  throw new CaptError('CAPT_CONTENDED', `${kind.kind} ${key.namespace}/${key.name} keeps changing`, {
    hint: 'the next attempt tries again',
  })
}
