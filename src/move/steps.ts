// The steps of a move that change something: pause, wait for runs to end, copy, delete without destroying.
import {
  type AnyObject,
  blocksMove,
  DELETE_FOR_MOVE_ANNOTATION,
  type KindRef,
  keyOf,
  NamespaceKind,
  WorkspaceTemplateApply,
} from '#api'
import { type Connected, ignore, isKubeError, type Objects } from '#kube'
import { CaptError, type Clock, sleep } from '#lib'
import { toCopy, toStatus, withPause } from './copy.ts'
import { isCluster, type Node, nameOf, nodesOf } from './graph.ts'
import { isSimulated } from './payload.ts'
import { readAll } from './survey.ts'

export async function setPaused(objects: Objects, clusters: readonly Node[], paused: boolean): Promise<void> {
  for (const { kind, object } of clusters)
    await objects.patch(kind, keyOf(object), { type: 'merge', body: { spec: { paused } } })
}

const ENDED = ['Succeeded', 'Planned', 'Failed', 'Cancelled', 'Lost']

export async function waitForRuns(
  from: Connected,
  kinds: readonly KindRef[],
  names: ReadonlySet<string>,
  limitMs: number,
  {
    clock,
    signal,
    onBusy = () => undefined,
  }: {
    readonly clock: Clock
    readonly signal: AbortSignal
    /** Called with what is in progress, each second. */
    readonly onBusy?: (busy: readonly Node[]) => void
  },
): Promise<void> {
  const deadline = clock.monotonic() + limitMs
  for (;;) {
    const busy = nodesOf(await readAll(from, kinds), names).filter(isBusy)
    if (busy.length === 0) return
    onBusy(busy)
    if (clock.monotonic() >= deadline)
      throw new CaptError('CAPT_MOVE_BLOCKED', `Still in progress: ${busy.map(nameOf).join(', ')}`, {
        hint: 'wait for the run to end (capt describe), or give --wait more time',
      })
    await sleep(clock, 1000, signal)
  }
}

function isBusy({ kind, object }: Node): boolean {
  if (blocksMove(object)) return true
  if (kind.kind !== WorkspaceTemplateApply.kind) return false
  const phase = (object as WorkspaceTemplateApply).status?.run?.phase
  return phase !== undefined && !ENDED.includes(phase)
}

export async function copyAll(nodes: readonly Node[], to: Connected): Promise<void> {
  await ensureNamespace(to)
  const uids = new Map<string, string>()
  const made: Node[] = []
  try {
    for (const node of nodes) {
      const { kind, object } = node
      const copy = isCluster(node) ? withPause(toCopy(object, uids), true) : toCopy(object, uids)
      const written = await makeOrTake(to.objects, kind, copy)
      uids.set(object.metadata.uid ?? '', written.object.metadata.uid ?? '')
      if (!written.isNew) continue
      made.push({ kind, object: written.object })
      const status = toStatus(object, written.object.metadata.generation)
      if (status && kind.group !== '')
        await to.objects.patch(kind, keyOf(object), { type: 'merge', body: { status } }, { subresource: 'status' })
    }
  } catch (error) {
    await deleteAll(made, to.objects)
    throw error
  }
}

async function makeOrTake(
  objects: Objects,
  kind: KindRef,
  copy: AnyObject,
): Promise<{ object: AnyObject; isNew: boolean }> {
  try {
    return { object: await objects.create(kind, copy), isNew: true }
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
    const object = await objects.get<AnyObject>(kind, keyOf(copy))
    if (!object) throw error
    return { object, isNew: false }
  }
}

async function ensureNamespace({ objects, namespace }: Connected): Promise<void> {
  if (await objects.get(NamespaceKind, { name: namespace })) return
  const object: AnyObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  await objects.create(NamespaceKind, object)
}

/** All are annotated before the first is deleted: controllers must know the reason when they see the deletion. */
export async function deleteAll(nodes: readonly Node[], objects: Objects): Promise<void> {
  const annotations = { [DELETE_FOR_MOVE_ANNOTATION]: '' }
  const forgive = ignore('NotFound')
  for (const { kind, object } of nodes)
    await objects.patch(kind, keyOf(object), { type: 'merge', body: { metadata: { annotations } } }).catch(forgive)
  for (const node of nodes.toReversed()) {
    const { kind, object } = node
    const uid = object.metadata.uid
    await objects.delete(kind, keyOf(object), uid ? { uid } : {})
    // What plays a workload here is ended by who made it; everything else lives elsewhere now.
    if (isSimulated(node)) continue
    await objects.patch(kind, keyOf(object), { type: 'merge', body: { metadata: { finalizers: null } } }).catch(forgive)
  }
}
