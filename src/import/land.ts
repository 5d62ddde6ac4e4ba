// Brings an import to a management cluster. Everything arrives paused; states and their records follow, and only then is
// work allowed to begin. What is checked first changes nothing; what was cut off can be run again.
import {
  type AnyObject,
  CLUSTER_GROUP,
  groupOf,
  type KindRef,
  NamespaceKind,
  PAUSED_ANNOTATION,
  type UnknownObject,
  WorkspaceTemplateApply,
} from '#api'
import { checkImport, forgetWorkspace, importState, type Owner } from '#engine'
import { type Connected, ignore, kindFinder, requireServed } from '#kube'
import { CaptError, type Clock, counted, isPlainObject, jsonEqual, ownValue } from '#lib'
import type { Mapped } from './map.ts'
import { fieldsOf, subjectOf } from './outcome.ts'
import type { Assignment } from './states.ts'

interface Landing {
  readonly to: Connected
  readonly clock: Clock
  /** Kinds by apiVersion and kind; asked of the target when left out. */
  readonly find?: ReturnType<typeof kindFinder>
  /** Called with each step that was done. */
  readonly report: (text: string) => void
}

const isCluster = ({ apiVersion, kind }: UnknownObject): boolean =>
  kind === 'Cluster' && groupOf(apiVersion) === CLUSTER_GROUP

/** Clusters first: what follows is paused by them. */
function inOrder(objects: readonly UnknownObject[]): readonly UnknownObject[] {
  return [...objects].sort((a, b) => Number(isCluster(b)) - Number(isCluster(a)))
}

/** Throws when the target lacks a kind, has another object of the same name, or another state. Reads only. */
export async function checkTarget(
  mapped: Mapped,
  assignments: readonly Assignment[],
  { to }: Pick<Landing, 'to'>,
): Promise<void> {
  const find = kindFinder(to)
  const all = [...mapped.objects, ...mapped.applies.map(({ object }) => object)]
  await requireServed(all, to, find)
  for (const object of all) {
    const kind = await find(object.apiVersion, object.kind)
    const there = await to.objects.get<UnknownObject>(kind, keyIn(object, kind, to))
    if (!there || contains(contentOf(there), contentOf(object))) continue
    throw new CaptError('CAPT_IMPORT_REFUSED', `${subjectOf(object)} exists in the target and differs`, {
      hint: 'rename or delete it there, or leave it out of the input; nothing was changed',
    })
  }
  for (const { apply, state } of assignments)
    if (state) await checkImport(to.objects, ownerOf(apply.object, to), state.text)
}

export async function land(mapped: Mapped, assignments: readonly Assignment[], landing: Landing): Promise<void> {
  await place(mapped, assignments, landing)
  await resume(mapped, assignments, landing)
}

/** Everything is there and paused: nothing has begun, and nothing does. */
export async function place(mapped: Mapped, assignments: readonly Assignment[], landing: Landing): Promise<void> {
  const { to, clock, report, find = kindFinder(to) } = landing
  await ensureNamespaces(mapped, to)
  const written = async (object: UnknownObject, fieldManager: string): Promise<AnyObject> => {
    const kind = await find(object.apiVersion, object.kind)
    const key = keyIn(object, kind, to)
    const after = await to.objects.apply<AnyObject>(
      kind,
      { ...object, metadata: { ...object.metadata, ...key } },
      { fieldManager },
    )
    report(subjectOf(object))
    return after
  }
  for (const object of inOrder(mapped.objects)) await written(paused(object), 'capt-apply')
  for (const { apply, state } of assignments) {
    // Without a state its owner makes it.
    if (apply.owner !== undefined && !state) continue
    // On its own too: its Cluster may not be among the input.
    const { metadata } = await written(annotated(apply.object), 'capt-import')
    if (!state) continue
    const owner = { ...ownerOf(apply.object, to), uid: metadata.uid ?? '' }
    const from = {
      from: state.from ?? `Secret ${state.secret}`,
      ...(apply.owner === undefined ? {} : { owner: apply.owner }),
    }
    await importState(to.objects, clock, owner, state.text, from)
    report(
      `state of ${apply.object.metadata.name}: serial ${state.info.serial}, ${counted(state.info.addresses.length, 'resource')}`,
    )
  }
}

/** In the order of their dependencies nothing is lost: each object waits for what it needs. */
export async function resume(
  mapped: Mapped,
  assignments: readonly Assignment[],
  { to, find = kindFinder(to) }: Pick<Landing, 'to' | 'find'>,
): Promise<void> {
  for (const { apply, state } of assignments) {
    if (apply.owner !== undefined && !state) continue
    if (apply.object.metadata.annotations?.[PAUSED_ANNOTATION] !== undefined) continue
    const body = { metadata: { annotations: { [PAUSED_ANNOTATION]: null } } }
    await to.objects.patch(WorkspaceTemplateApply, keyIn(apply.object, WorkspaceTemplateApply, to), {
      type: 'merge',
      body,
    })
  }
  for (const object of mapped.objects.filter(isCluster)) {
    if (fieldsOf(object['spec'])['paused'] === true) continue
    const kind = await find(object.apiVersion, object.kind)
    await to.objects.patch(kind, keyIn(object, kind, to), { type: 'merge', body: { spec: { paused: false } } })
  }
}

/** Undoes `place` for an apply that nothing has begun with: the object first, because without its state it must not begin. */
export async function withdraw({ apply }: Assignment, { to }: Pick<Landing, 'to'>): Promise<void> {
  const owner = ownerOf(apply.object, to)
  const key = { namespace: owner.namespace, name: owner.name }
  const there = await to.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
  if (there) await to.objects.delete(WorkspaceTemplateApply, key, { uid: there.metadata.uid ?? '' })
  await forgetWorkspace(to.objects, owner, { keepState: false, stillUsed: new Set() })
}

/** A Cluster as it arrives, and as it is written to files: nothing works on it before its states are there. */
export function paused(object: UnknownObject): UnknownObject {
  return isCluster(object) ? { ...object, spec: { ...fieldsOf(object['spec']), paused: true } } : object
}

export function annotated(object: UnknownObject): UnknownObject {
  const { metadata } = object
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [PAUSED_ANNOTATION]: 'true' } } }
}

async function ensureNamespaces({ objects, applies }: Mapped, to: Connected): Promise<void> {
  const named = [...objects, ...applies.map(({ object }) => object)].map(({ metadata }) => metadata.namespace)
  for (const name of new Set([to.namespace, ...named])) {
    if (name === undefined || (await to.objects.get(NamespaceKind, { name }))) continue
    const object: AnyObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
    await to.objects.create(NamespaceKind, object).catch(ignore('AlreadyExists'))
  }
}

const keyIn = ({ metadata }: UnknownObject, { namespaced }: KindRef, { namespace }: Connected) =>
  namespaced ? { namespace: metadata.namespace ?? namespace, name: metadata.name } : { name: metadata.name }

function ownerOf({ metadata }: UnknownObject, { namespace }: Connected): Owner {
  const { apiVersion, kind } = WorkspaceTemplateApply
  const cluster = metadata.labels?.['cluster.x-k8s.io/cluster-name']
  return {
    namespace: metadata.namespace ?? namespace,
    name: metadata.name,
    uid: '',
    apiVersion,
    kind,
    ...(cluster === undefined ? {} : { cluster }),
  }
}

/** What people write, without what an import changes while it is under way. */
function contentOf(object: UnknownObject): unknown {
  const { apiVersion: _, kind: __, metadata: ___, status: ____, spec, stringData, data, ...rest } = object
  const { paused: _paused, ...wanted } = fieldsOf(spec)
  const plain = Object.entries(fieldsOf(stringData)).map(([key, text]) => [
    key,
    Buffer.from(String(text)).toString('base64'),
  ])
  const all = { ...fieldsOf(data), ...Object.fromEntries(plain) }
  return {
    ...rest,
    ...(spec === undefined ? {} : { spec: wanted }),
    ...(Object.keys(all).length > 0 ? { data: all } : {}),
  }
}

function contains(value: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(value) && value.length === wanted.length && wanted.every((one, i) => contains(value[i], one))
  if (!isPlainObject(wanted)) return jsonEqual(value, wanted)
  if (!isPlainObject(value)) return Object.keys(wanted).length === 0 && value === undefined
  return Object.entries(wanted).every(([key, inner]) => contains(ownValue(value, key), inner))
}
