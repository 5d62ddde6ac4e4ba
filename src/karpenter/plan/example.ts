// The survey of a cluster for which modules/karpenter, or a person, made everything in AWS, for tests.
import { karpenterNames } from '#catalog'
import { exampleSurvey, subnet } from '../survey/example.ts'
import type { Survey } from '../survey/survey.ts'
import { policyOf, trustOf } from './controller-role.ts'
import type { Options } from './options.ts'
import { planInstall } from './plan.ts'
import type { Resource } from './resources.ts'

export const VERSION = '1.12.1'
const NAMES = karpenterNames('demo')

/** Everything that a plan creates, as found: no tag of capt's, no journal. */
export function madeByModule(identity: 'irsa' | 'pod-identity', { zonalShift = false, hasChart = true } = {}): Survey {
  const options: Options = { version: VERSION, namespace: 'karpenter', identity }
  const empty = exampleSurvey({ addons: ['eks-pod-identity-agent'], hasSpotRole: true })
  const { steps, choices } = planInstall(empty, options)
  const of = (type: Resource['type']) => steps.map(({ resource }) => resource).filter((one) => one.type === type)
  const role = (name: string, trust: unknown, inline: Record<string, unknown> = {}) => ({
    name,
    arn: `arn:aws:iam::123456789012:role/${name}`,
    trust,
    tags: {},
    attached: of('attached-policy').flatMap((one) => (one.of === name ? [one.name] : [])),
    inline,
  })
  const tags = Object.fromEntries(of('tag').map((one) => [one.of!, one.value!]))
  const [queue] = of('queue')
  const policy = policyOf(empty, VERSION)
  const shift = { Sid: 'AllowZonalShiftStatusReadOnly', Effect: 'Allow', Resource: '*' }
  return {
    ...empty,
    nodeRole: role(NAMES.nodeRole, of('node-role')[0]!.desired),
    controllerRole: role(NAMES.controllerRole, trustOf(empty, choices), {
      [NAMES.controllerPolicy]: zonalShift ? { ...policy, Statement: [...policy.Statement, shift] } : policy,
    }),
    instanceProfile: { name: NAMES.instanceProfile, roles: [NAMES.nodeRole], tags: {} } as never,
    queue: { url: '', arn: '', policy: queue!.desired, tags: {} } as never,
    rules: Object.fromEntries(
      of('rule').map((one) => [one.name, { pattern: one.desired!['pattern'], targets: [one.of!], tags: {} } as never]),
    ),
    accessEntries: of('access-entry').map(({ name }) => name),
    associations:
      identity === 'irsa'
        ? []
        : [{ id: 'a-1', namespace: 'karpenter', serviceAccount: 'karpenter', roleArn: of('association')[0]!.of! }],
    subnets: [subnet('subnet-a', 'a', { tags }), subnet('subnet-b', 'b', { tags })],
    securityGroups: [{ id: 'sg-cluster', name: 'eks-cluster-sg', tags }],
    kubernetes: {
      ...empty.kubernetes,
      flux: undefined,
      namespaces: hasChart ? [...empty.kubernetes.namespaces, 'karpenter'] : empty.kubernetes.namespaces,
      karpenter: hasChart
        ? [{ namespace: 'karpenter', name: 'karpenter', version: VERSION, replicas: 2, available: 2 }]
        : [],
    },
  }
}
