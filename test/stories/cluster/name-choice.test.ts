// The name of a cluster in AWS over its life: chosen before the first run from what AWS and other clusters have, the same
// in both runs, and never changed after that, whatever happens to the status, to AWS or to the manager.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { AwsError, type NamedResource } from '#aws'
import {
  aCluster,
  applyAll,
  type ClusterWorld,
  type ClusterWorldOptions,
  clusterWorld,
} from '../../support/cluster/world.ts'

const ACCOUNT = '123456789012'
const EXTENDED = /^demo-[0-9a-f]{8}$/
const FOREIGN: NamedResource = { kind: 'EKS cluster', name: 'demo', tags: {} }

const worlds: ClusterWorld[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.stop()
})

/** What AWS has, by cluster name; an error in its place is thrown. */
async function inAws(
  taken: Record<string, readonly NamedResource[]>,
  options: ClusterWorldOptions & { readonly failure?: Error; readonly module?: string } = {},
) {
  const asked: string[] = []
  const names: NonNullable<ClusterWorldOptions['names']> = {
    whoAmI: async () => ({ account: ACCOUNT, arn: `arn:aws:iam::${ACCOUNT}:role/capt` }),
    async findNamed(_identity, _region, { cluster }) {
      asked.push(cluster)
      if (options.failure) throw options.failure
      return taken[cluster] ?? []
    },
  }
  const world = await clusterWorld({ names, ...options })
  worlds.push(world)
  if (!options.cluster) await addTemplates(world, 'default', options.module)
  return { world, asked }
}

async function addTemplates(world: ClusterWorld, namespace: string, module = 'provider "aws" {}\n'): Promise<void> {
  for (const name of ['vpc', 'eks'])
    await world.cluster.others.create(WorkspaceTemplate, {
      apiVersion: WorkspaceTemplate.apiVersion,
      kind: WorkspaceTemplate.kind,
      metadata: { name, namespace },
      spec: { template: { spec: { forProvider: { source: 'Inline', module } } } },
    } as never)
}

/** Of the VPC's run, of the control plane's run, and of the status. */
function namesIn(world: ClusterWorld, namespace = 'default') {
  const variable = (name: string) =>
    world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, name, namespace)?.spec.variables['cluster_name']
  return {
    vpc: variable('demo-vpc'),
    eks: variable('demo-eks-controlplane-apply'),
    status: world.get<CAPTCluster>(CAPTCluster, 'demo', namespace)?.status?.clusterName,
  }
}
const all = (name: string | undefined) => ({ vpc: name, eks: name, status: name })
const reasons = (world: ClusterWorld) => world.events.map(({ reason }) => reason)

describe('the name of a cluster in AWS', () => {
  it('is that of the Cluster when it is free, and AWS is asked once', async () => {
    const { world, asked } = await inAws({})
    await applyAll(world, aCluster())
    await world.settle()
    assert.deepEqual(namesIn(world), all('demo'))
    assert.deepEqual(asked, ['demo'])
    assert.ok(!reasons(world).some((reason) => reason.startsWith('ClusterName')))
  })

  it('is extended in every run when another EKS cluster has it, and the choice is reported', async () => {
    const { world, asked } = await inAws({ demo: [FOREIGN] })
    await applyAll(world, aCluster())
    await world.settle()
    const { status } = namesIn(world)
    assert.match(status ?? '', EXTENDED)
    assert.deepEqual(namesIn(world), all(status))
    assert.deepEqual(asked, ['demo', status], 'both names are asked for, once')
    const vpc = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-vpc')!
    assert.equal(vpc.spec.variables['vpc_name'], `${status}-vpc`)
    assert.match(
      world.events.find(({ reason }) => reason === 'ClusterNameExtended')?.message ?? '',
      new RegExp(`taken by EKS cluster demo in account ${ACCOUNT}: this cluster is ${status} in AWS`),
    )
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
  })

  it('stays its own when the EKS cluster carries its tag: Terraform finds it, nothing is made beside it', async () => {
    const { world } = await inAws({ demo: [{ ...FOREIGN, tags: { 'capt.appthrust.com/owner': 'default/demo' } }] })
    await applyAll(world, aCluster())
    await world.settle()
    assert.deepEqual(namesIn(world), all('demo'))
    const eks = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'demo-eks-controlplane-apply')!
    assert.equal(eks.spec.variables['cluster_owner'], 'default/demo')
  })

  it('never changes: not when AWS changes, not over a restart, not when the status is lost as in a move', async () => {
    const first = await inAws({ demo: [FOREIGN] })
    await applyAll(first.world, aCluster())
    await first.world.settle()
    const { status: chosen } = namesIn(first.world)
    first.world.stopControllers()
    const key = { namespace: 'default', name: 'demo' }
    const lost = { status: { clusterName: null } }
    await first.world.cluster.others.patch(CAPTCluster, key, { type: 'merge', body: lost }, { subresource: 'status' })
    const { world, asked } = await inAws({}, { cluster: first.world.cluster, clock: first.world.clock })
    await world.settle()
    assert.deepEqual(namesIn(world), all(chosen))
    assert.deepEqual(asked, [])
    await world.edit(CAPTControlPlane, 'demo', { spec: { version: '1.35' } })
    await world.settle()
    assert.deepEqual(namesIn(world), all(chosen))
  })

  it('of a cluster from before the choice stays as it is, and so do its inputs', async () => {
    const first = await inAws({})
    await applyAll(first.world, aCluster())
    await first.world.settle()
    first.world.stopControllers()
    const others = first.world.cluster.others
    const key = { namespace: 'default', name: 'demo' }
    const lost = { status: { clusterName: null } }
    await others.patch(CAPTCluster, key, { type: 'merge', body: lost }, { subresource: 'status' })
    const eks = { namespace: 'default', name: 'demo-eks-controlplane-apply' }
    const { variables } = first.world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, eks.name)!.spec
    assert.ok(variables['cluster_owner'])
    await others.patch(WorkspaceTemplateApply, eks, {
      type: 'merge',
      body: { spec: { variables: { cluster_owner: null } } },
    })
    const { world } = await inAws({ demo: [FOREIGN] }, { cluster: first.world.cluster, clock: first.world.clock })
    await world.settle()
    assert.deepEqual(namesIn(world), all('demo'))
    const after = world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, eks.name)!
    assert.equal(after.spec.variables['cluster_owner'], undefined, 'no tag, so no new run')
  })

  it('is that of the earlier of two clusters of one name; AWS is not asked about a simulation', async () => {
    const { world, asked } = await inAws({}, { module: 'resource "terraform_data" "x" {}\n' })
    await addTemplates(world, 'team-b', 'resource "terraform_data" "x" {}\n')
    await applyAll(world, [...aCluster(), ...aCluster('demo', { namespace: 'team-b' })])
    await world.settle()
    assert.deepEqual(namesIn(world), all('demo'))
    const second = namesIn(world, 'team-b')
    assert.match(second.status ?? '', EXTENDED)
    assert.deepEqual(second, all(second.status))
    assert.deepEqual(asked, [])
    const report = world.events.find(({ reason }) => reason === 'ClusterNameExtended')?.message ?? ''
    assert.match(report, /a cluster of another namespace/)
    assert.doesNotMatch(report, /default/, 'another namespace is not named')
  })

  it('may be the same in two regions', async () => {
    const { world } = await inAws({})
    await addTemplates(world, 'team-b')
    const elsewhere = aCluster('demo', { namespace: 'team-b', infra: { region: 'eu-west-2' } })
    await applyAll(world, [...aCluster(), ...elsewhere])
    await world.settle()
    assert.deepEqual([namesIn(world), namesIn(world, 'team-b')], [all('demo'), all('demo')])
  })

  it('that a person chose is refused when it is taken, before anything is made', async () => {
    const { world } = await inAws({ shop: [{ ...FOREIGN, name: 'shop' }] })
    await applyAll(world, aCluster('demo', { infra: { clusterName: 'shop' } }))
    await world.settle()
    assert.equal(world.get(WorkspaceTemplateApply, 'demo-vpc'), undefined)
    const stalled = world.condition(CAPTCluster, 'demo', 'Stalled')
    assert.equal(stalled?.reason, 'ClusterNameTaken')
    assert.match(
      stalled?.message ?? '',
      /shop is taken by EKS cluster shop.*make it again with another spec\.clusterName/s,
    )
  })

  it('is its own, with a Warning, when AWS denies the answer', async () => {
    const failure = new AwsError('AccessDenied', 'eks:DescribeCluster was refused', {
      hint: 'allow eks:DescribeCluster',
    })
    const { world } = await inAws({}, { failure })
    await applyAll(world, aCluster())
    await world.settle()
    assert.deepEqual(namesIn(world), all('demo'))
    const warning = world.events.find(({ reason }) => reason === 'ClusterNameUnchecked')
    assert.equal(warning?.type, 'Warning')
    assert.match(warning?.message ?? '', /eks:DescribeCluster was refused.*allow eks:DescribeCluster/)
  })

  it('is chosen by the CAPTCluster for a VPC that exists, before the control plane asks for a run', async () => {
    const { world } = await inAws({ demo: [FOREIGN] })
    await applyAll(world, aCluster('demo', { infra: { existingVpcId: 'vpc-1' } }))
    await world.settle()
    const { status, eks, vpc } = namesIn(world)
    assert.match(status ?? '', EXTENDED)
    assert.deepEqual([eks, vpc], [status, undefined])
  })
})
