// What a deleted cluster leaves in AWS, with moto's own ledger: balancers of both APIs, target groups, interfaces,
// security groups, instances, volumes and Karpenter's instance profiles are removed or reported exactly, and nothing of
// anybody else is touched, nor what Terraform made: roles, policies, queues and rules.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { CAPTCluster, CAPTControlPlane, clusterKind, WorkspaceTemplateApply } from '#api'
import { connectAws } from '#aws'
import { karpenterNames, ruleName } from '#catalog'
import { clusterTeardown, type Workload } from '#controllers'
import { systemClock } from '#lib'
import type { World } from '#runtime'
import { collectingLog, memoryCluster } from '#testing'
import { awsInstances } from '../../../src/controllers/shared/aws/instances.ts'
import { createMemoryInformers } from '../../../src/testing/memory-informers.ts'
import { callsOf, readAccount, textsOf } from '../../support/aws/ledger.ts'
import { findMoto, type Moto, startMoto } from '../../support/aws/moto.ts'

const REGION = 'eu-west-1'
const cluster = { namespace: 'default', name: 'demo' }
const program = findMoto()
const skip = program ? false : 'not installed: moto'

describe('what a deleted cluster leaves in AWS', { skip }, () => {
  let moto: Moto
  before(async () => {
    moto = await startMoto(program!)
    calls = callsOf(moto, REGION)
  })
  after(async () => await moto?.stop())
  beforeEach(async () => {
    assert.equal((await fetch(`${moto.url}/moto-api/reset`, { method: 'POST' })).status, 200)
  })

  const all = textsOf
  const first = (text: string, element: string) => all(text, element)[0]!
  let calls: ReturnType<typeof callsOf>
  const ec2: typeof calls.ec2 = (...call) => calls.ec2(...call)
  const elb: typeof calls.elb = (...call) => calls.elb(...call)
  const classic: typeof calls.classic = (...call) => calls.classic(...call)
  const iam: typeof calls.iam = (...call) => calls.iam(...call)
  const ledger = () => readAccount(moto, REGION)

  async function makeVpc(cidr: string): Promise<{ readonly vpc: string; readonly subnet: string }> {
    const vpc = first(await ec2('CreateVpc', { CidrBlock: `${cidr}.0.0/16` }), 'vpcId')
    const place = { VpcId: vpc, CidrBlock: `${cidr}.1.0/24`, AvailabilityZone: `${REGION}a` }
    return { vpc, subnet: first(await ec2('CreateSubnet', place), 'subnetId') }
  }

  async function makeGroup(vpc: string, name: string, tags: Tags): Promise<string> {
    const text = await ec2('CreateSecurityGroup', {
      GroupName: name,
      GroupDescription: name,
      VpcId: vpc,
      ...tagged('security-group', tags),
    })
    return first(text, 'groupId')
  }

  const makeBalancer = async (name: string, subnet: string, tags: Tags) =>
    first(
      await elb('CreateLoadBalancer', { Name: name, Type: 'network', 'Subnets.member.1': subnet, ...members(tags) }),
      'LoadBalancerArn',
    )

  const makeTargets = async (name: string, vpc: string, tags: Tags) =>
    first(
      await elb('CreateTargetGroup', { Name: name, Protocol: 'TCP', Port: '80', VpcId: vpc, ...members(tags) }),
      'TargetGroupArn',
    )

  async function makeClassic(name: string, subnet: string, tags: Tags): Promise<string> {
    const listener = { Protocol: 'tcp', LoadBalancerPort: '80', InstancePort: '80' }
    await classic('CreateLoadBalancer', {
      LoadBalancerName: name,
      'Subnets.member.1': subnet,
      ...Object.fromEntries(Object.entries(listener).map(([key, value]) => [`Listeners.member.1.${key}`, value])),
      ...members(tags),
    })
    return name
  }

  const makeInterface = async (subnet: string, tags: Tags) =>
    first(
      await ec2('CreateNetworkInterface', { SubnetId: subnet, ...tagged('network-interface', tags) }),
      'networkInterfaceId',
    )

  const runInstance = async (subnet: string, tags: Tags) =>
    first(
      await ec2('RunInstances', {
        ImageId: 'ami-12c6146b',
        InstanceType: 't3.micro',
        MinCount: '1',
        MaxCount: '1',
        SubnetId: subnet,
        ...tagged('instance', tags),
      }),
      'instanceId',
    )

  const makeVolume = async (tags: Tags) =>
    first(
      await ec2('CreateVolume', { Size: '1', AvailabilityZone: `${REGION}a`, ...tagged('volume', tags) }),
      'volumeId',
    )

  async function makeProfile(name: string, path: string, tags: Tags): Promise<string> {
    await iam('CreateInstanceProfile', { InstanceProfileName: name, Path: path, ...members(tags) })
    return `instance profile ${name}`
  }

  /** What Terraform makes for Karpenter: the role of the nodes, a policy, a profile of its own, the queue and a rule. */
  async function makeByTerraform(): Promise<readonly string[]> {
    const { nodeRole, controllerPolicy, instanceProfile, queue } = karpenterNames('demo')
    const policy = { Version: '2012-10-17', Statement: [] }
    await iam('CreateRole', { RoleName: nodeRole, AssumeRolePolicyDocument: JSON.stringify(policy) })
    const statement = { Effect: 'Allow', Action: 'ec2:DescribeInstances', Resource: '*' }
    const document = JSON.stringify({ ...policy, Statement: [statement] })
    await iam('CreatePolicy', { PolicyName: controllerPolicy, PolicyDocument: document })
    await calls.sqs('CreateQueue', { QueueName: queue })
    const rule = ruleName('demo', 'spot')
    await calls.events('PutRule', { Name: rule, EventPattern: JSON.stringify({ source: ['aws.ec2'] }) })
    const profile = await makeProfile(instanceProfile, '/', { 'kubernetes.io/cluster/demo': 'owned' })
    return [`role ${nodeRole}`, `policy ${controllerPolicy}`, `queue ${queue}`, `rule ${rule}`, profile]
  }

  interface Left {
    readonly vpc: string
    /** What the teardown should remove. */
    readonly ours: readonly string[]
    readonly instance: string
    readonly volume: string
    /** Made by Karpenter. */
    readonly profiles: readonly string[]
    /** What must stay: of other clusters, of other networks, of Terraform and EKS. */
    readonly others: readonly string[]
  }

  /** The tags as the cloud controller manager, the AWS Load Balancer Controller, the VPC CNI and Karpenter set them. */
  async function leave(): Promise<Left> {
    const owned = { 'kubernetes.io/cluster/demo': 'owned' }
    const byController = { 'elbv2.k8s.aws/cluster': 'demo' }
    const { vpc, subnet } = await makeVpc('10.0')
    const elsewhere = await makeVpc('10.1')
    const backend = await makeGroup(vpc, 'k8s-traffic-demo', byController)
    const front = await makeGroup(vpc, 'k8s-elb-a1', owned)
    const nodes = await makeGroup(vpc, 'demo-node', owned)
    const eks = await makeGroup(vpc, 'eks-cluster-sg-demo', { ...owned, 'aws:eks:cluster-name': 'demo' })
    for (const group of [backend, front])
      await ec2('AuthorizeSecurityGroupIngress', {
        GroupId: nodes,
        'IpPermissions.1.IpProtocol': 'tcp',
        'IpPermissions.1.FromPort': '30000',
        'IpPermissions.1.ToPort': '32767',
        'IpPermissions.1.Groups.1.GroupId': group,
      })
    const ours = [
      `load balancer ${await makeBalancer('k8s-shop', subnet, byController)}`,
      `load balancer ${await makeBalancer('a-network', subnet, owned)}`,
      `target group ${await makeTargets('k8s-shop', vpc, byController)}`,
      `classic load balancer ${await makeClassic('a1', subnet, owned)}`,
      `network interface ${await makeInterface(subnet, { 'cluster.k8s.amazonaws.com/name': 'demo' })}`,
      `security group ${backend}`,
      `security group ${front}`,
    ]
    const others = [
      `security group ${nodes}`,
      `security group ${eks}`,
      `load balancer ${await makeBalancer('other', subnet, { 'elbv2.k8s.aws/cluster': 'other' })}`,
      `load balancer ${await makeBalancer('unmarked', subnet, {})}`,
      `load balancer ${await makeBalancer('namesake', elsewhere.subnet, byController)}`,
      `target group ${await makeTargets('namesake', elsewhere.vpc, byController)}`,
      `network interface ${await makeInterface(subnet, {})}`,
      `security group ${await makeGroup(elsewhere.vpc, 'k8s-traffic-demo', byController)}`,
    ]
    const here = { ...owned, 'topology.kubernetes.io/region': REGION }
    const profiles = [
      await makeProfile('demo_17', '/', here),
      await makeProfile('demo_18', `/karpenter/${REGION}/demo/uid/`, here),
    ]
    const foreign = [
      await makeProfile('demo_19', '/', { ...owned, 'topology.kubernetes.io/region': 'us-east-2' }),
      await makeProfile('demo_20', '/', {}),
      ...(await makeByTerraform()),
    ]
    const instance = await runInstance(subnet, { ...owned, 'karpenter.sh/nodepool': 'default' })
    const volume = await makeVolume({ ...owned, 'ebs.csi.aws.com/cluster': 'true' })
    return { vpc, ours, others: [...others, ...foreign], profiles, instance, volume }
  }

  /** The control plane's own teardown over moto, to its end. */
  async function tearDown(vpcId: string | undefined, workload: Workload | undefined) {
    const { objects, storage } = memoryCluster()
    const object = (kind: { readonly apiVersion: string; readonly kind: string }, name: string, more: object) => ({
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { namespace: 'default', name },
      ...more,
    })
    const ref = (kind: { readonly group: string; readonly kind: string }) => ({
      apiGroup: kind.group,
      kind: kind.kind,
      name: 'demo',
    })
    storage.seed(clusterKind('v1beta2'), {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: cluster,
      spec: { controlPlaneRef: ref(CAPTControlPlane), infrastructureRef: ref(CAPTCluster) },
    } as never)
    const infra = { spec: { region: REGION }, ...(vpcId === undefined ? {} : { status: { vpcId } }) }
    storage.seed(CAPTCluster, object(CAPTCluster, 'demo', infra) as never)
    storage.seed(CAPTControlPlane, object(CAPTControlPlane, 'demo', { spec: { version: '1.35' } }) as never)
    const apply = { spec: { variables: { cluster_name: 'demo', region: REGION } } }
    storage.seed(WorkspaceTemplateApply, object(WorkspaceTemplateApply, 'demo-eks-controlplane-apply', apply) as never)
    const cache = createMemoryInformers(storage, 'sync')
    for (const kind of [clusterKind('v1beta2'), CAPTControlPlane]) cache.register(kind)
    cache.start()
    await cache.synced()
    process.env['AWS_ACCESS_KEY_ID'] = process.env['AWS_SECRET_ACCESS_KEY'] = 'testing'
    const aws = connectAws({ clock: systemClock, endpointUrl: moto.url, timeoutMs: 120_000 })
    const instances = awsInstances({ objects, cache, clusterApi: 'v1beta2', aws })
    const teardown = clusterTeardown({ workloads: { open: async () => workload }, instances })
    const events: string[] = []
    const world = {
      objects,
      cache,
      clock: systemClock,
      log: collectingLog(),
      events: { emit: (_about: unknown, { message }: { message: string }) => void events.push(message) },
    } as unknown as World
    const deadline = Date.now() + 240_000
    for (;;) {
      assert.ok(Date.now() < deadline, 'the teardown ends')
      const { isOver, leftovers, message } = await teardown.advance(
        world,
        cluster,
        object(CAPTControlPlane, 'demo', {}),
        'before',
      )
      if (isOver) return { leftovers: [...leftovers].sort(), events, message }
    }
  }

  const silent = undefined
  const alive = (): Workload => ({ objects: memoryCluster().objects, watch: () => () => undefined })

  for (const [what, workload] of [
    ['dead', () => silent],
    ['alive', alive],
  ] as const)
    it(`is removed or reported exactly with the API ${what}, and nothing else is touched`, async () => {
      const left = await leave()
      const reported = [`instance ${left.instance}`, `volume ${left.volume}`, ...left.profiles].sort()
      const before = await ledger()
      for (const one of [...left.ours, ...left.others, ...reported]) assert.ok(before.includes(one), one)

      const { leftovers, events } = await tearDown(left.vpc, workload())
      assert.deepEqual(leftovers, reported)
      const now = await ledger()
      const roots = before.filter((one) => ![...left.ours, ...left.others, ...reported].includes(one))
      assert.deepEqual(now, [...left.others, ...reported, ...roots].sort(), 'roots: disks that go with their machine')
      const rules = await ec2('DescribeSecurityGroups')
      for (const one of left.ours.filter((text) => text.startsWith('security group ')))
        assert.ok(!rules.includes(one.split(' ').at(-1)!), `${one} is in no rule`)
      for (const one of left.ours) assert.ok(events.join().includes(one), `${one} was announced`)
    })

  it('is only reported when the VPC of the cluster is not known', async () => {
    const left = await leave()
    const before = await ledger()
    const { leftovers } = await tearDown(undefined, silent)
    assert.deepEqual(await ledger(), before)
    const namesakes = left.others.slice(4, 8).filter((one) => !one.startsWith('network interface'))
    const machine = [`instance ${left.instance}`, `volume ${left.volume}`, ...left.profiles]
    const expected = [...left.ours, ...namesakes, ...machine]
    assert.deepEqual(leftovers, expected.sort())
  })

  it('is removed when there are more balancers than AWS describes the tags of at once', async () => {
    const { vpc, subnet } = await makeVpc('10.0')
    const tags = { 'elbv2.k8s.aws/cluster': 'demo' }
    const made: string[] = []
    for (let i = 0; i < 25; i++) made.push(`load balancer ${await makeBalancer(`k8s-${i}`, subnet, tags)}`)
    const { leftovers } = await tearDown(vpc, silent)
    assert.deepEqual(leftovers, [])
    assert.deepEqual(await ledger(), [])
    assert.equal(made.length, 25)
  })
})

type Tags = Readonly<Record<string, string>>

const tagged = (resource: string, tags: Tags): Record<string, string> =>
  Object.keys(tags).length === 0
    ? {}
    : {
        'TagSpecification.1.ResourceType': resource,
        ...Object.fromEntries(
          Object.entries(tags).flatMap(([key, value], i) => [
            [`TagSpecification.1.Tag.${i + 1}.Key`, key],
            [`TagSpecification.1.Tag.${i + 1}.Value`, value],
          ]),
        ),
      }

const members = (tags: Tags): Record<string, string> =>
  Object.fromEntries(
    Object.entries(tags).flatMap(([key, value], i) => [
      [`Tags.member.${i + 1}.Key`, key],
      [`Tags.member.${i + 1}.Value`, value],
    ]),
  )
