// The projection of an object that a cache keeps. managedFields and kubectl's last-applied are half of what a server sends
// and are not read here.
import type { AnyObject } from '#api'
import type { InformerOptions, Projected } from '../port.ts'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

export type Project = (object: AnyObject) => Projected<AnyObject>

/** Keeps parts of the object it is given: the caller must not change it afterwards. */
export function createProjection(project: InformerOptions['project']): Project {
  return (object) => (project ? project(strip(object)) : strip(object)) as Projected<AnyObject>
}

function strip(object: AnyObject): AnyObject {
  const { managedFields: _fields, annotations, ...metadata } = object.metadata
  if (!annotations) return { ...object, metadata }
  const { [LAST_APPLIED]: _applied, ...kept } = annotations
  return { ...object, metadata: Object.keys(kept).length > 0 ? { ...metadata, annotations: kept } : metadata }
}
