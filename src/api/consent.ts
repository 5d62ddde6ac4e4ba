// Consent: a reference into another namespace counts only when its target allows that namespace. Pure.
import type { AnyObject } from './object.ts'

/** On a template, Secret, ConfigMap, apply or pipeline: namespaces (comma separated, or *) whose objects may refer to it. */
export const ALLOW_NAMESPACES_ANNOTATION = 'capt.appthrust.com/allow-namespaces'

/** Whether `target` lets objects of `namespace` refer to it. Objects of its own namespace always may. */
export function allowsNamespace(target: AnyObject, namespace: string): boolean {
  const { namespace: own, annotations = {} } = target.metadata
  if (own === namespace) return true
  const allowed = Object.hasOwn(annotations, ALLOW_NAMESPACES_ANNOTATION)
    ? annotations[ALLOW_NAMESPACES_ANNOTATION]!.split(',').map((one) => one.trim())
    : []
  return allowed.includes('*') || allowed.includes(namespace)
}
