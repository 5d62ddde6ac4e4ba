// What the stand-in helm-controller installs for the chart `karpenter`: its CRDs without schemas, and a Deployment that
// is placed like the real one (never two on one node).
import type { AnyObject, UnknownObject } from '#api'
import { fieldsOf, isPlainObject, pluralOf } from '#lib'
import type { ChartInput } from '../flux/charts.ts'
import { simulated } from '../names.ts'

const KINDS = [
  ['karpenter.sh', 'NodePool'],
  ['karpenter.sh', 'NodeClaim'],
  ['karpenter.k8s.aws', 'EC2NodeClass'],
] as const
/** In charts since this minor version; no actor plays with them. */
const LATER_KINDS = [
  [7, 'karpenter.sh', 'NodeOverlay'],
  [14, 'autoscaling.x-k8s.io', 'CapacityBuffer'],
] as const

/** What the actors of Karpenter need. */
export const KARPENTER_DEFINITIONS: readonly string[] = KINDS.map(([group, kind]) => `${pluralOf(kind)}.${group}`)

export function karpenterDefinitions(version: string): readonly UnknownObject[] {
  const [, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const later = LATER_KINDS.filter(([since]) => minor >= since).map(([, group, kind]) => [group, kind] as const)
  return [...KINDS, ...later].map(([group, kind]) => definitionOf(group, kind))
}

/** What EKS Auto Mode has from the start. */
const AUTO_MODE_KINDS = [
  ['karpenter.sh', 'NodePool'],
  ['karpenter.sh', 'NodeClaim'],
  ['eks.amazonaws.com', 'NodeClass'],
] as const
export const AUTO_MODE_DEFINITIONS: readonly string[] = AUTO_MODE_KINDS.map(
  ([group, kind]) => `${pluralOf(kind)}.${group}`,
)
export const autoModeDefinitions = (): readonly UnknownObject[] =>
  AUTO_MODE_KINDS.map(([group, kind]) => definitionOf(group, kind))

function definitionOf(group: string, kind: string): UnknownObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${pluralOf(kind)}.${group}`, labels: simulated },
    spec: {
      group,
      scope: kind === 'CapacityBuffer' ? 'Namespaced' : 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: pluralOf(kind),
        singular: kind.toLowerCase(),
        categories: ['karpenter'],
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          },
        },
      ],
    },
  }
}

/** Objects of the release itself; undefined values that the chart requires. */
export function renderKarpenterChart(input: ChartInput): readonly AnyObject[] {
  const { values, release, namespace, version } = input
  const settings = fieldsOf(values['settings'])
  if (typeof settings['clusterName'] !== 'string' || settings['clusterName'] === '')
    throw new Error('settings.clusterName is required')
  const labels = { 'app.kubernetes.io/name': 'karpenter', 'app.kubernetes.io/instance': release }
  const { resources } = fieldsOf(values['controller'])
  const affinity = fieldsOf(values['affinity'])
  const account = fieldsOf(values['serviceAccount'])
  const serviceAccountName = typeof account['name'] === 'string' ? account['name'] : release
  const metadata = { namespace, labels }
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...metadata, name: release },
    spec: {
      replicas: typeof values['replicas'] === 'number' ? values['replicas'] : 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName,
          ...(isPlainObject(values['nodeSelector']) ? { nodeSelector: values['nodeSelector'] } : {}),
          tolerations: Array.isArray(values['tolerations'])
            ? values['tolerations']
            : [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
          affinity: {
            ...affinity,
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } },
              ],
            },
          },
          containers: [
            {
              name: 'controller',
              image: `simulated/karpenter:${version}`,
              ...(isPlainObject(resources) ? { resources } : {}),
            },
          ],
        },
      },
    },
  }
  const serviceAccount = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: {
      ...metadata,
      name: serviceAccountName,
      ...(isPlainObject(account['annotations'])
        ? { annotations: account['annotations'] as Record<string, string> }
        : {}),
    },
  }
  return [serviceAccount, deployment]
}
