// The Karpenter chart as Flux objects: a source, and a HelmRelease that never gives up and never uninstalls by itself.
import { isAtLeast } from '../version.ts'
import { chartName, chartTag, chartUrl, ociUrl } from './chart.ts'
import type { Values } from './values-merge.ts'

interface FluxObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly finalizers: readonly string[]
    readonly labels: Readonly<Record<string, string>>
  }
  readonly spec: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}

interface FluxReleaseInput {
  readonly version: string
  readonly fluxVersion: string
  readonly namespace: string
  /** Address of the chart; public ECR otherwise. */
  readonly chart?: string | undefined
  /** Fields of the source that say how the registry is reached: `secretRef`, `certSecretRef`, `insecure`. */
  readonly access?: Readonly<Record<string, unknown>> | undefined
  readonly timeout?: string | undefined
  readonly values: Values
  readonly labels: Readonly<Record<string, string>>
}

export const FLUX_FINALIZER = 'finalizers.fluxcd.io'
export const KARPENTER_RELEASE = 'karpenter'
const CHART_LAYER = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'

/** The source, then the release. They carry the finalizer that Flux adds, because core's Reconcile removes what a manifest lacks. */
export function karpenterFluxObjects(input: FluxReleaseInput): readonly [FluxObject, FluxObject] {
  const source = isAtLeast(input.fluxVersion, '2.6.0') ? ociSource(input) : repositorySource(input)
  const release: FluxObject = {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: metadataOf(input),
    spec: {
      interval: '30m',
      timeout: input.timeout ?? '10m',
      releaseName: KARPENTER_RELEASE,
      ...source.chart,
      install: { crds: 'CreateReplace', ...retries(input.fluxVersion, -1) },
      upgrade: { crds: 'CreateReplace', ...retries(input.fluxVersion, 3) },
      values: input.values,
    },
  }
  return [source.object, release]
}

/** RetryOnFailure (from 2.7) upgrades again; before that remediation rolls back, and never uninstalls on an upgrade. */
function retries(fluxVersion: string, limit: number): Record<string, unknown> {
  if (isAtLeast(fluxVersion, '2.7.0')) return { strategy: { name: 'RetryOnFailure', retryInterval: '1m' } }
  return limit < 0 ? { remediation: { retries: limit } } : { remediation: { retries: limit, strategy: 'rollback' } }
}

const metadataOf = ({ namespace, labels }: FluxReleaseInput) => ({
  name: KARPENTER_RELEASE,
  namespace,
  finalizers: [FLUX_FINALIZER],
  labels,
})

interface Source {
  readonly object: FluxObject
  readonly chart: Readonly<Record<string, unknown>>
}

function ociSource(input: FluxReleaseInput): Source {
  return {
    object: {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'OCIRepository',
      metadata: metadataOf(input),
      spec: {
        interval: '1h',
        url: input.chart ?? chartUrl(),
        ref: { tag: chartTag(input.version) },
        layerSelector: { mediaType: CHART_LAYER, operation: 'copy' },
        ...input.access,
      },
    },
    chart: { chartRef: { kind: 'OCIRepository', name: KARPENTER_RELEASE } },
  }
}

function repositorySource(input: FluxReleaseInput): Source {
  const url = input.chart ? input.chart.replace(/\/[^/]+$/, '') : ociUrl
  const sourceRef = { kind: 'HelmRepository', name: KARPENTER_RELEASE }
  return {
    object: {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'HelmRepository',
      metadata: metadataOf(input),
      spec: { type: 'oci', interval: '1h', url, ...input.access },
    },
    chart: { chart: { spec: { chart: chartName, version: chartTag(input.version), sourceRef } } },
  }
}
