// Fault switches of the simulation: what goes wrong with an object, set by an annotation on it or by its name in the
// ConfigMap kube-system/capt-simulation of the workload cluster.
import { type AnyObject, type ConfigMap, ConfigMapKind, type KindRef } from '#api'
import type { Cache } from '#kube'
import { isCaptError, ownValue, parseDuration } from '#lib'
import type { Wake } from '#runtime'
import { FAULT_ANNOTATION, FAULTS } from './names.ts'

export type Fault =
  | { readonly is: 'none' }
  /** Everything takes this much longer. */
  | { readonly is: 'slow'; readonly ms: number }
  /** Images and charts cannot be fetched. */
  | { readonly is: 'pull' }
  /** The container starts and dies. */
  | { readonly is: 'crash' }
  /** The CRD never arrives. */
  | { readonly is: 'missing' }
  /** The cloud gives no machine to this pool. */
  | { readonly is: 'dry' }

const NONE: Fault = { is: 'none' }

/** `pull`, `crash`, `missing`, `dry` or `slow=5s`. Anything else is no fault. */
export function parseFault(text: string | undefined): Fault {
  if (text === 'pull' || text === 'crash' || text === 'missing' || text === 'dry') return { is: text }
  const slow = /^slow=(.+)$/.exec(text ?? '')
  if (!slow) return NONE
  try {
    return { is: 'slow', ms: parseDuration(slow[1]!) }
  } catch (error) {
    if (isCaptError(error)) return NONE
    throw error
  }
}

/** By how much longer a fault makes things take. */
export const slowMs = (fault: Fault): number => (fault.is === 'slow' ? fault.ms : 0)

/** The fault of an object, or of the first of these names that has one. */
export function faultOf(cache: Cache, object: AnyObject, ...names: readonly string[]): Fault {
  const own = object.metadata.annotations?.[FAULT_ANNOTATION]
  if (own !== undefined) return parseFault(own)
  const data = cache.get<ConfigMap>(ConfigMapKind, FAULTS)?.data ?? {}
  const named = [object.metadata.name, ...names].find((name) => ownValue(data, name) !== undefined)
  return named === undefined ? NONE : parseFault(data[named])
}

export const isFaultMap = (object: AnyObject): boolean =>
  object.metadata.name === FAULTS.name && object.metadata.namespace === FAULTS.namespace

/** Every object of a kind is looked at again when the switches change. */
export const wakeOnFaults = (kind: KindRef): Wake => ({
  kind: ConfigMapKind,
  toKeys: (object, cache) => (isFaultMap(object) ? cache.keys(kind) : []),
})
