// Everything an installation consists of, in the order in which it is made, from the choices alone.
import {
  compareVersions,
  KARPENTER_DEFINITIONS,
  KARPENTER_RELEASE,
  nodeRolePolicies,
  nodeTrust,
  renderKarpenterValues,
  type Values,
} from '#catalog'
import type { ResourceRef } from '../journal.ts'
import { FLUX_NAMESPACE } from '../kinds.ts'
import type { Survey } from '../survey/survey.ts'
import type { Choices } from './choose.ts'
import { foundRelease, policyOf, queueOf, roleArn, SERVICE_ACCOUNT, trustOf } from './controller-role.ts'
import type { Options } from './options.ts'
import { poolResources, usesSpot } from './pools.ts'

const SPOT_ROLE = 'AWSServiceRoleForEC2Spot'

/** One thing as it should be. */
export interface Resource extends ResourceRef {
  /** Document, object or settings that it holds. */
  readonly desired?: Readonly<Record<string, unknown>>
  /** Shown beside its name. */
  readonly about: string
}

export interface ReleaseSettings extends Readonly<Record<string, unknown>> {
  readonly version: string
  readonly values: Values
}

export function resourcesFor(survey: Survey, choices: Choices, options: Options): readonly Resource[] {
  const { namespace, subnets, securityGroup, discoveryTag } = choices
  const { cluster } = survey
  const tag = (id: string, about: string): Resource => ({
    type: 'tag',
    name: id,
    of: discoveryTag,
    value: cluster.name,
    about,
  })
  return [
    // First, so that it goes last: it has to remove the release.
    ...(choices.ownFlux === undefined ? [] : [fluxOf(choices.ownFlux)]),
    ...nodeSide(survey, choices),
    ...queueSide(survey, choices),
    ...controllerSide(survey, choices),
    ...subnets.value.map((id) => tag(id, `${discoveryTag}=${cluster.name}, ${zoneOf(survey, id)}`)),
    ...(securityGroup.value === '' ? [] : [tag(securityGroup.value, `${discoveryTag}=${cluster.name}`)]),
    ...(usesSpot(options)
      ? [{ type: 'spot-role', name: SPOT_ROLE, about: 'of the account; it is never deleted' } as const]
      : []),
    ...(['kube-system', 'default'].includes(namespace.value)
      ? []
      : [{ type: 'namespace', name: namespace.value, about: 'of the controller' } as const]),
    ...sharedDefinitions(choices.version.value),
    {
      type: 'release',
      name: KARPENTER_RELEASE,
      of: namespace.value,
      value: choices.installer.value,
      desired: { version: choices.version.value, values: chartValues(survey, choices) } satisfies ReleaseSettings,
      about: `chart ${choices.version.value} by ${choices.installer.value === 'flux' ? 'Flux' : 'helm'}, ${choices.replicas} replicas`,
    },
    // Whatever brought Karpenter brings its pools too.
    ...(foundRelease(survey) && !options.pools ? [] : poolResources(survey, choices, options)),
  ]
}

/** An API of Kubernetes that the chart brings along: another autoscaler may use it, before capt or after it. */
function sharedDefinitions(version: string): readonly Resource[] {
  const about = 'comes with the chart; uninstall removes it unless somebody uses it'
  return KARPENTER_DEFINITIONS.filter(
    ({ isShared, since }) => isShared && compareVersions(version, since ?? '1.0') >= 0,
  ).map(({ name }) => ({ type: 'definition', name, about }))
}

const fluxOf = (version: string): Resource => ({
  type: 'flux',
  name: FLUX_NAMESPACE,
  value: version,
  about: `source-controller and helm-controller ${version}, removed by uninstall if nobody else uses them`,
})

function nodeSide(survey: Survey, { names, access, version }: Choices): readonly Resource[] {
  const arn = roleArn(survey, names.nodeRole)
  return [
    {
      type: 'node-role',
      name: names.nodeRole,
      desired: { ...nodeTrust(survey.partition) },
      about: 'of the nodes, trusts EC2',
    },
    ...nodeRolePolicies(version.value, survey.partition).map(
      (policy): Resource => ({
        type: 'attached-policy',
        name: policy,
        of: names.nodeRole,
        about: `on ${names.nodeRole}`,
      }),
    ),
    { type: 'instance-profile', name: names.instanceProfile, of: names.nodeRole, about: 'gives the nodes their role' },
    { type: access.value, name: arn, about: 'lets the nodes join' },
  ]
}

function queueSide(survey: Survey, choices: Choices): readonly Resource[] {
  const queue = queueOf(survey, choices.version.value)
  return [
    {
      type: 'queue',
      name: queue.name,
      desired: queue.policy,
      about: 'interruptions, so that nodes are drained in time',
    },
    ...queue.rules.map(
      ({ name, description, pattern }): Resource => ({
        type: 'rule',
        name,
        of: queue.arn,
        desired: { description, pattern },
        about: description,
      }),
    ),
  ]
}

function controllerSide(survey: Survey, choices: Choices): readonly Resource[] {
  const { names, namespace, identity } = choices
  const arn = roleArn(survey, names.controllerRole)
  const association: Resource = {
    type: 'association',
    name: `${namespace.value}/${SERVICE_ACCOUNT}`,
    of: arn,
    about: `Pod Identity: ${names.controllerRole}`,
  }
  return [
    {
      type: 'controller-role',
      name: names.controllerRole,
      desired: { ...trustOf(survey, choices) },
      about: `of the controller, trusts ${identity.value === 'irsa' ? `${namespace.value}/${SERVICE_ACCOUNT} through the OIDC provider` : 'Pod Identity'}`,
    },
    {
      type: 'inline-policy',
      name: names.controllerPolicy,
      of: names.controllerRole,
      desired: { ...policyOf(survey, choices.version.value) },
      about: `for Karpenter ${choices.version.value}, bound to this cluster`,
    },
    ...(identity.value === 'pod-identity' ? [association] : []),
  ]
}

export function chartValues(
  survey: Survey,
  { version, namespace, identity, names, replicas, placement }: Choices,
): Values {
  const group = { key: 'eks.amazonaws.com/nodegroup', operator: 'In', values: placement.value }
  return renderKarpenterValues({
    version: version.value,
    clusterName: survey.cluster.name,
    interruptionQueue: names.queue,
    identity: identity.value === 'irsa' ? 'irsa' : 'podIdentity',
    roleArn: identity.value === 'irsa' ? roleArn(survey, names.controllerRole) : undefined,
    namespace: namespace.value,
    replicas,
    affinity:
      placement.value.length === 0
        ? undefined
        : {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [group] }] },
            },
          },
  })
}

const zoneOf = ({ subnets }: Survey, id: string): string => subnets.find((subnet) => subnet.id === id)?.zone ?? ''
