// An OCI chart as Flux objects: a source, and a HelmRelease that never gives up and never uninstalls by itself.
import type { Values } from '../karpenter/values-merge.ts'
import { isAtLeast } from '../version.ts'

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

interface FluxChart {
  /** Of the release and of its source. */
  readonly name: string
  readonly namespace: string
  /** `oci://REGISTRY/PATH/CHART`. */
  readonly url: string
  readonly tag: string
  readonly fluxVersion: string
  /** Fields of the source that say how the registry is reached: `secretRef`, `certSecretRef`, `insecure`. */
  readonly access?: Readonly<Record<string, unknown>> | undefined
  readonly timeout?: string | undefined
  readonly values: Values
  readonly labels: Readonly<Record<string, string>>
}

export const FLUX_FINALIZER = 'finalizers.fluxcd.io'
const CHART_LAYER = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'

/** The source, then the release. They carry the finalizer that Flux adds, because core's Reconcile removes what a manifest lacks. */
export function fluxChart(chart: FluxChart): readonly [FluxObject, FluxObject] {
  const source = isAtLeast(chart.fluxVersion, '2.6.0') ? ociSource(chart) : repositorySource(chart)
  const release: FluxObject = {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: metadataOf(chart),
    spec: {
      interval: '30m',
      timeout: chart.timeout ?? '10m',
      releaseName: chart.name,
      ...source.chart,
      install: { crds: 'CreateReplace', ...retries(chart.fluxVersion, -1) },
      upgrade: { crds: 'CreateReplace', ...retries(chart.fluxVersion, 3) },
      values: chart.values,
    },
  }
  return [source.object, release]
}

/** RetryOnFailure (from 2.7) upgrades again; before that remediation rolls back, and never uninstalls on an upgrade. */
function retries(fluxVersion: string, limit: number): Record<string, unknown> {
  if (isAtLeast(fluxVersion, '2.7.0')) return { strategy: { name: 'RetryOnFailure', retryInterval: '1m' } }
  return limit < 0 ? { remediation: { retries: limit } } : { remediation: { retries: limit, strategy: 'rollback' } }
}

const metadataOf = ({ name, namespace, labels }: FluxChart) => ({
  name,
  namespace,
  finalizers: [FLUX_FINALIZER],
  labels,
})

interface Source {
  readonly object: FluxObject
  readonly chart: Readonly<Record<string, unknown>>
}

function ociSource(chart: FluxChart): Source {
  return {
    object: {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'OCIRepository',
      metadata: metadataOf(chart),
      spec: {
        interval: '1h',
        url: chart.url,
        ref: { tag: chart.tag },
        layerSelector: { mediaType: CHART_LAYER, operation: 'copy' },
        ...chart.access,
      },
    },
    chart: { chartRef: { kind: 'OCIRepository', name: chart.name } },
  }
}

function repositorySource(chart: FluxChart): Source {
  const end = chart.url.lastIndexOf('/')
  const sourceRef = { kind: 'HelmRepository', name: chart.name }
  return {
    object: {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'HelmRepository',
      metadata: metadataOf(chart),
      spec: { type: 'oci', interval: '1h', url: chart.url.slice(0, end), ...chart.access },
    },
    chart: { chart: { spec: { chart: chart.url.slice(end + 1), version: chart.tag, sourceRef } } },
  }
}
