// The add-ons of a Cluster whose Karpenter was installed by Terraform: a pipeline with the same release name, namespace, version and
// values, so that helm-controller adopts the release as it is; and the labels by which the Cluster asks for it. Pure.
import { AddonPipeline, apiVersionOf } from '#api'
import { boundedName, isPlainObject, type JsonObject } from '#lib'
import type { ReleaseFacts } from './read-state.ts'

/** Chooses a pipeline by its name; as the add-on controllers spell it. */
export const PIPELINE_LABEL = 'capt.appthrust.com/addon-pipeline'

export const pipelineName = (cluster: string): string => boundedName(`karpenter-${cluster}`, 63)

export const clusterLabels = (cluster: string): Readonly<Record<string, string>> => ({
  'fluxcd.io/enabled': 'true',
  'installation.appthrust.com/eks-karpenter': 'enabled',
  [PIPELINE_LABEL]: pipelineName(cluster),
})

const retry = { limit: 5, backoff: '30s' }
const shared = {
  checks: [],
  timeout: '15m',
  retry,
  onFailure: 'Stop',
  uninstall: { policy: 'Delete', timeout: '10m' },
} as const

/**
 * There is no stage for node pools: those of the cluster stay as they are. `onEnd`: what becomes of the release when it is no longer
 * delivered; that of an adopted cluster stays with the cluster.
 */
export function renderPipeline(
  namespace: string,
  cluster: string,
  release: ReleaseFacts,
  onEnd: 'Delete' | 'Keep' = 'Delete',
): AddonPipeline {
  const name = pipelineName(cluster)
  const roleArn = roleOf(release.values)
  const version = /^v?\d+\.\d+\.\d+$/.test(release.version ?? '') ? release.version : undefined
  return {
    apiVersion: apiVersionOf(AddonPipeline),
    kind: AddonPipeline.kind,
    metadata: { name, namespace },
    spec: {
      clusterSelector: { matchLabels: { [PIPELINE_LABEL]: name } },
      allNamespaces: false,
      ...(roleArn === undefined ? {} : { variables: { KARPENTER_IAM_ROLE_ARN: roleArn } }),
      variablesFrom: [],
      teardown: { terminateInstances: false, deleteLoadBalancers: true, timeout: '15m' },
      stages: [
        {
          name: 'flux',
          needs: [],
          enabledBy: [{ key: 'fluxcd.io/enabled', value: 'true' }],
          flux: { networkPolicy: true, existing: 'Adopt' },
          ...shared,
        },
        {
          name: 'karpenter',
          needs: ['flux'],
          enabledBy: [{ key: 'installation.appthrust.com/eks-karpenter', value: 'enabled' }],
          karpenter: {
            namespace: release.namespace ?? 'default',
            serviceAccount: serviceAccountOf(release.values),
            timeout: '10m',
            ...(roleArn === undefined ? {} : { identity: 'IRSA' as const }),
            ...(version === undefined ? {} : { version }),
            // With all its values the release renders the same pods; without them the chart would lack what capt knows.
            ...(release.values === undefined ? {} : { values: release.values, defaults: 'Chart' as const }),
          },
          ...shared,
          uninstall: { ...shared.uninstall, policy: onEnd },
        },
      ],
    },
  } as AddonPipeline
}

const accountOf = (values: JsonObject | undefined): Readonly<Record<string, unknown>> => {
  const account: unknown = values?.['serviceAccount']
  return isPlainObject(account) ? account : {}
}

function roleOf(values: JsonObject | undefined): string | undefined {
  const { annotations } = accountOf(values)
  const arn = isPlainObject(annotations) ? annotations['eks.amazonaws.com/role-arn'] : undefined
  return typeof arn === 'string' ? arn : undefined
}

/** The chart names it after the release. */
function serviceAccountOf(values: JsonObject | undefined): string {
  const { name } = accountOf(values)
  return typeof name === 'string' && name !== '' ? name : 'karpenter'
}
