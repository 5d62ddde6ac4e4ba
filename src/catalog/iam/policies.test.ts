import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { interruptionQueue } from '../karpenter/interruption.ts'
import { karpenterNames, ruleName } from '../karpenter/names.ts'
import { partitionNames, partitionOf, partitionOfRegion } from '../partitions.ts'
import { INLINE_POLICY_LIMIT, inlineControllerPolicy, joinedPolicy, sizeOf } from './policies.ts'
import type { PolicyScope, Statement } from './policy-statements.ts'
import { controllerTrust, nodeRolePolicies, nodeTrust } from './roles.ts'

const scope = (over: Partial<PolicyScope> = {}): PolicyScope => ({
  partition: 'aws',
  region: 'ap-northeast-2',
  accountId: '111122223333',
  clusterName: 'abcdefghijklmnopqrstu',
  nodeRoleArn: 'arn:aws:iam::111122223333:role/KarpenterNodeRole-abcdefghijklmnopqrstu',
  queueArn: 'arn:aws:sqs:ap-northeast-2:111122223333:Karpenter-abcdefghijklmnopqrstu',
  zonalShift: true,
  ...over,
})
const list = (value: string | readonly string[]) => (typeof value === 'string' ? [value] : value)
const statementsOf = (version: string, over: Partial<PolicyScope> = {}): readonly Statement[] =>
  joinedPolicy(version, scope(over)).Statement
const actionsOf = (statements: readonly Statement[]) =>
  [...new Set(statements.flatMap(({ Action }) => list(Action)))].sort()

const BASE = [
  'ec2:CreateFleet',
  'ec2:CreateLaunchTemplate',
  'ec2:CreateTags',
  'ec2:DeleteLaunchTemplate',
  'ec2:RunInstances',
  'ec2:TerminateInstances',
  'ec2:DescribeImages',
  'ec2:DescribeInstances',
  'ec2:DescribeInstanceTypeOfferings',
  'ec2:DescribeInstanceTypes',
  'ec2:DescribeLaunchTemplates',
  'ec2:DescribeSecurityGroups',
  'ec2:DescribeSpotPriceHistory',
  'ec2:DescribeSubnets',
  'iam:PassRole',
  'iam:CreateInstanceProfile',
  'iam:TagInstanceProfile',
  'iam:AddRoleToInstanceProfile',
  'iam:RemoveRoleFromInstanceProfile',
  'iam:DeleteInstanceProfile',
  'iam:GetInstanceProfile',
  'ssm:GetParameter',
  'pricing:GetProducts',
  'eks:DescribeCluster',
  'sqs:DeleteMessage',
  'sqs:GetQueueUrl',
  'sqs:ReceiveMessage',
]
const ZONES = ['ec2:DescribeAvailabilityZones']
const TABLE: Readonly<Record<string, readonly string[]>> = {
  '0.32.10': [...BASE, ...ZONES],
  '0.33.12': [...BASE, ...ZONES],
  '0.37.7': [...BASE, ...ZONES],
  '1.0.8': [...BASE, ...ZONES],
  '1.1.0': [...BASE, ...ZONES],
  '1.2.0': BASE,
  '1.3.3': [...BASE, 'ec2:DescribeCapacityReservations'],
  '1.6.3': [...BASE, 'ec2:DescribeCapacityReservations'],
  '1.7.0': [...BASE, 'ec2:DescribeCapacityReservations', 'iam:ListInstanceProfiles'],
  '1.11.0': [...BASE, 'ec2:DescribeCapacityReservations', 'iam:ListInstanceProfiles', 'ec2:DescribePlacementGroups'],
  '1.12.0': [
    ...BASE,
    'ec2:DescribeCapacityReservations',
    'iam:ListInstanceProfiles',
    'ec2:DescribePlacementGroups',
    'ec2:DescribeInstanceStatus',
    'arc-zonal-shift:GetManagedResource',
  ],
  '1.14.1': [
    ...BASE,
    'ec2:DescribeCapacityReservations',
    'iam:ListInstanceProfiles',
    'ec2:DescribePlacementGroups',
    'ec2:DescribeInstanceStatus',
    'arc-zonal-shift:GetManagedResource',
  ],
}
/** Actions that AWS can scope; each must carry a condition or name its resource. */
const UNSCOPED = new Set(['AllowPricingReadActions', 'AllowUnscopedInstanceProfileListAction'])

describe('controller policy', () => {
  for (const [version, actions] of Object.entries(TABLE)) {
    it(`for Karpenter ${version} allows exactly what that version asks for`, () => {
      const document = joinedPolicy(version, scope())
      assert.deepEqual(JSON.parse(JSON.stringify(document)), document)
      assert.deepEqual(actionsOf(statementsOf(version)), [...actions].sort())
      const sids = statementsOf(version).map(({ Sid }) => Sid)
      assert.deepEqual([...new Set(sids)], sids)
    })

    it(`for Karpenter ${version} leaves nothing open that can be scoped`, () => {
      for (const { Sid, Resource, Condition } of statementsOf(version, { partition: 'aws-cn' })) {
        if (!UNSCOPED.has(Sid) && !(Sid === 'AllowInstanceProfileReadActions' && version.startsWith('0.')))
          assert.ok(Condition || !list(Resource).includes('*'), `${Sid} is open`)
        for (const arn of list(Resource).filter(
          (resource) => !resource.includes(':role/') && !resource.includes(':sqs:'),
        ))
          assert.match(arn, /^(\*|arn:aws-cn:)/)
      }
    })
  }

  it('is refused when it is over the limit of a role', () => {
    const clusterName = 'x'.repeat(1000)
    assert.throws(() => inlineControllerPolicy('1.14.1', scope({ clusterName })), { code: 'CAPT_POLICY_TOO_LARGE' })
  })

  it('fits for every cluster name, region and partition', () => {
    const name = fc.stringMatching(/^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/)
    fc.assert(
      fc.property(
        name,
        fc.constantFrom(...partitionNames()),
        fc.constantFrom(...Object.keys(TABLE).filter((version) => version !== '0.32.10')),
        (clusterName, partition, version) => {
          const names = karpenterNames(clusterName)
          const input = scope({
            clusterName,
            partition,
            region: 'ap-southeast-2',
            nodeRoleArn: `arn:${partition}:iam::111122223333:role/${names.nodeRole}`,
            queueArn: `arn:${partition}:sqs:ap-southeast-2:111122223333:${names.queue}`,
          })
          assert.ok(sizeOf(inlineControllerPolicy(version, input)) <= INLINE_POLICY_LIMIT)
        },
      ),
      { numRuns: 200 },
    )
  })

  it('allows both tags while 0.32 runs both APIs, and only the node pool tag afterwards', () => {
    assert.match(JSON.stringify(statementsOf('0.32.10')), /karpenter.sh\/provisioner-name/)
    assert.doesNotMatch(JSON.stringify(statementsOf('0.33.12')), /karpenter.sh\/provisioner-name/)
  })

  it('ends instances by tag, never by their name', () => {
    const deletion = statementsOf('1.14.1').find(({ Sid }) => Sid === 'AllowScopedDeletion')!
    assert.deepEqual(deletion.Condition, {
      StringEquals: { 'aws:ResourceTag/kubernetes.io/cluster/abcdefghijklmnopqrstu': 'owned' },
      StringLike: { 'aws:ResourceTag/karpenter.sh/nodepool': '*' },
    })
  })

  it('leaves out what is not used: the queue, zonal shift', () => {
    const bare = actionsOf(statementsOf('1.14.1', { queueArn: undefined, zonalShift: false }))
    assert.deepEqual(
      bare.filter((action) => /^(sqs|arc)/.test(action)),
      [],
    )
  })

  it('is refused for versions capt does not install and for partitions it does not know', () => {
    assert.throws(() => inlineControllerPolicy('0.31.4', scope()), { code: 'CAPT_KARPENTER_TOO_OLD' })
    assert.throws(() => nodeTrust('aws-iso'), { code: 'CAPT_PARTITION_UNSUPPORTED' })
  })
})

describe('roles', () => {
  it('give nodes the four managed policies of the partition', () => {
    assert.deepEqual(nodeRolePolicies('1.14.1', 'aws-us-gov'), [
      'arn:aws-us-gov:iam::aws:policy/AmazonEKSWorkerNodePolicy',
      'arn:aws-us-gov:iam::aws:policy/AmazonEKS_CNI_Policy',
      'arn:aws-us-gov:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly',
      'arn:aws-us-gov:iam::aws:policy/AmazonSSMManagedInstanceCore',
    ])
    assert.ok(nodeRolePolicies('0.37.7', 'aws')[2]?.endsWith('ReadOnly'))
    assert.deepEqual(nodeTrust('aws-cn').Statement[0]?.Principal, { Service: 'ec2.amazonaws.com.cn' })
  })

  it('trust exactly one service account of one cluster by web identity', () => {
    const trust = controllerTrust({
      identity: 'irsa',
      partition: 'aws',
      accountId: '1',
      issuer: 'https://oidc.eks.eu-west-1.amazonaws.com/id/AB',
      namespace: 'karpenter',
    })
    assert.deepEqual(trust.Statement[0], {
      Effect: 'Allow',
      Principal: { Federated: 'arn:aws:iam::1:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/AB' },
      Action: 'sts:AssumeRoleWithWebIdentity',
      Condition: {
        StringEquals: {
          'oidc.eks.eu-west-1.amazonaws.com/id/AB:aud': 'sts.amazonaws.com',
          'oidc.eks.eu-west-1.amazonaws.com/id/AB:sub': 'system:serviceaccount:karpenter:karpenter',
        },
      },
    })
    const broken = {
      identity: 'irsa',
      partition: 'aws',
      accountId: '1',
      issuer: 'not an issuer',
      namespace: 'k',
    } as const
    assert.throws(() => controllerTrust(broken), { code: 'CAPT_OIDC_ISSUER_INVALID' })
  })

  it('trust Pod Identity without any annotation', () => {
    assert.deepEqual(controllerTrust({ identity: 'podIdentity' }).Statement, [
      {
        Effect: 'Allow',
        Principal: { Service: 'pods.eks.amazonaws.com' },
        Action: ['sts:AssumeRole', 'sts:TagSession'],
      },
    ])
    assert.ok(
      controllerTrust({ identity: 'podIdentity', accountId: '1', clusterArn: 'arn:aws:eks:r:1:cluster/c' }).Statement[0]
        ?.Condition,
    )
  })

  it('have the names of the guide, cut to the limit with a hash when the cluster name is long', () => {
    assert.deepEqual(karpenterNames('demo'), {
      nodeRole: 'KarpenterNodeRole-demo',
      instanceProfile: 'KarpenterNodeInstanceProfile-demo',
      controllerRole: 'KarpenterControllerRole-demo',
      controllerPolicy: 'KarpenterControllerPolicy-demo',
      queue: 'Karpenter-demo',
    })
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9A-Za-z][0-9A-Za-z_-]{90,99}$/), (name) => {
        const names = karpenterNames(name)
        assert.ok(names.nodeRole.length <= 64 && names.controllerRole.length <= 64 && names.queue.length <= 80)
        assert.ok(ruleName(name, 'reservation').length <= 64)
        assert.notEqual(
          names.nodeRole,
          karpenterNames(`${name.slice(0, -1)}${name.endsWith('a') ? 'b' : 'a'}`).nodeRole,
        )
      }),
      { numRuns: 50 },
    )
    assert.throws(() => karpenterNames('no spaces'), { code: 'CAPT_CLUSTER_NAME_INVALID' })
  })

  it('know the partition of a region', () => {
    assert.deepEqual(
      ['us-gov-west-1', 'cn-north-1', 'ap-northeast-2'].map((region) => partitionOfRegion(region).name),
      ['aws-us-gov', 'aws-cn', 'aws'],
    )
    for (const region of ['us-iso-east-1', 'eusc-de-east-1'])
      assert.throws(() => partitionOf(partitionOfRegion(region).name), { code: 'CAPT_PARTITION_UNSUPPORTED' })
    assert.throws(() => partitionOf('moon'), { code: 'CAPT_PARTITION_UNSUPPORTED' })
    assert.deepEqual(partitionNames(), ['aws', 'aws-cn', 'aws-us-gov'])
  })
})

describe('interruption queue', () => {
  const input = { clusterName: 'demo', partition: 'aws', region: 'eu-west-1', accountId: '1' }
  it('has four rules, and a fifth from 1.10 on', () => {
    assert.deepEqual(
      interruptionQueue({ ...input, version: '1.9.0' }).rules.map(({ key }) => key),
      ['health', 'spot', 'rebalance', 'state'],
    )
    assert.equal(interruptionQueue({ ...input, version: '1.10.0' }).rules.length, 5)
  })
  it('is encrypted, short-lived, named, and takes messages only over TLS from the event service', () => {
    const queue = interruptionQueue({ ...input, version: '1.14.1' })
    assert.partialDeepStrictEqual(queue, {
      name: 'Karpenter-demo',
      arn: 'arn:aws:sqs:eu-west-1:1:Karpenter-demo',
      retentionSeconds: 300,
      managedEncryption: true,
    })
    assert.match(JSON.stringify(queue.policy), /"Deny".*"aws:SecureTransport":"false"/)
  })
})
