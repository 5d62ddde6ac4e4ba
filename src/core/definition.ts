// CustomResourceDefinitions of core's kinds, as far as the embedded home serves them: parts that all of them have.
import type { AnyObject, JsonSchema } from '#api'

interface Definition extends AnyObject {
  readonly spec: Readonly<Record<string, unknown>>
}

interface Version {
  readonly name: 'v1beta2' | 'v1beta1'
  readonly schema: JsonSchema
  readonly columns: readonly object[]
  readonly subresources?: object
  readonly deprecated?: boolean
}

interface Names {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly shortNames?: readonly string[]
}

/** v1beta2 is the version that is stored. */
export function toDefinition({ group, kind, plural, shortNames }: Names, versions: readonly Version[]): Definition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      labels: { 'cluster.x-k8s.io/provider': 'capt-embedded', 'clusterctl.cluster.x-k8s.io': '' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames ? { shortNames } : {}),
        categories: ['cluster-api'],
      },
      versions: versions.map(({ name, schema, columns, ...more }) => ({
        name,
        served: true,
        storage: name === 'v1beta2',
        ...more,
        additionalPrinterColumns: columns,
        schema: { openAPIV3Schema: schema },
      })),
    },
  }
}

interface Part {
  readonly schema: JsonSchema
}

export function toSchema(about: string, spec: Part, status?: Part): JsonSchema {
  return {
    type: 'object',
    description: about,
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: spec.schema,
      ...(status ? { status: status.schema } : {}),
    },
  }
}

export const column = (name: string, jsonPath: string, type = 'string', more: { readonly priority?: number } = {}) => ({
  name,
  jsonPath,
  type,
  ...more,
})

export const AGE = column('Age', '.metadata.creationTimestamp', 'date')
