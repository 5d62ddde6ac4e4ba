// The pipeline that capt ships: Flux, then Karpenter, then a node pool, each when the Cluster asks for it.
import { AddonPipeline, apiVersionOf } from '#api'
import { DEFAULT_PIPELINE, MANAGED_LABEL, PIPELINE_CHOICE_LABEL } from '../addon-delivery/names.ts'

const FLUX_REQUEST = { key: 'fluxcd.io/enabled', value: 'true' } as const
const KARPENTER_REQUEST = { key: 'installation.appthrust.com/eks-karpenter', value: 'enabled' } as const
const NODE_POOL_REQUEST = {
  key: 'installation.appthrust.com/karpenter-provider-aws-default-nodepool',
  value: 'enabled',
} as const
const KARPENTER_GATE = 'karpenter.sh/enabled'

const retry = { limit: 5, backoff: '30s' }
const uninstall = { policy: 'Delete', timeout: '10m' } as const
const shared = { checks: [], timeout: '15m', retry, onFailure: 'Stop', uninstall } as const

export function defaultPipeline(namespace: string): AddonPipeline {
  return {
    apiVersion: apiVersionOf(AddonPipeline),
    kind: AddonPipeline.kind,
    metadata: { name: DEFAULT_PIPELINE, namespace, labels: { [MANAGED_LABEL]: 'true' } },
    spec: {
      clusterSelector: { matchExpressions: [{ key: PIPELINE_CHOICE_LABEL, operator: 'DoesNotExist' }] },
      allNamespaces: true,
      variablesFrom: [{ kind: 'ConfigMap', name: '${CLUSTER_NAME}-addons', optional: true }],
      teardown: { terminateInstances: false, deleteLoadBalancers: true, timeout: '15m' },
      stages: [
        {
          name: 'flux',
          needs: [],
          enabledBy: [FLUX_REQUEST],
          flux: { networkPolicy: true, existing: 'Adopt' },
          ...shared,
        },
        {
          name: 'karpenter',
          needs: ['flux'],
          enabledBy: [KARPENTER_REQUEST],
          gateLabel: KARPENTER_GATE,
          karpenter: { namespace: 'kube-system', serviceAccount: 'karpenter', timeout: '10m' },
          ...shared,
        },
        {
          name: 'node-pool',
          needs: ['karpenter'],
          enabledBy: [KARPENTER_REQUEST, NODE_POOL_REQUEST, { key: KARPENTER_GATE, value: 'true' }],
          nodePool: { name: 'default' },
          ...shared,
        },
      ],
    },
  }
}
