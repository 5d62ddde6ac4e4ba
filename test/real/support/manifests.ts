// The manifests that tests apply: the example as people get it, and the clusters of the same templates under other names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Loose } from './loose.ts'

export const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/simulation.yaml'), 'utf8')

const documents = (): Loose[] => parseAllDocuments(EXAMPLE).map((document) => document.toJS() as Loose)

/** The two simulation templates alone. */
export const templates = (): Loose[] => documents().filter(({ kind }) => kind === 'WorkspaceTemplate')

export interface ClusterOptions {
  readonly name: string
  readonly namespace?: string
  /** Labels of the Cluster; none, and so no add-ons, unless given. */
  readonly labels?: Readonly<Record<string, string>>
  /** Merged over the spec of the CAPTCluster and of the CAPTControlPlane; null takes a field away. */
  readonly infra?: Loose
  readonly plane?: Loose
  readonly infraAnnotations?: Readonly<Record<string, string>>
}

export const ADDON_LABELS = {
  'fluxcd.io/enabled': 'true',
  'installation.appthrust.com/eks-karpenter': 'enabled',
} as const

/** Cluster, CAPTCluster and CAPTControlPlane of the example under another name. */
export function clusterManifests(options: ClusterOptions): Loose[] {
  const { name, namespace = 'default', labels = {}, infra = {}, plane = {} } = options
  return documents()
    .filter(({ kind }) => kind !== 'WorkspaceTemplate')
    .map((object) => {
      object['metadata'] = { name, namespace }
      if (object['kind'] === 'Cluster') {
        object['metadata'].labels = labels
        object['spec'].infrastructureRef.name = name
        object['spec'].controlPlaneRef.name = name
      }
      if (object['kind'] === 'CAPTCluster') {
        object['spec'] = without({
          ...object['spec'],
          vpcConfig: { name: `${name}-vpc`, cidr: '10.0.0.0/16' },
          ...infra,
        })
        if (options.infraAnnotations) object['metadata'].annotations = options.infraAnnotations
      }
      if (object['kind'] === 'CAPTControlPlane') object['spec'] = without({ ...object['spec'], ...plane })
      return object
    })
}

const without = (fields: Loose): Loose =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

export const toText = (objects: readonly object[]): string =>
  objects.map((object) => JSON.stringify(object)).join('\n---\n')
