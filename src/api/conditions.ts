// Reads conditions of any object. Nothing here writes one.
import type { AnyObject, Condition } from './object.ts'

/** The condition of this type, or undefined while nobody has written it. */
export function conditionOf(object: AnyObject, type: string): Condition | undefined {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } }
  return status?.conditions?.find((condition) => condition.type === type)
}

export function isTrue(object: AnyObject, type: string): boolean {
  return conditionOf(object, type)?.status === 'True'
}
