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
import { createMemoryInformers } from '../../../src/testing/memory/informers.ts'
import { callsOf, readAccount } from '../../support/aws/ledger.ts'
import { makersOf } from '../../support/aws/makers.ts'
import { findMoto, type Moto, startMoto } from '../../support/aws/moto.ts'
import { planted } from '../../support/secrets/planted.ts'
import { assertEveryKind, assertLedger } from '../../support/teardown/ledger.ts'

const REGION = 'eu-west-1'
const cluster = { namespace: 'default', name: 'demo' }
const program = findMoto()
const skip = program ? false : 'not installed: moto'

describe('what a deleted cluster leaves in AWS', { skip }, () => {
  let moto: Moto
  before(async () => {
    moto = await startMoto(program!)
    calls = callsOf(moto, REGION)
    makers = makersOf(moto, REGION)
  })
  after(async () => await moto?.stop())
  beforeEach(async () => {
    assert.equal((await fetch(`${moto.url}/moto-api/reset`, { method: 'POST' })).status, 200)
  })

  let calls: ReturnType<typeof callsOf>
  let makers: ReturnType<typeof makersOf>
  const ledger = () => readAccount(moto, REGION)

  /** What Terraform makes for Karpenter: the role of the nodes, a policy, a profile of its own, the queue and a rule. */
  async function makeByTerraform(): Promise<readonly string[]> {
    const { nodeRole, controllerPolicy, instanceProfile, queue } = karpenterNames('demo')
    const policy = { Version: '2012-10-17', Statement: [] }
    await calls.iam('CreateRole', { RoleName: nodeRole, AssumeRolePolicyDocument: JSON.stringify(policy) })
    const statement = { Effect: 'Allow', Action: 'ec2:DescribeInstances', Resource: '*' }
    const document = JSON.stringify({ ...policy, Statement: [statement] })
    await calls.iam('CreatePolicy', { PolicyName: controllerPolicy, PolicyDocument: document })
    await calls.sqs('CreateQueue', { QueueName: queue })
    const rule = ruleName('demo', 'spot')
    await calls.events('PutRule', { Name: rule, EventPattern: JSON.stringify({ source: ['aws.ec2'] }) })
    const profile = await makers.makeProfile(instanceProfile, '/', { 'kubernetes.io/cluster/demo': 'owned' })
    return [`role ${nodeRole}`, `policy ${controllerPolicy}`, `queue ${queue}`, `rule ${rule}`, profile]
  }

  /** What controllers of the cluster made, and `others`, which must stay: of other clusters and networks, of Terraform and EKS. */
  async function leave() {
    const { makeBalancer, makeGroup, makeInterface, makeProfile, makeTargets, makeVpc, furnish } = makers
    const owned = { 'kubernetes.io/cluster/demo': 'owned' }
    const byController = { 'elbv2.k8s.aws/cluster': 'demo' }
    const place = await makeVpc('10.0')
    const elsewhere = await makeVpc('10.1')
    const made = await furnish('demo', place)
    const nodes = await makeGroup(place.vpc, 'demo-node', owned)
    const eks = await makeGroup(place.vpc, 'eks-cluster-sg-demo', { ...owned, 'aws:eks:cluster-name': 'demo' })
    for (const group of made.groups)
      await calls.ec2('AuthorizeSecurityGroupIngress', {
        GroupId: nodes,
        'IpPermissions.1.IpProtocol': 'tcp',
        'IpPermissions.1.FromPort': '30000',
        'IpPermissions.1.ToPort': '32767',
        'IpPermissions.1.Groups.1.GroupId': group,
      })
    /** Of this name, in another network. */
    const namesakes = [
      await makeBalancer('namesake', elsewhere.subnet, byController),
      await makeTargets('namesake', elsewhere.vpc, byController),
      `security group ${await makeGroup(elsewhere.vpc, 'k8s-traffic-demo', byController)}`,
    ]
    const others = [
      ...namesakes,
      `security group ${nodes}`,
      `security group ${eks}`,
      await makeBalancer('other', place.subnet, { 'elbv2.k8s.aws/cluster': 'other' }),
      await makeBalancer('unmarked', place.subnet, {}),
      await makeInterface(place.subnet, {}),
      await makeProfile('demo_19', '/', { ...owned, 'topology.kubernetes.io/region': 'us-east-2' }),
      await makeProfile('demo_20', '/', {}),
      ...(await makeByTerraform()),
    ]
    const reported = [made.instance, made.volume, ...made.profiles].sort()
    return { vpc: place.vpc, network: made.network, reported, others, namesakes }
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
    process.env['AWS_ACCESS_KEY_ID'] = 'testing'
    process.env['AWS_SECRET_ACCESS_KEY'] = planted('moto')
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
      const { vpc, network, reported, others } = await leave()
      const before = await ledger()
      for (const one of [...network, ...others, ...reported]) assert.ok(before.includes(one), one)

      assertEveryKind(before)
      const { leftovers, events } = await tearDown(vpc, workload())
      // Disks that go with their machine.
      const roots = before.filter((one) => ![...network, ...others, ...reported].includes(one))
      await assertLedger({ held: ledger, reported: () => leftovers }, reported, { others: [...others, ...roots] })
      const rules = await calls.ec2('DescribeSecurityGroups')
      for (const one of network.filter((text) => text.startsWith('security group ')))
        assert.ok(!rules.includes(one.split(' ').at(-1)!), `${one} is in no rule`)
      for (const one of network) assert.ok(events.join().includes(one), `${one} was announced`)
    })

  it('is only reported when the VPC of the cluster is not known', async () => {
    const { network, reported, namesakes } = await leave()
    const before = await ledger()
    const { leftovers } = await tearDown(undefined, silent)
    assert.deepEqual(await ledger(), before)
    assert.deepEqual(leftovers, [...network, ...namesakes, ...reported].sort())
  })

  it('is removed when there are more balancers than AWS describes the tags of at once', async () => {
    const { vpc, subnet } = await makers.makeVpc('10.0')
    const tags = { 'elbv2.k8s.aws/cluster': 'demo' }
    const made: string[] = []
    for (let i = 0; i < 25; i++) made.push(await makers.makeBalancer(`k8s-${i}`, subnet, tags))
    const { leftovers } = await tearDown(vpc, silent)
    assert.deepEqual(leftovers, [])
    assert.deepEqual(await ledger(), [])
    assert.equal(made.length, 25)
  })
})
