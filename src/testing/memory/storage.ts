// What an API server promises about objects, in memory and without HTTP: versions, uids, generations, the status
// subresource, conflicts, finalizers and garbage collection. The memory cluster and the faulty server stand on it.
import { type AnyObject, groupKindOf, type Key, type KindRef, keyOf, keyText } from '#api'
import { type DeleteOptions, KubeError, type ListOptions, matchesLabels, type Patch, type WriteOptions } from '#kube'
import { type Clock, jsonEqual, shortHash, systemClock, toTimestamp } from '#lib'
import { applied, patched } from './patches.ts'
import {
  asVersion,
  checkPreconditions,
  type Draft,
  FIXED_METADATA,
  matchesFields,
  merged,
  normalize,
  withoutStatusAndMetadata,
} from './rules.ts'

export interface StoredEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly kind: KindRef
  readonly object: AnyObject
  readonly resourceVersion: number
}

export interface MemoryStorage {
  /** The newest resourceVersion given out. */
  readonly version: number
  get(kind: KindRef, key: Key): AnyObject | undefined
  list(kind: KindRef, options?: ListOptions): AnyObject[]
  create(kind: KindRef, object: AnyObject, options?: WriteOptions): AnyObject
  replace(kind: KindRef, object: AnyObject, options?: WriteOptions): AnyObject
  patch(kind: KindRef, key: Key, patch: Patch, options?: WriteOptions): AnyObject
  apply(kind: KindRef, object: AnyObject, options?: WriteOptions): AnyObject
  /** The object while finalizers hold it, `undefined` when it is gone. Throws NotFound. */
  delete(kind: KindRef, key: Key, options?: DeleteOptions): AnyObject | undefined
  /** As it is: status, finalizers and deletionTimestamp included; uid and version are added when missing. */
  seed(kind: KindRef, object: AnyObject): AnyObject
  onEvent(listener: (event: StoredEvent) => void): void
  /** Forgets that a kind exists: reads and writes answer KindNotServed. */
  unserve(kind: KindRef): void
  serve(kind: KindRef): void
}

export interface StorageOptions {
  readonly clock?: Clock
  /** Dependents of a deleted owner are deleted too. On by default. */
  readonly garbageCollection?: boolean
}

const WITHOUT_GENERATION = new Set(['/Secret', '/ConfigMap', '/Namespace', '/Node', 'coordination.k8s.io/Lease'])
const FOREGROUND = 'foregroundDeletion'

export function createMemoryStorage(options: StorageOptions = {}): MemoryStorage {
  const clock = options.clock ?? systemClock
  const kinds = new Map<string, { kind: KindRef; objects: Map<string, AnyObject> }>()
  const unserved = new Set<string>()
  const listeners: ((event: StoredEvent) => void)[] = []
  let version = 0
  let serial = 0

  function objectsOf(kind: KindRef): Map<string, AnyObject> {
    const id = groupKindOf(kind)
    if (unserved.has(id))
      throw new KubeError('KindNotServed', `the server does not serve ${kind.kind}`, { status: 404 })
    const known = kinds.get(id) ?? { kind, objects: new Map() }
    kinds.set(id, known)
    return known.objects
  }

  function require(kind: KindRef, key: Key): AnyObject {
    const object = objectsOf(kind).get(keyText(key))
    if (object) return object
    throw new KubeError('NotFound', `${kind.plural} "${key.name}" not found`, { status: 404 })
  }

  function emit(type: StoredEvent['type'], kind: KindRef, object: AnyObject): void {
    const event = { type, kind, object, resourceVersion: version }
    for (const listener of listeners) listener(event)
  }

  function store(kind: KindRef, draft: Draft, type: 'ADDED' | 'MODIFIED'): AnyObject {
    draft.metadata['resourceVersion'] = String(++version)
    const object = draft as unknown as AnyObject
    objectsOf(kind).set(keyText(keyOf(object)), object)
    emit(type, kind, object)
    return object
  }

  function remove(kind: KindRef, object: AnyObject): void {
    objectsOf(kind).delete(keyText(keyOf(object)))
    version++
    emit('DELETED', kind, { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } })
    if (options.garbageCollection !== false) collect(object.metadata.uid)
  }

  function* dependentsOf(uid: string | undefined) {
    for (const { kind, objects } of [...kinds.values()]) {
      for (const object of [...objects.values()]) {
        if (object.metadata.ownerReferences?.some((owner) => owner.uid === uid)) yield { kind, object }
      }
    }
  }

  function collect(uid: string | undefined): void {
    for (const { kind, object } of dependentsOf(uid)) {
      const others = object.metadata.ownerReferences!.filter((owner) => owner.uid !== uid)
      if (others.length === 0) storage.delete(kind, keyOf(object))
      else setOwners(kind, object, others)
    }
    releaseForeground()
  }

  function setOwners(kind: KindRef, object: AnyObject, owners: AnyObject['metadata']['ownerReferences']): void {
    update(kind, keyOf(object), (draft) => {
      draft.metadata['ownerReferences'] = owners
    })
  }

  /** Owners that wait for their dependents go when the last one has gone. */
  function releaseForeground(): void {
    for (const { kind, objects } of [...kinds.values()]) {
      for (const object of [...objects.values()]) {
        if (!object.metadata.deletionTimestamp || !object.metadata.finalizers?.includes(FOREGROUND)) continue
        const blocked = [...dependentsOf(object.metadata.uid)].some(({ object: dependent }) =>
          dependent.metadata.ownerReferences!.some(
            (owner) => owner.uid === object.metadata.uid && owner.blockOwnerDeletion,
          ),
        )
        if (!blocked) dropFinalizer(kind, object, FOREGROUND)
      }
    }
  }

  function dropFinalizer(kind: KindRef, object: AnyObject, finalizer: string): void {
    update(kind, keyOf(object), (draft) => {
      draft.metadata['finalizers'] = object.metadata.finalizers!.filter((name) => name !== finalizer)
    })
  }

  function update(kind: KindRef, key: Key, change: (draft: Draft) => void): AnyObject {
    const draft = structuredClone(require(kind, key)) as unknown as Draft
    change(draft)
    return finish(kind, require(kind, key), draft, {})
  }

  /** Every change of an object that exists ends here. */
  function finish(kind: KindRef, old: AnyObject, wanted: Draft, write: WriteOptions): AnyObject {
    const asked = wanted.metadata['resourceVersion']
    const isOther = wanted.metadata['uid'] !== undefined && wanted.metadata['uid'] !== old.metadata.uid
    if (isOther || (asked !== undefined && asked !== old.metadata.resourceVersion)) {
      const message = `${kind.plural} "${old.metadata.name}": the object has been modified`
      throw new KubeError('Conflict', message, { status: 409 })
    }
    const draft = normalize(kind, merged(old, wanted, write.subresource === 'status'))
    if (jsonEqual(draft, old)) return old
    const isSpecChange = !jsonEqual(withoutStatusAndMetadata(draft), withoutStatusAndMetadata(old))
    if (isSpecChange && old.metadata.generation !== undefined)
      draft.metadata['generation'] = old.metadata.generation + 1
    if (write.dryRun) return draft as unknown as AnyObject
    const object = store(kind, draft, 'MODIFIED')
    if (object.metadata.deletionTimestamp && !object.metadata.finalizers?.length) remove(kind, object)
    return object
  }

  function insert(kind: KindRef, wanted: AnyObject, write: WriteOptions): AnyObject {
    const draft = normalize(kind, structuredClone(wanted) as unknown as Draft)
    const { metadata } = draft
    if (metadata['name'] === undefined && typeof metadata['generateName'] === 'string') {
      metadata['name'] = `${metadata['generateName']}${shortHash(String(++serial), 5)}`
    }
    validate(kind, draft)
    const key = keyOf(draft as unknown as AnyObject)
    if (objectsOf(kind).has(keyText(key))) {
      throw new KubeError('AlreadyExists', `${kind.plural} "${key.name}" already exists`, { status: 409 })
    }
    for (const field of [...FIXED_METADATA, 'resourceVersion']) delete metadata[field]
    metadata['uid'] = newUid()
    metadata['creationTimestamp'] = toTimestamp(clock.now())
    if (!WITHOUT_GENERATION.has(groupKindOf(kind))) metadata['generation'] = 1
    delete draft['status']
    return write.dryRun ? (draft as unknown as AnyObject) : store(kind, draft, 'ADDED')
  }

  function validate(kind: KindRef, { metadata }: Draft): void {
    const invalid = (problem: string) => new KubeError('Invalid', `${kind.kind}: ${problem}`, { status: 422 })
    if (typeof metadata['name'] !== 'string' || metadata['name'] === '') throw invalid('metadata.name: Required value')
    if (kind.namespaced && !metadata['namespace']) throw invalid('metadata.namespace: Required value')
    if (metadata['resourceVersion']) throw invalid('metadata.resourceVersion: must not be set on create')
    const namespace = kinds.get('/Namespace')?.objects.get(String(metadata['namespace']))
    if (!namespace?.metadata.deletionTimestamp) return
    const message = `namespace ${namespace.metadata.name} is being terminated`
    throw new KubeError('NamespaceTerminating', message, { status: 403 })
  }

  function newUid(): string {
    return `00000000-0000-4000-8000-${String(++serial).padStart(12, '0')}`
  }

  const storage: MemoryStorage = {
    get version() {
      return version
    },
    get: (kind, key) => asVersion(kind, objectsOf(kind).get(keyText(key))),
    list(kind, { namespace, labelSelector, fieldSelector } = {}) {
      return [...objectsOf(kind).values()]
        .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
        .filter((object) => matchesLabels(object.metadata.labels, labelSelector))
        .filter((object) => matchesFields(object, fieldSelector))
        .sort((a, b) => (keyText(keyOf(a)) < keyText(keyOf(b)) ? -1 : 1))
        .map((object) => asVersion(kind, object)!)
    },
    create: (kind, object, write = {}) => asVersion(kind, insert(kind, object, write))!,
    replace(kind, object, write = {}) {
      if (!object.metadata.resourceVersion) {
        throw new KubeError('Invalid', `${kind.kind}: metadata.resourceVersion: must be specified for an update`)
      }
      const old = require(kind, keyOf(object))
      return asVersion(kind, finish(kind, old, structuredClone(object) as unknown as Draft, write))!
    },
    patch(kind, key, patch, write = {}) {
      const old = require(kind, key)
      return asVersion(kind, finish(kind, old, patched(old, patch) as Draft, write))!
    },
    apply(kind, object, write = {}) {
      const old = objectsOf(kind).get(keyText(keyOf(object)))
      if (!old && write.subresource) return asVersion(kind, require(kind, keyOf(object)))!
      if (!old) return asVersion(kind, insert(kind, object, write))!
      return asVersion(kind, finish(kind, old, applied(old, object) as Draft, write))!
    },
    delete(kind, key, how = {}) {
      const object = require(kind, key)
      checkPreconditions(kind, object, how)
      if (how.propagation === 'Orphan') orphan(object.metadata.uid)
      const isForeground = how.propagation === 'Foreground' && options.garbageCollection !== false
      const finalizers = [...(object.metadata.finalizers ?? []), ...(isForeground ? [FOREGROUND] : [])]
      if (finalizers.length === 0) return void remove(kind, object)
      if (!object.metadata.deletionTimestamp) markDeleted(kind, object, finalizers)
      if (isForeground) {
        for (const dependent of dependentsOf(object.metadata.uid)) {
          storage.delete(dependent.kind, keyOf(dependent.object), { propagation: 'Foreground' })
        }
        releaseForeground()
      }
      return asVersion(kind, objectsOf(kind).get(keyText(key)))
    },
    seed(kind, object) {
      const draft = normalize(kind, structuredClone(object) as unknown as Draft)
      draft.metadata['uid'] ??= newUid()
      draft.metadata['creationTimestamp'] ??= toTimestamp(clock.now())
      if (!WITHOUT_GENERATION.has(groupKindOf(kind))) draft.metadata['generation'] ??= 1
      const isNew = !objectsOf(kind).has(keyText(keyOf(object)))
      return asVersion(kind, store(kind, draft, isNew ? 'ADDED' : 'MODIFIED'))!
    },
    onEvent: (listener) => void listeners.push(listener),
    unserve: (kind) => void unserved.add(groupKindOf(kind)),
    serve: (kind) => void unserved.delete(groupKindOf(kind)),
  }

  function orphan(uid: string | undefined): void {
    for (const { kind, object } of dependentsOf(uid)) {
      setOwners(
        kind,
        object,
        object.metadata.ownerReferences!.filter((owner) => owner.uid !== uid),
      )
    }
  }

  function markDeleted(kind: KindRef, object: AnyObject, finalizers: readonly string[]): void {
    const draft = structuredClone(object) as unknown as Draft
    draft.metadata['deletionTimestamp'] = toTimestamp(clock.now())
    draft.metadata['deletionGracePeriodSeconds'] = 0
    draft.metadata['finalizers'] = finalizers
    if (object.metadata.generation !== undefined) draft.metadata['generation'] = object.metadata.generation + 1
    store(kind, draft, 'MODIFIED')
  }

  return storage
}
