// Recognises what older proposals deliver by ClusterResourceSet: an installer of Flux or Karpenter, a readiness Job, a
// binding written by hand, and ${…} that nothing fills in. Pure.
import { canonicalJson, fieldsOf, isPlainObject, type Json } from '#lib'
import { groupOf } from '../contract.ts'
import type { UnknownObject } from '../object.ts'
import { readDocuments } from './documents.ts'
import type { Manifest } from './manifest.ts'

export type Fields = Record<string, unknown>
export type Installs = 'flux' | 'karpenter'

export const ADDONS = 'addons.cluster.x-k8s.io'

interface Pair {
  readonly installs: Installs
  readonly set: string
  readonly payload: string
  readonly label: string
}

/** The sets and payloads that the proposals name. */
const PAIRS: readonly Pair[] = [
  { installs: 'flux', set: 'fluxcd-installer', payload: 'fluxcd-install', label: 'fluxcd.io/enabled' },
  { installs: 'karpenter', set: 'karpenter-installer', payload: 'karpenter-resources', label: 'karpenter.sh/enabled' },
]

export const isOldAddon = ({ apiVersion }: UnknownObject): boolean =>
  groupOf(apiVersion) === ADDONS && /\/v1alpha[34]$/.test(apiVersion)

export const isResourceSet = ({ apiVersion, kind }: UnknownObject): boolean =>
  groupOf(apiVersion) === ADDONS && kind === 'ClusterResourceSet'

/** A binding that no controller wrote: what it claims to be applied would be skipped. */
export const isWrittenByHand = ({ apiVersion, kind, metadata }: UnknownObject): boolean =>
  groupOf(apiVersion) === ADDONS && kind === 'ClusterResourceSetBinding' && metadata.uid === undefined

export function isReadinessJob({ apiVersion, kind, metadata }: UnknownObject): boolean {
  return apiVersion === 'batch/v1' && kind === 'Job' && metadata.name === 'fluxcd-readiness-check'
}

/** The pair of a set that selects by its label and delivers its payload alone. */
export function pairOfSet(set: UnknownObject): Pair | undefined {
  const labels = Object.keys(fieldsOf(fieldsOf(fieldsOf(set['spec'])['clusterSelector'])['matchLabels']))
  const refs = refsOf(set)
  return PAIRS.find(
    ({ label, payload }) =>
      labels.length === 1 && labels[0] === label && refs.length === 1 && refs[0]!['name'] === payload,
  )
}

export const isPayloadName = (name: string): boolean => PAIRS.some(({ payload }) => payload === name)

/** The pair of a payload that has its name and installs what it is for. */
export function pairOfPayload({ metadata }: UnknownObject, inner: readonly Fields[]): Pair | undefined {
  return PAIRS.find(({ payload, installs }) => payload === metadata.name && installs === installedBy(inner))
}

export function installedBy(documents: readonly Fields[]): Installs | undefined {
  if (documents.some(installsFlux)) return 'flux'
  return documents.some(isKarpenterRelease) ? 'karpenter' : undefined
}

/** The installer Job of the command line tool, or a HelmRelease of Flux itself, which nothing could have read. */
function installsFlux(document: Fields): boolean {
  const text = canonicalJson(document as Json)
  if (document['kind'] === 'Job') return text.includes('flux install') || text.includes('flux-cli')
  return document['kind'] === 'HelmRelease' && chartOf(document)['chart'] === 'flux2'
}

export const isKarpenterRelease = (document: Fields): boolean =>
  document['kind'] === 'HelmRelease' && chartOf(document)['chart'] === 'karpenter'

export function chartOf(release: Fields): Fields {
  return fieldsOf(fieldsOf(fieldsOf(release['spec'])['chart'])['spec'])
}

export function valuesOf(release: Fields): Fields {
  return fieldsOf(fieldsOf(release['spec'])['values'])
}

function refsOf(set: UnknownObject): readonly Fields[] {
  const { resources } = fieldsOf(set['spec'])
  return Array.isArray(resources) ? resources.filter(isPlainObject) : []
}

/** Whether the set delivers the other object. */
export function names({ object: set }: Manifest, { object: other }: Manifest): boolean {
  if ((other.metadata.namespace ?? 'default') !== (set.metadata.namespace ?? 'default')) return false
  return refsOf(set).some((ref) => ref['kind'] === other.kind && ref['name'] === other.metadata.name)
}

export const payloadsOf = (set: Manifest, manifests: readonly Manifest[]): readonly Manifest[] =>
  manifests.filter((other) => names(set, other))

/** The documents inside a payload; text that is no YAML counts as none. */
export function documentsOf(payload: UnknownObject): readonly Fields[] {
  const texts = Object.values(fieldsOf(payload['data'])).filter((text) => typeof text === 'string')
  return texts.flatMap(readQuietly).filter(isPlainObject)
}

function readQuietly(text: string): readonly unknown[] {
  try {
    return readDocuments(text).map(({ value }) => value())
  } catch {
    return []
  }
}

export const isAllManifests = (documents: readonly Fields[]): boolean =>
  documents.length > 0 && documents.every((one) => typeof one['apiVersion'] === 'string' && 'kind' in one)

/** `${NAME}` as it stands in the text, each once, sorted. */
export function placeholdersIn(documents: readonly Fields[]): readonly string[] {
  const found = JSON.stringify(documents).match(/\$\{[A-Za-z_][A-Za-z0-9_]*\}/g) ?? []
  return [...new Set(found)].sort()
}

/** Whether a pipeline reads it, which fills in what it delivers. */
export function isPipelineSource({ metadata }: UnknownObject, manifests: readonly Manifest[]): boolean {
  if (metadata.labels?.['capt.appthrust.com/addon-source'] !== undefined) return true
  const pipelines = manifests.filter(({ object }) => object.kind === 'AddonPipeline')
  return pipelines.some(({ object }) => JSON.stringify(object['spec']).includes(JSON.stringify(metadata.name)))
}

/** What the payloads of one set bring. */
export function payloadFacts(payloads: readonly UnknownObject[]): {
  readonly installs: Installs | undefined
  /** Whether the release is of the API that supported versions of Flux serve. */
  readonly isServed: boolean
  readonly placeholders: readonly string[]
} {
  const inner = payloads.flatMap(documentsOf)
  return {
    installs: installedBy(inner),
    isServed: inner.some((one) => isKarpenterRelease(one) && one['apiVersion'] === 'helm.toolkit.fluxcd.io/v2'),
    placeholders: placeholdersIn(inner),
  }
}
