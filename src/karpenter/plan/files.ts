// A plan as files: the documents of the guide for those who apply them by hand, or variables for the Terraform module.
import { toYamlDocuments } from '#api'
import { fluxChart, karpenterChart, nodeTrust } from '#catalog'
import type { Survey } from '../survey/survey.ts'
import { policyOf, trustOf } from './controller-role.ts'
import type { Options } from './options.ts'
import type { Plan } from './plan.ts'
import { poolObjects } from './pools.ts'
import { chartValues } from './resources.ts'

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** By file name. */
export function guideFiles(survey: Survey, { choices }: Plan, options: Options): Readonly<Record<string, string>> {
  const { version, namespace } = choices
  const objects = fluxChart({
    ...karpenterChart(version.value),
    fluxVersion: survey.kubernetes.flux?.version ?? '2.6.0',
    namespace: namespace.value,
    values: chartValues(survey, choices),
    labels: {},
  })
  const documents = [
    ...(namespace.value === 'kube-system'
      ? []
      : [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace.value } }]),
    ...objects.map(({ metadata: { finalizers: _finalizers, labels: _labels, ...metadata }, ...rest }) => ({
      ...rest,
      metadata,
    })),
    ...poolObjects(survey, choices, options),
  ]
  return {
    'node-trust-policy.json': json(nodeTrust(survey.partition)),
    'controller-trust-policy.json': json(trustOf(survey, choices)),
    'controller-policy.json': json(policyOf(survey, version.value)),
    'karpenter.yaml': toYamlDocuments(documents),
  }
}

/** Variables of modules/karpenter that lead to the same installation. */
export function terraformVariables(
  survey: Survey,
  { choices }: Plan,
  { pools }: Options,
): Readonly<Record<string, string>> {
  const { version, namespace, identity, subnets, securityGroup, replicas, placement, discoveryTag, installer } = choices
  // Pools of a file are applied by hand, and those of a chart that Flux brings come after it.
  const hasPool = installer.value === 'helm' && pools === undefined
  const expression = { key: 'eks.amazonaws.com/nodegroup', operator: 'In', values: placement.value }
  const term = { nodeSelectorTerms: [{ matchExpressions: [expression] }] }
  const variables = {
    region: survey.region,
    eks_cluster_name: survey.cluster.name,
    helm_chart_version: version.value,
    namespace: namespace.value,
    create_namespace: namespace.value !== 'kube-system',
    identity: identity.value === 'irsa' ? 'irsa' : 'pod_identity',
    replica_count: replicas,
    subnet_ids: subnets.value,
    security_group_id: securityGroup.value,
    discovery_tag: discoveryTag,
    install_chart: installer.value === 'helm',
    require_spot_role: survey.hasSpotRole,
    default_node_pool: hasPool,
    ...(hasPool ? { node_pool: { zones: choices.zones, image: choices.image.value } } : {}),
    ...(placement.value.length === 0
      ? {}
      : { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term } } }),
  }
  return { 'karpenter.auto.tfvars.json': json(variables) }
}
