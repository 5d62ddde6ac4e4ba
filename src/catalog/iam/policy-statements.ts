// What the Karpenter controller may do in AWS, statement by statement, each with the versions it belongs to.
// Scoped by tags: the controller starts, tags and ends only what carries this cluster's name.
import { isAtLeast } from '../version.ts'

export interface Statement {
  readonly Sid: string
  readonly Effect: 'Allow'
  readonly Action: string | readonly string[]
  readonly Resource: string | readonly string[]
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>
}

export const allow = (
  Sid: string,
  Action: Statement['Action'],
  Resource: Statement['Resource'],
  Condition?: Statement['Condition'],
): Statement => ({ Sid, Effect: 'Allow', Action, Resource, ...(Condition ? { Condition } : {}) })

export interface PolicyScope {
  readonly partition: string
  readonly region: string
  readonly accountId: string
  readonly clusterName: string
  readonly nodeRoleArn: string
  /** Left out when there is no interruption queue. */
  readonly queueArn?: string | undefined
  /** Ask the zonal shift service before using a zone (1.12 and later). */
  readonly zonalShift?: boolean | undefined
}

const NODEPOOL = 'karpenter.sh/nodepool'
const PROVISIONER = 'karpenter.sh/provisioner-name'
const EKS_NAME = 'eks:eks-cluster-name'

export function nodeLifecycle(version: string, scope: PolicyScope): Statement[] {
  const since = (floor: string) => isAtLeast(version, floor)
  const ec2 = (kind: string) =>
    `arn:${scope.partition}:ec2:${scope.region}:${kind === 'image' || kind === 'snapshot' ? '' : '*'}:${kind}/*`
  const split = since('0.37.0')
  const spot = since('0.33.0')
  const access = [
    'image',
    'snapshot',
    ...(spot ? [] : ['spot-instances-request']),
    'security-group',
    'subnet',
    ...(split ? [] : ['launch-template']),
    ...(since('1.3.0') ? ['capacity-reservation'] : []),
    ...(since('1.11.0') ? ['placement-group'] : []),
  ]
  const made = [
    'fleet',
    'instance',
    'volume',
    'network-interface',
    'launch-template',
    ...(spot ? ['spot-instances-request'] : []),
  ]
  const statements: Statement[] = [
    allow(
      split ? 'AllowScopedEC2InstanceAccessActions' : 'AllowScopedEC2InstanceActions',
      ['ec2:RunInstances', 'ec2:CreateFleet'],
      access.map(ec2),
    ),
  ]
  // 0.32 runs both APIs at once; its nodes carry one of two tags.
  const poolTags = since('0.33.0') ? [NODEPOOL] : [NODEPOOL, PROVISIONER]
  return [...statements, ...poolTags.flatMap((tag) => taggedStatements(version, scope, tag, made.map(ec2), ec2))]
}

function taggedStatements(
  version: string,
  scope: PolicyScope,
  poolTag: string,
  made: readonly string[],
  ec2: (kind: string) => string,
): Statement[] {
  const since = (floor: string) => isAtLeast(version, floor)
  const suffix = poolTag === PROVISIONER ? 'OfProvisioners' : ''
  const cluster = `kubernetes.io/cluster/${scope.clusterName}`
  const owned = {
    StringEquals: { [`aws:ResourceTag/${cluster}`]: 'owned' },
    StringLike: { [`aws:ResourceTag/${poolTag}`]: '*' },
  }
  const asked = {
    [`aws:RequestTag/${cluster}`]: 'owned',
    ...(since('1.1.0') ? { [`aws:RequestTag/${EKS_NAME}`]: scope.clusterName } : {}),
  }
  const askedPool = { [`aws:RequestTag/${poolTag}`]: '*' }
  const launchTemplates = allow(
    `AllowScopedEC2LaunchTemplateAccessActions${suffix}`,
    ['ec2:RunInstances', 'ec2:CreateFleet'],
    ec2('launch-template'),
    owned,
  )
  return [
    ...(since('0.37.0') ? [launchTemplates] : []),
    allow(
      `AllowScopedEC2InstanceActionsWithTags${suffix}`,
      ['ec2:RunInstances', 'ec2:CreateFleet', 'ec2:CreateLaunchTemplate'],
      made,
      { StringEquals: asked, StringLike: askedPool },
    ),
    allow(`AllowScopedResourceCreationTagging${suffix}`, 'ec2:CreateTags', made, {
      StringEquals: { ...asked, 'ec2:CreateAction': ['RunInstances', 'CreateFleet', 'CreateLaunchTemplate'] },
      StringLike: askedPool,
    }),
    allow(`AllowScopedResourceTagging${suffix}`, 'ec2:CreateTags', ec2('instance'), {
      ...owned,
      ...(since('1.0.0') ? { StringEqualsIfExists: { [`aws:RequestTag/${EKS_NAME}`]: scope.clusterName } } : {}),
      'ForAllValues:StringEquals': {
        'aws:TagKeys': [...(since('1.0.0') ? [EKS_NAME] : []), 'karpenter.sh/nodeclaim', 'Name'],
      },
    }),
    allow(
      `AllowScopedDeletion${suffix}`,
      ['ec2:TerminateInstances', 'ec2:DeleteLaunchTemplate'],
      [ec2('instance'), ec2('launch-template')],
      owned,
    ),
  ]
}
