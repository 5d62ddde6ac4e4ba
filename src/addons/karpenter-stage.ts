// Karpenter as Flux objects: a source, and a HelmRelease that never gives up and never uninstalls by itself.
// The objects carry the finalizer that Flux puts on them, because core's Reconcile removes what a manifest lacks.

import type { AddonStage } from '#api'
import {
  chartName,
  chartTag,
  chartUrl,
  isAtLeast,
  mergeValues,
  ociUrl,
  renderKarpenterValues,
  type Values,
} from '#catalog'
import type { Check } from './health-read.ts'
import type { Manifest } from './manifests.ts'
import { MANAGED_LABEL } from './names.ts'

export interface KarpenterInput {
  readonly spec: NonNullable<AddonStage['karpenter']>
  readonly version: string
  readonly fluxVersion: string
  readonly clusterName: string
  readonly identity: 'PodIdentity' | 'IRSA'
  readonly roleArn: string | undefined
  readonly interruptionQueue: string | undefined
  readonly replicas: number
  /** Values of this Cluster alone. */
  readonly values: Values
}

export const FLUX_FINALIZER = 'finalizers.fluxcd.io'
const RELEASE = 'karpenter'
const CHART_LAYER = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'

export function renderKarpenter(input: KarpenterInput): readonly Manifest[] {
  const { spec } = input
  const isIrsa = input.identity === 'IRSA'
  const values = renderKarpenterValues({
    version: input.version,
    clusterName: input.clusterName,
    interruptionQueue: input.interruptionQueue,
    identity: isIrsa ? 'irsa' : 'podIdentity',
    roleArn: isIrsa ? input.roleArn : undefined,
    namespace: spec.namespace,
    serviceAccount: spec.serviceAccount,
    replicas: input.replicas,
    values: mergeValues((spec.values ?? {}) as Values, input.values),
  })
  const source = isAtLeast(input.fluxVersion, '2.6.0') ? ociSource(input) : repositorySource(input)
  const release: Manifest = {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: fluxMetadata(spec.namespace),
    spec: {
      interval: '30m',
      timeout: spec.timeout,
      releaseName: RELEASE,
      ...source.chart,
      install: { crds: 'CreateReplace', ...retries(input.fluxVersion, -1) },
      upgrade: { crds: 'CreateReplace', ...retries(input.fluxVersion, 3) },
      values,
    },
  }
  const namespace: Manifest = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: spec.namespace, labels: { [MANAGED_LABEL]: 'true' } },
  }
  return [...(spec.namespace === 'kube-system' ? [] : [namespace]), source.object, release]
}

/** RetryOnFailure (from 2.7) upgrades again; before that remediation rolls back, and never uninstalls on an upgrade. */
function retries(fluxVersion: string, limit: number): Record<string, unknown> {
  if (isAtLeast(fluxVersion, '2.7.0')) return { strategy: { name: 'RetryOnFailure', retryInterval: '1m' } }
  return limit < 0 ? { remediation: { retries: limit } } : { remediation: { retries: limit, strategy: 'rollback' } }
}

const fluxMetadata = (namespace: string) => ({
  name: RELEASE,
  namespace,
  finalizers: [FLUX_FINALIZER],
  labels: { [MANAGED_LABEL]: 'true' },
})

interface Source {
  readonly object: Manifest
  readonly chart: Readonly<Record<string, unknown>>
}

function ociSource({ spec, version }: KarpenterInput): Source {
  return {
    object: {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'OCIRepository',
      metadata: fluxMetadata(spec.namespace),
      spec: {
        interval: '1h',
        url: spec.chart ?? chartUrl(),
        ref: { tag: chartTag(version) },
        layerSelector: { mediaType: CHART_LAYER, operation: 'copy' },
      },
    },
    chart: { chartRef: { kind: 'OCIRepository', name: RELEASE } },
  }
}

function repositorySource({ spec, version }: KarpenterInput): Source {
  const url = spec.chart ? spec.chart.replace(/\/[^/]+$/, '') : ociUrl
  return {
    object: {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'HelmRepository',
      metadata: fluxMetadata(spec.namespace),
      spec: { type: 'oci', interval: '1h', url },
    },
    chart: {
      chart: {
        spec: { chart: chartName, version: chartTag(version), sourceRef: { kind: 'HelmRepository', name: RELEASE } },
      },
    },
  }
}

export function karpenterChecks({ spec, version, fluxVersion }: KarpenterInput): readonly Check[] {
  const { namespace } = spec
  const isOci = isAtLeast(fluxVersion, '2.6.0')
  return [
    isOci
      ? { type: 'SourceReady', kind: 'OCIRepository', name: RELEASE, namespace }
      : { type: 'SourceReady', kind: 'HelmChart', name: `${namespace}-${RELEASE}`, namespace },
    { type: 'HelmReleaseReady', name: RELEASE, namespace, version },
    ...['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', 'ec2nodeclasses.karpenter.k8s.aws'].map(
      (name): Check => ({ type: 'CRDEstablished', name }),
    ),
    { type: 'DeploymentAvailable', name: RELEASE, namespace, awayFrom: 'karpenter.sh/nodepool' },
  ]
}
