// Prunes, defaults and validates any object against any structural schema, the way kube-apiserver does.
// Used for our own kinds before anything is sent, and by the embedded API for every CRD.
import type { Json } from '#lib'

export type FaultType =
  | 'Required'
  | 'Invalid'
  | 'TypeInvalid'
  | 'NotSupported'
  | 'Duplicate'
  | 'TooLong'
  | 'TooMany'
  | 'Forbidden'

/** One thing wrong with a value, worded as kube-apiserver words it. */
export interface Fault {
  /** `spec.vpcConfig.name`, `spec.vars[2].key`, `metadata.labels[a/b]`. */
  readonly path: string
  readonly type: FaultType
  /** The whole line: `spec.region: Required value`. */
  readonly message: string
  /** Where the value is, when the server's path does not say so (it calls the place of an anyOf fault `<nil>`). */
  readonly at?: string
}

export interface CompiledSchema {
  /** A copy without the fields the schema does not know; `unknown` lists their paths. */
  prune(value: Json): { readonly value: Json; readonly unknown: readonly string[] }
  /** A copy with defaults filled in, recursively. */
  applyDefaults(value: Json): Json
  /** Structure first, then CEL (transition rules only when `old` is given). Empty means accepted. */
  validate(value: Json, old?: Json): readonly Fault[]
}
