// The life of a cluster against memory: the provider's controllers and core's stand-in run as they do in the embedded
// home; only Terraform and AWS are played. Each known bug of the older project has a test that would catch it.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  CLUSTER_SECRET_TYPE,
  readCluster,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { AwsError } from '#aws'
import {
  aCluster,
  applyAll,
  ClusterKind,
  type ClusterWorld,
  type ClusterWorldOptions,
  claimByHand,
  clusterWorld,
  fakeAws,
} from '../../support/cluster/world.ts'

type Applied = ReturnType<typeof aCluster>[number]
const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

async function begin(options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const world = await clusterWorld(options)
  worlds.push(world)
  return world
}

async function ready(
  over: Parameters<typeof aCluster>[1] = {},
  options: ClusterWorldOptions = {},
): Promise<ClusterWorld> {
  const world = await begin(options)
  await applyAll(world, aCluster('demo', over))
  await world.settle()
  return world
}

describe('a cluster', () => {
  it('goes from three manifests to a control plane that Cluster API can use', async () => {
    const world = await ready()
    assert.deepEqual(
      world.ledger.map(({ verb, name }) => `${verb} ${name}`),
      ['apply demo-vpc', 'apply demo-eks-controlplane-apply'],
    )
    const facts = readCluster(world.get(ClusterKind, 'demo')!)
    assert.partialDeepStrictEqual(facts, {
      infrastructureProvisioned: true,
      controlPlaneInitialized: true,
      endpoint: { host: 'demo.eks.test', port: 443 },
    })
    const infra = world.get<CAPTCluster>(CAPTCluster, 'demo')!
    assert.partialDeepStrictEqual(infra.status, {
      ready: true,
      initialization: { provisioned: true },
      vpcId: 'vpc-0demo',
      privateSubnets: ['subnet-a', 'subnet-b'],
      availabilityZones: ['eu-west-1a', 'eu-west-1b'],
    })
    const plane = world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')!
    assert.partialDeepStrictEqual(plane.status, {
      ready: true,
      initialized: true,
      initialization: { controlPlaneInitialized: true },
      externalManagedControlPlane: true,
      version: 'v1.34.0',
      versions: [{ version: 'v1.34.0' }],
      phase: 'Ready',
      secretsReady: true,
      workspaceStatus: { ready: true, atProvider: { outputs: { cluster_name: 'demo' } } },
    })
    for (const [kind, type] of [
      [CAPTCluster, 'Ready'],
      [CAPTCluster, 'VPCReady'],
      [CAPTControlPlane, 'Ready'],
      [CAPTControlPlane, 'Available'],
      [CAPTControlPlane, 'KubeconfigAvailable'],
      [ClusterKind, 'Available'],
    ] as const)
      assert.equal(world.condition(kind, 'demo', type)?.status, 'True', `${kind.kind} ${type}`)
  })

  it('writes the kubeconfig Secret exactly as the contract wants it', async () => {
    const world = await ready()
    const plane = world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')!
    const secret = world.get<Secret>(SecretKind, 'demo-kubeconfig')!
    assert.equal(secret.type, CLUSTER_SECRET_TYPE)
    assert.equal(secret.metadata.labels?.[CLUSTER_NAME_LABEL], 'demo')
    assert.deepEqual(Object.keys(secret.data ?? {}), ['value'])
    assert.partialDeepStrictEqual(secret.metadata.ownerReferences, [
      { kind: 'CAPTControlPlane', uid: plane.metadata.uid, controller: true },
    ])
    const text = Buffer.from(secret.data!['value']!, 'base64').toString()
    assert.match(text, /server: https:\/\/demo\.eks\.test/)
    assert.match(text, /token: k8s-aws-v1\./)
  })

  it('asks for nothing but its watches when it is ready and idle', async () => {
    const world = await ready()
    const before = world.cluster.requests.length
    await world.clock.advance(6 * 60_000)
    await world.settle()
    assert.deepEqual(world.cluster.requests.slice(before), [])
  })

  it('writes to the Cluster nothing at all: that is core’s', async () => {
    const world = await ready({}, { core: false })
    await claimByHand(world)
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
    assert.deepEqual(
      world.cluster.writes.filter(({ kind }) => kind === 'Cluster'),
      [],
    )
  })

  it('works twice under one name in two namespaces', async () => {
    const world = await begin()
    for (const namespace of ['team-a', 'team-b']) await applyAll(world, aCluster('demo', { namespace }))
    await world.settle()
    for (const namespace of ['team-a', 'team-b']) {
      assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready', namespace)?.status, 'True')
      assert.ok(world.get(SecretKind, 'demo-kubeconfig', namespace))
    }
    assert.equal(world.ledger.length, 4)
  })

  it('finds its parts by reference, not by equal names', async () => {
    const world = await begin()
    const [cluster, infra, plane] = aCluster('demo') as [Applied, Applied, Applied]
    const rename = ([kind, object]: Applied, name: string): Applied => [
      kind,
      { ...object, metadata: { ...object.metadata, name } },
    ]
    const spec = {
      infrastructureRef: { apiGroup: CAPTCluster.group, kind: 'CAPTCluster', name: 'demo-x7k2' },
      controlPlaneRef: { apiGroup: CAPTControlPlane.group, kind: 'CAPTControlPlane', name: 'demo-9ab1' },
    }
    await applyAll(world, [
      [cluster[0], { ...cluster[1], spec } as never],
      rename(infra, 'demo-x7k2'),
      rename(plane, 'demo-9ab1'),
    ])
    await world.settle()
    assert.equal(world.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
    assert.ok(world.get(SecretKind, 'demo-kubeconfig'))
    assert.ok(world.get(WorkspaceTemplateApply, 'demo-eks-controlplane-apply'))
  })

  it('carries a name of 63 characters', async () => {
    const name = `a${'b'.repeat(61)}c`
    const world = await begin()
    await applyAll(world, aCluster(name))
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, name, 'Ready')?.status, 'True')
  })

  for (const region of ['us-gov-west-1', 'cn-north-1', 'us-iso-east-1'])
    it(`works in ${region}`, async () => {
      const world = await ready({ infra: { region } })
      assert.equal(world.ledger[1]?.variables['region'], region)
      assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
    })
})

describe('the variables of runs', () => {
  it('is the VPC and its subnets, and nothing before they exist', async () => {
    const world = await begin()
    world.held.add('demo-vpc')
    await applyAll(world, aCluster())
    await world.settle()
    assert.equal(world.get(WorkspaceTemplateApply, 'demo-eks-controlplane-apply'), undefined)
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.reason, 'WaitingForClusterInfrastructureReady')
    world.held.clear()
    await world.settle()
    const [, eks] = world.ledger
    assert.equal(eks?.variables['vpc_id'], 'vpc-0demo')
    assert.deepEqual(eks?.values['private_subnets'], ['subnet-a', 'subnet-b'])
    const apply = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-eks-controlplane-apply')!
    assert.deepEqual(apply.spec.waitForWorkspaces, [{ name: 'demo-vpc' }])
  })

  it('is an existing VPC with its subnets, which no run ever touches', async () => {
    const infra = { existingVpcId: 'vpc-77', existingSubnets: { private: ['subnet-7'], public: ['subnet-8'] } }
    const world = await ready({ infra })
    assert.deepEqual(
      world.ledger.map(({ name }) => name),
      ['demo-eks-controlplane-apply'],
    )
    assert.equal(world.ledger[0]?.variables['vpc_id'], 'vpc-77')
    assert.deepEqual(world.ledger[0]?.values['private_subnets'], ['subnet-7'])
    assert.equal(world.condition(CAPTCluster, 'demo', 'VPCReady')?.reason, 'ExistingVPCUsed')
  })

  it('names the own namespace when a reference names none, and the given one when it does', async () => {
    const world = await begin()
    const plane = { workspaceTemplateRef: { name: 'eks', namespace: 'shared' } }
    await applyAll(world, aCluster('demo', { namespace: 'team-a', plane }))
    await world.settle()
    const ref = (name: string) =>
      world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, name, 'team-a')?.spec.templateRef
    assert.deepEqual(ref('demo-vpc'), { name: 'vpc', namespace: 'team-a' })
    assert.deepEqual(ref('demo-eks-controlplane-apply'), { name: 'eks', namespace: 'shared' })
  })

  for (const version of ['1.34', 'v1.34', 'v1.34.2', '1.34.2'])
    it(`is the minor version that EKS takes for ${version}`, async () => {
      const world = await ready({ version })
      assert.equal(world.ledger[1]?.variables['kubernetes_version'], '1.34')
      const { status } = world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')!
      assert.equal(status?.version, version.includes('1.34.2') ? 'v1.34.2' : 'v1.34.0')
    })

  it('passes tags to Terraform as a map, not as text', async () => {
    const world = await ready()
    await world.edit(CAPTControlPlane, 'demo', { spec: { additionalTags: { Team: 'a', 'cost-centre': '7' } } })
    await world.settle()
    const { spec } = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-eks-controlplane-apply')!
    assert.deepEqual(spec.values?.['tags'], { Team: 'a', 'cost-centre': '7' })
  })

  it('keeps what a person added to the request by hand', async () => {
    const world = await ready()
    await world.edit(WorkspaceTemplateApply, 'demo-vpc', { spec: { retainWorkspaceOnDelete: true, suspend: true } })
    await world.edit(CAPTCluster, 'demo', { spec: { additionalTags: { Team: 'a' } } })
    await world.settle()
    const { spec } = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-vpc')!
    assert.partialDeepStrictEqual(spec, {
      retainWorkspaceOnDelete: true,
      suspend: true,
      values: { tags: { Team: 'a' } },
    })
  })

  it('is put back when somebody changes it by hand', async () => {
    const world = await ready()
    await world.edit(WorkspaceTemplateApply, 'demo-vpc', { spec: { variables: { region: 'us-east-1' } } })
    await world.settle()
    const { spec } = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-vpc')!
    assert.equal(spec.variables['region'], 'eu-west-1')
  })

  it('survives an answer that was lost: one request, no second', async () => {
    const world = await begin()
    world.cluster.failNext('apply', WorkspaceTemplateApply, 'Unreachable', { carriedOut: true })
    await applyAll(world, aCluster())
    await world.settle()
    await world.clock.advance(5000)
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
    assert.equal(world.ledger.filter(({ name }) => name === 'demo-vpc').length, 1)
  })
})

describe('an upgrade', () => {
  it('reaches Terraform, one minor version at a time', async () => {
    const world = await ready()
    await world.edit(CAPTControlPlane, 'demo', { spec: { version: 'v1.35.1' } })
    world.held.add('demo-eks-controlplane-apply')
    await world.settle()
    const rolling = world.condition(CAPTControlPlane, 'demo', 'RollingOut')
    assert.equal(rolling?.status, 'True')
    assert.match(rolling?.message ?? '', /^Upgrading Kubernetes from 1\.34 to 1\.35/)
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Available')?.status, 'True')
    assert.equal(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.status?.version, 'v1.34.0')
    world.held.clear()
    await world.settle()
    const { status } = world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')!
    assert.partialDeepStrictEqual(status, { version: 'v1.35.1', versions: [{ version: 'v1.35.1' }], phase: 'Ready' })
    assert.equal(world.ledger.at(-1)?.variables['kubernetes_version'], '1.35')
  })

  for (const [version, reason, hint] of [
    ['1.36', 'UpgradeSkipsVersion', /set spec\.version to 1\.35 first/],
    ['1.33', 'DowngradeRefused', /set spec\.version back to 1\.34/],
  ] as const)
    it(`to ${version} is refused with a reason, and nothing runs`, async () => {
      const world = await ready()
      await world.edit(CAPTControlPlane, 'demo', { spec: { version } })
      await world.settle()
      const condition = world.condition(CAPTControlPlane, 'demo', 'Stalled')
      assert.equal(condition?.reason, reason)
      assert.match(condition?.message ?? '', hint)
      assert.equal(world.ledger.length, 2)
      assert.equal(world.condition(CAPTControlPlane, 'demo', 'Available')?.status, 'True')
    })

  it('to a version that the matrix does not have is refused, but a cluster that runs it is left alone', async () => {
    const checkVersion = (kubernetes: string) =>
      kubernetes === '1.35'
        ? { message: 'Kubernetes 1.35 is not in the version matrix', hint: 'choose 1.34' }
        : undefined
    const world = await ready({}, { controllers: { checkVersion } })
    await world.edit(CAPTControlPlane, 'demo', { spec: { version: '1.35' } })
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Stalled')?.reason, 'VersionNotSupported')
    const never = await ready({ version: '1.35' }, { controllers: { checkVersion } })
    assert.deepEqual(
      never.ledger.map(({ name }) => name),
      ['demo-vpc'],
    )
  })

  it('waits for nodes that would be left too far behind', async () => {
    let oldest = 'v1.31.9-eks-1234567'
    let asked = 0
    const oldestNode = async () => {
      asked += 1
      return oldest
    }
    const world = await ready({}, { controllers: { oldestNode } })
    assert.equal(asked, 0, 'nobody asks for nodes before an upgrade')
    await world.edit(CAPTControlPlane, 'demo', { spec: { version: '1.35' } })
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Stalled')?.reason, 'NodesTooOld')
    assert.equal(world.ledger.length, 2)
    oldest = 'v1.32.1'
    await world.clock.advance(61_000)
    await world.settle()
    assert.equal(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.status?.version, 'v1.35.0')
    const before = asked
    await world.clock.advance(300_000)
    await world.settle()
    assert.equal(asked, before)
  })

  it('goes on when the nodes cannot be asked', async () => {
    const world = await ready({}, { controllers: { oldestNode: () => Promise.reject(new Error('no route')) } })
    await world.edit(CAPTControlPlane, 'demo', { spec: { version: '1.35' } })
    await world.settle()
    assert.equal(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.status?.version, 'v1.35.0')
  })
})

describe('a run that fails', () => {
  const denied = {
    kind: 'credentials' as const,
    address: 'module.eks.aws_eks_cluster.this[0]',
    code: 'CAPT_TF_ACCESS_DENIED',
    message: 'AccessDenied: not authorized to perform eks:CreateCluster',
    hint: 'allow eks:CreateCluster to role capt',
  }

  it('shows with address and hint on the control plane and on the Cluster', async () => {
    const world = await begin()
    world.failures.set('demo-eks-controlplane-apply', denied)
    await applyAll(world, aCluster())
    await world.settle()
    for (const [kind, type] of [
      [CAPTControlPlane, 'Stalled'],
      [CAPTControlPlane, 'Available'],
      [ClusterKind, 'ControlPlaneAvailable'],
      [ClusterKind, 'Available'],
    ] as const) {
      const message = world.condition(kind, 'demo', type)?.message ?? ''
      assert.match(message, /module\.eks\.aws_eks_cluster\.this\[0\]: AccessDenied/, `${kind.kind} ${type}`)
      assert.match(message, /allow eks:CreateCluster to role capt/)
    }
    assert.equal(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.status?.phase, 'Failed')
  })

  it('is recovered from when the next one works', async () => {
    const world = await begin()
    world.failures.set('demo-vpc', { ...denied, address: 'aws_vpc.this' })
    await applyAll(world, aCluster())
    await world.settle()
    assert.match(world.condition(ClusterKind, 'demo', 'InfrastructureReady')?.message ?? '', /aws_vpc\.this/)
    world.failures.clear()
    await world.settle()
    assert.equal(world.condition(ClusterKind, 'demo', 'Available')?.status, 'True')
    assert.equal(world.condition(CAPTCluster, 'demo', 'Stalled'), undefined)
  })

  it('later does not take back that the cluster was provisioned', async () => {
    const world = await ready()
    for (const name of ['demo-vpc', 'demo-eks-controlplane-apply']) world.failures.set(name, denied)
    await world.settle()
    assert.equal(world.condition(CAPTCluster, 'demo', 'Ready')?.status, 'False')
    assert.partialDeepStrictEqual(world.get<CAPTCluster>(CAPTCluster, 'demo')?.status, {
      ready: true,
      initialization: { provisioned: true },
    })
    assert.partialDeepStrictEqual(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.status, {
      initialized: true,
      initialization: { controlPlaneInitialized: true },
    })
  })

  it('reports a template that lacks an output, and nothing claims to be ready', async () => {
    const outputs: ClusterWorldOptions['outputs'] = (apply) =>
      ({
        plain: apply.metadata.name.endsWith('-vpc')
          ? { vpc_id: 'vpc-1' }
          : { cluster_endpoint: 'https://demo.eks.test' },
      }) as never
    const world = await ready({}, { outputs })
    const condition = world.condition(CAPTControlPlane, 'demo', 'Ready')
    assert.equal(condition?.status, 'False')
    assert.match(condition?.message ?? '', /no output cluster_certificate_authority_data/)
    assert.partialDeepStrictEqual(world.get<CAPTControlPlane>(CAPTControlPlane, 'demo')?.status, {
      ready: false,
      initialized: false,
      secretsReady: false,
    })
    assert.equal(world.condition(ClusterKind, 'demo', 'ControlPlaneInitialized')?.status, 'False')
  })

  it('reports a VPC template that lacks vpc_id', async () => {
    const world = await ready({}, { outputs: () => ({ plain: {} }) })
    assert.equal(world.condition(CAPTCluster, 'demo', 'Stalled')?.reason, 'OutputMissing')
    assert.equal(world.get<CAPTCluster>(CAPTCluster, 'demo')?.status?.ready, undefined)
  })
})

describe('a part without its Cluster', () => {
  it('waits, and deletes nothing', async () => {
    const world = await begin()
    const [, infra, plane] = aCluster() as [Applied, Applied, Applied]
    await applyAll(world, [infra, plane])
    await world.settle()
    assert.equal(world.condition(CAPTCluster, 'demo', 'Ready'), undefined, 'core is given a moment')
    await world.clock.advance(6000)
    await world.settle()
    assert.equal(world.condition(CAPTCluster, 'demo', 'Ready')?.reason, 'WaitingForCluster')
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.reason, 'WaitingForCluster')
    assert.deepEqual(world.ledger, [])
    assert.equal(world.get(CAPTCluster, 'demo')?.metadata.finalizers, undefined)
  })

  it('is left alone when somebody else manages it', async () => {
    const world = await begin()
    const [cluster, [kind, infra]] = aCluster() as [Applied, Applied]
    const annotations = { 'cluster.x-k8s.io/managed-by': 'terraform' }
    await applyAll(world, [cluster, [kind, { ...infra, metadata: { ...infra.metadata, annotations } }]])
    await world.settle()
    const found = world.get<CAPTCluster>(CAPTCluster, 'demo')!
    assert.equal(found.status, undefined)
    assert.equal(found.metadata.finalizers, undefined)
  })
})

describe('the Spot role', () => {
  const plane = { controlPlaneConfig: { ensureSpotServiceLinkedRole: true } }

  it('is a gate: no run begins before the account has it', async () => {
    const clock = { now: () => 0 }
    const aws = fakeAws(clock)
    aws.failure = new AwsError('AccessDenied', 'iam:GetRole was refused', { hint: 'allow iam:GetRole' })
    const world = await ready({ plane }, { aws })
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Stalled')?.reason, 'SpotServiceLinkedRoleFailed')
    assert.deepEqual(
      world.ledger.map(({ name }) => name),
      ['demo-vpc'],
    )
    aws.failure = undefined
    await world.clock.advance(61_000)
    await world.settle()
    assert.equal(world.ledger.at(-1)?.name, 'demo-eks-controlplane-apply')
  })

  it('is never asked about when nobody wants it, and never owned by a run', async () => {
    const aws = fakeAws({ now: () => 0 })
    const world = await ready({}, { aws })
    assert.deepEqual(
      aws.calls.filter(({ what }) => what === 'spot role'),
      [],
    )
    assert.deepEqual(
      new Set(world.ledger.map(({ name }) => name)),
      new Set(['demo-vpc', 'demo-eks-controlplane-apply']),
    )
  })
})
