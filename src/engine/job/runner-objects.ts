// The API as a run in a Job may use it. Its role names objects, so it creates by server-side apply, whose address has the
// name; credentials are read from what the pod mounts. A slot is written over only by the run that holds the lock.
import { randomUUID } from 'node:crypto'
import { type AnyObject, type KindRef, keyOf, keyText, SecretKind } from '#api'
import { isKubeError, KubeError, type Objects, type Writable, type WriteOptions } from '#kube'
import { isHolder } from '../lock/lock.ts'
import { ALL_SLOTS, SLOTS, STATE_PARTS, slotName, stateName, suffixOf } from '../names.ts'
import type { Owner } from '../owner.ts'
import { fenced } from '../state/fenced-state.ts'
import { deleteHeld, stateTooLarge } from '../state/state-secrets.ts'
import type { MountedSecret } from './run-secret.ts'

interface RunnerIdentity {
  readonly owner: Owner
  readonly runId: string
  readonly credentials: readonly MountedSecret[]
}

const ATTEMPTS = 5
/** Which process created an object: another value is a conflict. */
const CREATOR_ANNOTATION = 'capt.appthrust.com/created-by'

export function runnerObjects(objects: Objects, { owner, runId, credentials }: RunnerIdentity): Objects {
  const mounted = new Map(credentials.map(({ ref, secret }) => [keyText(ref), secret]))
  const suffix = suffixOf(owner)
  const slots = new Map(ALL_SLOTS.map((slot) => [slotName(suffix, slot), slot]))
  const tooMany = new Set([stateName(suffix, STATE_PARTS), stateName(suffix, STATE_PARTS + 1)])
  // Another one for each process: two of them never write the same field without noticing.
  const fieldManager = `capt-run-${randomUUID()}`

  /** Creates, or fails as a create does: of two that do it at once, the server refuses the second by its annotation. */
  async function create<T extends AnyObject>(kind: KindRef, object: Writable<T>, how: WriteOptions = {}) {
    const { metadata } = object
    if (await objects.get(kind, keyOf(object)))
      throw new KubeError('AlreadyExists', `${kind.kind} ${metadata.name} exists`)
    const annotations = { ...metadata.annotations, [CREATOR_ANNOTATION]: fieldManager }
    const signed = { ...object, metadata: { ...metadata, annotations } }
    try {
      return await objects.apply<T>(kind, signed, { ...how, fieldManager, force: false })
    } catch (error) {
      if (!isKubeError(error, 'Conflict')) throw error
      throw new KubeError('AlreadyExists', error.message, { cause: error })
    }
  }

  async function putSlot<T extends AnyObject>(object: Writable<T>, slot: number) {
    const { namespace = '', name } = object.metadata
    for (let attempt = 1; ; attempt++) {
      try {
        return await create<T>(SecretKind, object)
      } catch (error) {
        if (!isKubeError(error, 'AlreadyExists') || attempt === ATTEMPTS) throw error
      }
      // An interrupted run left it there; only the holder of the lock may know that.
      if (slot < SLOTS.held && !(await isHolder(objects, owner, runId))) throw fenced(owner)
      await deleteHeld(objects, SecretKind, { namespace, name })
    }
  }

  function slotOf(kind: KindRef, { metadata }: AnyObject): number | undefined {
    if (kind !== SecretKind || metadata.namespace !== owner.namespace) return undefined
    if (tooMany.has(metadata.name)) throw stateTooLarge()
    return slots.get(metadata.name)
  }

  return {
    ...objects,
    list: (kind, options) => objects.list(kind, options),
    async get<T extends AnyObject>(kind: KindRef, key: { readonly namespace?: string; readonly name: string }) {
      const id = keyText(key)
      if (kind === SecretKind && mounted.has(id)) return mounted.get(id) as T | undefined
      return objects.get<T>(kind, key)
    },
    async create(kind, object, how) {
      const slot = slotOf(kind, object)
      return slot === undefined ? create(kind, object, how) : putSlot(object, slot)
    },
    async apply(kind, object, how) {
      const slot = slotOf(kind, object)
      return slot === undefined ? objects.apply(kind, object, how) : putSlot(object, slot)
    },
  } satisfies Objects
}
