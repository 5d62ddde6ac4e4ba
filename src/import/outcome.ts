// What an import makes of one object of the older project, and the editor by which a mapping records each change.
import type { ObjectMeta, UnknownObject } from '#api'
import { isPlainObject } from '#lib'

interface FieldChange {
  readonly path: string
  /** What became of the field and why, one sentence. */
  readonly what: string
}

export interface Outcome {
  /** `CaptMachineTemplate/workers`, as it was spelt. */
  readonly subject: string
  readonly is: 'kept' | 'changed' | 'dropped' | 'refused'
  readonly changes: readonly FieldChange[]
  /** Why it was dropped or refused. */
  readonly reason?: string
  /** What to do about a refusal. */
  readonly hint?: string
  /** The refusal cannot be skipped: without the object the rest must not be imported. */
  readonly isFinal?: boolean
  /** What it became. */
  readonly objects: readonly UnknownObject[]
  /** What a person must provide or check, one sentence each. */
  readonly needs: readonly string[]
}

type Fields = Record<string, unknown>

export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isPlainObject(value) ? value : {})
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
export const subjectOf = ({ kind, metadata }: Pick<UnknownObject, 'kind' | 'metadata'>): string =>
  `${kind}/${metadata.name}`

/** Metadata that people write; the rest belongs to the server or the controllers that the object comes from. */
function ownMetadata({ name, namespace, labels, annotations }: ObjectMeta): ObjectMeta {
  const kept = Object.entries(annotations ?? {}).filter(
    ([key]) => key !== 'kubectl.kubernetes.io/last-applied-configuration',
  )
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels && Object.keys(labels).length > 0 ? { labels } : {}),
    ...(kept.length > 0 ? { annotations: Object.fromEntries(kept) } : {}),
  }
}

/** A copy of an object that is changed field by field; every change has its reason. Paths are names joined by dots. */
export class Editor {
  readonly changes: FieldChange[] = []
  readonly needs: string[] = []
  readonly #original: UnknownObject
  readonly #object: Fields

  constructor(object: UnknownObject) {
    const { status: _status, metadata, ...rest } = object
    this.#original = object
    this.#object = structuredClone({ ...rest, metadata: ownMetadata(metadata) })
  }

  get(path: string): unknown {
    return path.split('.').reduce<unknown>((value, name) => fieldsOf(value)[name], this.#object)
  }

  has(path: string): boolean {
    return this.get(path) !== undefined
  }

  text(path: string): string | undefined {
    return textOf(this.get(path))
  }

  drop(path: string, why: string): void {
    if (!this.has(path)) return
    const names = path.split('.')
    delete this.#parent(names)[names.at(-1)!]
    this.changes.push({ path, what: `dropped: ${why}` })
  }

  set(path: string, value: unknown, why: string): void {
    const names = path.split('.')
    this.#parent(names)[names.at(-1)!] = value
    this.changes.push({ path, what: why })
  }

  /** Adds labels; their keys contain dots. */
  label(labels: Readonly<Record<string, string>>, why: string): void {
    const metadata = this.#object['metadata'] as Fields
    metadata['labels'] = { ...fieldsOf(metadata['labels']), ...labels }
    for (const key of Object.keys(labels)) this.changes.push({ path: `metadata.labels[${key}]`, what: why })
  }

  #parent(names: readonly string[]): Fields {
    let parent = this.#object
    for (const name of names.slice(0, -1)) {
      if (!isPlainObject(parent[name])) parent[name] = {}
      parent = parent[name] as Fields
    }
    return parent
  }

  get object(): UnknownObject {
    return this.#object as unknown as UnknownObject
  }

  done(more: readonly UnknownObject[] = []): Outcome {
    const { changes, needs } = this
    const is = changes.length === 0 && more.length === 0 ? 'kept' : 'changed'
    return { subject: subjectOf(this.#original), is, changes, needs, objects: [this.object, ...more] }
  }
}

export const kept = (object: UnknownObject): Outcome => new Editor(object).done()

export const dropped = (object: UnknownObject, reason: string, needs: readonly string[] = []): Outcome => ({
  subject: subjectOf(object),
  is: 'dropped',
  reason,
  changes: [],
  needs,
  objects: [],
})

export const refused = (object: UnknownObject, reason: string, hint: string): Outcome => ({
  subject: subjectOf(object),
  is: 'refused',
  reason,
  hint,
  changes: [],
  needs: [],
  objects: [],
})
