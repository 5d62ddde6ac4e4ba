// The CustomResourceDefinition of a kind, as an object: the schema exactly as written, names, columns, contract labels.
import { isPlainObject, type Json, type JsonObject } from '#lib'
import { MOVE_LABEL } from './contract.ts'
import type { Column, Kind } from './define-kind.ts'

/** Both contracts of Cluster API are served by the one version each kind has. */
const CONTRACTS = ['v1beta1', 'v1beta2'] as const

export function providerOf(kind: Pick<Kind, 'group'>): string {
  return kind.group.startsWith('controlplane.') ? 'control-plane-capt' : 'infrastructure-capt'
}

export function crdName(kind: Pick<Kind, 'plural' | 'group'>): string {
  return `${kind.plural}.${kind.group}`
}

export function toCustomResourceDefinition(kind: Kind): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: crdName(kind),
      labels: {
        'cluster.x-k8s.io/provider': providerOf(kind),
        ...Object.fromEntries(CONTRACTS.map((contract) => [`cluster.x-k8s.io/${contract}`, kind.version])),
        'clusterctl.cluster.x-k8s.io': '',
        ...(kind.moves ? { [MOVE_LABEL]: '' } : {}),
      },
    },
    spec: {
      group: kind.group,
      scope: 'Namespaced',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        ...(kind.shortNames?.length ? { shortNames: kind.shortNames } : {}),
        ...(kind.categories?.length ? { categories: kind.categories } : {}),
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          ...(kind.status ? { subresources: { status: {}, ...(kind.scale ? { scale: { ...kind.scale } } : {}) } } : {}),
          ...(kind.columns?.length ? { additionalPrinterColumns: kind.columns.map(toColumn) } : {}),
          schema: { openAPIV3Schema: inReadingOrder(kind.schema as unknown as Json) },
        },
      ],
    },
  }
}

function toColumn(column: Column): JsonObject {
  return {
    name: column.name,
    type: column.type ?? 'string',
    jsonPath: column.path,
    ...(column.about === undefined ? {} : { description: column.about }),
    ...(column.priority === undefined ? {} : { priority: column.priority }),
  }
}

const FIRST = ['description', 'type', 'format', 'default', 'enum', 'required']
const LAST = ['x-kubernetes-validations', 'properties', 'items', 'additionalProperties']

/** Short facts about a node before its long insides. Names of fields keep the order in which they were defined. */
function inReadingOrder(schema: Json): Json {
  if (!isPlainObject(schema)) return schema
  const rank = (key: string) => (FIRST.includes(key) ? FIRST.indexOf(key) : 10 + LAST.indexOf(key))
  const entries = Object.entries(schema as JsonObject).sort(([a], [b]) => rank(a) - rank(b))
  return Object.fromEntries(
    entries.map(([key, value]): [string, Json] => {
      if (key === 'items' || key === 'additionalProperties') return [key, inReadingOrder(value)]
      if (key !== 'properties') return [key, value]
      const fields = Object.entries(value as JsonObject).map(([name, field]) => [name, inReadingOrder(field)])
      return [key, Object.fromEntries(fields) as Json]
    }),
  )
}
