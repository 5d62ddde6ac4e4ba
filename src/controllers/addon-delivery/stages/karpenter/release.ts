// Karpenter of one pipeline stage: its values, its namespace and its Flux objects.
import type { AddonStage } from '#api'
import {
  isAtLeast,
  KARPENTER_RELEASE,
  karpenterFluxObjects,
  mergeValues,
  renderKarpenterValues,
  type Values,
} from '#catalog'
import type { Check } from '../../health/read.ts'
import type { Manifest } from '../../manifests/manifests.ts'
import { MANAGED_LABEL } from '../../names.ts'
import { namespaceFor } from '../registry-access.ts'

interface KarpenterInput {
  readonly spec: Omit<NonNullable<AddonStage['karpenter']>, 'chart'> & { readonly chart: string | undefined }
  /** How the source reaches its registry, as fields of its spec. */
  readonly access: Readonly<Record<string, unknown>>
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
  const [source, release] = karpenterFluxObjects({
    version: input.version,
    fluxVersion: input.fluxVersion,
    namespace: spec.namespace,
    chart: spec.chart,
    access: input.access,
    timeout: spec.timeout,
    values,
    labels: { [MANAGED_LABEL]: 'true' },
  })
  return [...namespaceFor(spec.namespace), source, release]
}

export function karpenterChecks({ spec, version, fluxVersion }: KarpenterInput): readonly Check[] {
  const { namespace } = spec
  const isOci = isAtLeast(fluxVersion, '2.6.0')
  return [
    isOci
      ? { type: 'SourceReady', kind: 'OCIRepository', name: KARPENTER_RELEASE, namespace }
      : { type: 'SourceReady', kind: 'HelmChart', name: `${namespace}-${KARPENTER_RELEASE}`, namespace },
    { type: 'HelmReleaseReady', name: KARPENTER_RELEASE, namespace, version },
    ...['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', 'ec2nodeclasses.karpenter.k8s.aws'].map(
      (name): Check => ({ type: 'CRDEstablished', name }),
    ),
    { type: 'DeploymentAvailable', name: KARPENTER_RELEASE, namespace, awayFrom: 'karpenter.sh/nodepool' },
  ]
}
