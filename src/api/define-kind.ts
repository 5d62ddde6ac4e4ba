// One definition of a kind gives its TypeScript type, its CRD, its runtime check and its reference page.
import { pluralOf } from '#lib'
import type { AnyObject, KindRef } from './object.ts'
import type { JsonSchema, Node, Rule } from './schema/build.ts'

export interface Column {
  readonly name: string
  readonly path: string
  readonly type?: 'string' | 'integer' | 'boolean' | 'date' | 'number'
  readonly about?: string
  readonly priority?: number
}

/** Groups of controllers, as --enable-controller names them. */
export const CONTROLLER_GROUPS = ['infrastructure', 'control-plane', 'addons'] as const
export type ControllerGroup = (typeof CONTROLLER_GROUPS)[number]

interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath: string
}

interface KindDefinition<S, T> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** What the kind is for, in one to three sentences. */
  readonly about: string
  readonly spec: Node<S, boolean>
  /** The group of controllers that reconciles it, as --enable-controller names it. Its RBAC follows from this. */
  readonly reconciledBy?: ControllerGroup
  /** Absent for pure templates that nobody reports on. */
  readonly status?: Node<T, boolean>
  readonly columns?: readonly Column[]
  /** CEL rules on the whole object (`self.metadata.name`, `self.spec`). */
  readonly rules?: readonly Rule[]
  /** The scale subresource: paths of the number, the observed number and the selector as text. */
  readonly scale?: ScalePaths
  /** Clusters refer to it and do not own it: `clusterctl move` takes along whatever of it the namespace has. */
  readonly moves?: boolean
}

export interface Kind<S = unknown, T = unknown> extends KindDefinition<S, T>, KindRef {
  readonly namespaced: true
  readonly singular: string
  readonly apiVersion: string
  /** Schema of the whole object: apiVersion, kind, metadata, spec, status. */
  readonly schema: JsonSchema
}

export function defineKind<S, T>(definition: KindDefinition<S, T>): Kind<S, T> {
  const properties: Record<string, JsonSchema> = {
    apiVersion: { type: 'string', description: 'Group and version of this object.' },
    kind: { type: 'string', description: 'Kind of this object.' },
    metadata: { type: 'object' },
    spec: definition.spec.schema,
  }
  if (definition.status) properties['status'] = definition.status.schema
  return {
    ...definition,
    namespaced: true,
    plural: pluralOf(definition.kind),
    singular: definition.kind.toLowerCase(),
    apiVersion: `${definition.group}/${definition.version}`,
    schema: {
      type: 'object',
      description: definition.about,
      required: ['spec'],
      properties,
      ...(definition.rules?.length ? { 'x-kubernetes-validations': definition.rules } : {}),
    },
  }
}

type SpecOf<K> = K extends Kind<infer S, unknown> ? S : never
type StatusOf<K> = K extends Kind<unknown, infer T> ? T : never
/** The object type of a kind, as it is read from a server (defaults filled in). */
export interface KindOf<K> extends AnyObject {
  readonly spec: SpecOf<K>
  readonly status?: StatusOf<K>
}
