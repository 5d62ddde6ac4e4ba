// What a cache keeps of an object. managedFields and kubectl's last-applied are half of what a server sends and nobody
// reads them here; words that thousands of objects share are kept once.
import type { AnyObject } from '#api'
import { isPlainObject } from '#lib'
import type { InformerOptions, Projected } from './port.ts'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

export type Project = (object: AnyObject) => Projected<AnyObject>

/** Takes the object over: what it keeps may be changed in place, so hand it nothing that somebody else holds. */
export function createProjection(project: InformerOptions['project'], words: Words = sharedWords): Project {
  return (object) => shareWords(project ? project(strip(object)) : strip(object), words) as Projected<AnyObject>
}

function strip(object: AnyObject): AnyObject {
  const { managedFields: _fields, annotations, ...metadata } = object.metadata
  if (!annotations) return { ...object, metadata }
  const { [LAST_APPLIED]: _applied, ...kept } = annotations
  return { ...object, metadata: Object.keys(kept).length > 0 ? { ...metadata, annotations: kept } : metadata }
}

export interface Words {
  share(text: string): string
}

/** A bounded pool of strings; when it is full it starts anew, which only costs some sharing. */
export function createWords(limit = 8_192, longest = 256): Words {
  const pool = new Map<string, string>()
  return {
    share(text) {
      if (text.length > longest) return text
      const known = pool.get(text)
      if (known !== undefined) return known
      if (pool.size >= limit) pool.clear()
      pool.set(text, text)
      return text
    },
  }
}

const sharedWords = createWords()

const CONDITION_WORDS = ['type', 'status', 'reason', 'message', 'severity', 'lastTransitionTime'] as const
const OWNER_WORDS = ['apiVersion', 'kind'] as const

// In place: a copy per object would undo the saving.
function shareWords(object: AnyObject, words: Words): AnyObject {
  const root = object as unknown as Record<string, unknown>
  shareIn(root, ['apiVersion', 'kind'], words)
  const metadata = root['metadata'] as Record<string, unknown>
  shareIn(metadata, ['namespace'], words)
  if (isPlainObject(metadata['labels'])) shareIn(metadata['labels'], Object.keys(metadata['labels']), words)
  for (const owner of listOf(metadata['ownerReferences'])) shareIn(owner, OWNER_WORDS, words)
  if (Array.isArray(metadata['finalizers'])) {
    metadata['finalizers'] = metadata['finalizers'].map((text) => (typeof text === 'string' ? words.share(text) : text))
  }
  const status = root['status']
  if (isPlainObject(status)) for (const item of listOf(status['conditions'])) shareIn(item, CONDITION_WORDS, words)
  return object
}

function shareIn(record: Record<string, unknown>, fields: readonly string[], words: Words): void {
  for (const field of fields) {
    const value = record[field]
    if (typeof value === 'string') record[field] = words.share(value)
  }
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : []
}
