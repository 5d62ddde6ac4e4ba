// capt move of a cluster with nodes, between two management clusters in memory: pools, deployments, sets, machines and
// templates go along, nothing is run and nothing destroyed, and all of them go on in the target.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  type AnyObject,
  CAPTBootstrapConfig,
  CAPTCluster,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachinePool,
  CAPTMachinePoolTemplate,
  CAPTMachineSet,
  CAPTMachineTemplate,
  conditionOf,
  type KindRef,
  kindRef,
  NamespaceKind,
  SecretKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { aTemplate, memoryCluster } from '#testing'
import { command as move } from '../../../src/cli/commands/clusters/move.ts'
import {
  aMachineDeployment,
  aMachinePool,
  aMachineSet,
  aTemplateOf,
  MachinePool,
  withMachines,
} from '../../support/cluster/machine-world.ts'
import { ioFor, moveFlags, namesOf } from '../../support/cluster/move-io.ts'
import { aCluster, applyAll, ClusterKind, type ClusterWorld, clusterWorld } from '../../support/cluster/world.ts'

const MachineDeployment = kindRef('cluster.x-k8s.io/v1beta2', 'MachineDeployment')
const worlds: ClusterWorld[] = []
after(() => Promise.all(worlds.map((world) => world.stop())))

/** Both homes manage the same EKS cluster. */
async function twoHomes(): Promise<readonly [ClusterWorld, ClusterWorld]> {
  const workload = memoryCluster()
  const begin = async (): Promise<ClusterWorld> => {
    const world = await clusterWorld(withMachines(workload))
    worlds.push(world)
    world.cluster.seed(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
    return world
  }
  const here = await begin()
  for (const name of ['vpc', 'eks', 'machine', 'node-group'])
    here.cluster.seed(WorkspaceTemplate, aTemplate(undefined, {}, { name }))
  await applyAll(here, [
    ...aCluster(),
    ...aMachinePool('pool', 2),
    aMachineDeployment('rolled', 2),
    aMachineSet('fixed', 1),
    aTemplateOf(CAPTMachineTemplate, 'one'),
    aTemplateOf(CAPTMachinePoolTemplate, 'one'),
  ])
  await here.settle()
  return [here, await begin()]
}

const KINDS: readonly KindRef[] = [
  ClusterKind,
  CAPTCluster,
  CAPTControlPlane,
  MachinePool,
  CAPTMachinePool,
  CAPTMachinePoolTemplate,
  CAPTBootstrapConfig,
  CAPTMachineDeployment,
  CAPTMachineSet,
  CAPTMachine,
  CAPTMachineTemplate,
  WorkspaceTemplateApply,
  WorkspaceTemplate,
  SecretKind,
]
const all = (world: ClusterWorld) => KINDS.flatMap((kind) => namesOf(world, kind).map((name) => `${kind.kind} ${name}`))
const machinesOf = ({ cluster }: ClusterWorld) => cluster.storage.list(CAPTMachine) as unknown as readonly CAPTMachine[]
const healthy = (world: ClusterWorld) =>
  machinesOf(world).filter((machine) => conditionOf(machine, 'NodeHealthy')?.status === 'True').length

describe('capt move with nodes', () => {
  it('takes pools, deployments, sets, machines and templates along: nothing run, nothing destroyed', async () => {
    const [here, there] = await twoHomes()
    assert.equal(healthy(here), 3)
    const before = all(here)
    const ids = machinesOf(here).map(({ spec }) => spec.providerID)
    here.ledger.length = 0
    assert.equal(await move.run(moveFlags(), ioFor(here, there)), 0)
    await there.settle()
    await here.settle()
    assert.deepEqual(all(there), before)
    assert.deepEqual(all(here), [])
    assert.deepEqual(there.ledger, [])
    assert.deepEqual(
      here.ledger.filter(({ verb }) => verb !== 'keep'),
      [],
    )
    assert.deepEqual(
      machinesOf(there).map(({ spec }) => spec.providerID),
      ids,
    )
    assert.equal(healthy(there), 3)
    assertOwners(there)
  })

  it('leaves all of them paused in the target until everything is there', async () => {
    const [here, there] = await twoHomes()
    const { others } = there.cluster
    const patch = others.patch.bind(others)
    let checked = 0
    // The last write in the target ends the pause: here the move is held until the controllers have seen everything.
    others.patch = (async (kind: KindRef, ...rest: [never, never]) => {
      if (kind.kind === 'Cluster' && JSON.stringify(rest[1]).includes('"paused":false')) {
        await there.settle()
        for (const kept of [CAPTMachinePool, CAPTMachineDeployment, CAPTMachineSet, CAPTMachine])
          for (const object of there.cluster.storage.list(kept)) {
            assert.equal(conditionOf(object, 'Paused')?.status, 'True', `${kept.kind} ${object.metadata.name}`)
            checked++
          }
        assert.deepEqual(there.ledger, [])
      }
      return patch(kind, ...rest)
    }) as typeof others.patch
    assert.equal(await move.run(moveFlags(), ioFor(here, there)), 0)
    assert.equal(checked, 7)
    await there.settle()
    assert.equal(conditionOf(machinesOf(there)[0]!, 'Paused')?.status, 'False')
  })

  it('refuses a cluster with Machines of core, which would lose their owners, and changes nothing', async () => {
    const [here, there] = await twoHomes()
    const metadata = { name: 'batch', namespace: 'default', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } }
    const { group, version, kind } = MachineDeployment
    here.cluster.seed(MachineDeployment, { apiVersion: `${group}/${version}`, kind, metadata })
    const before = here.cluster.storage.version
    await assert.rejects(move.run(moveFlags(), ioFor(here, there)), /MachineDeployment batch .* is not taken along/)
    assert.equal(here.cluster.storage.version, before)
    assert.deepEqual(all(there), [])
  })

  it('goes on in the target: scales with one run for each new machine, and is deleted there', async () => {
    const [here, there] = await twoHomes()
    await move.run(moveFlags(), ioFor(here, there))
    await there.settle()
    await there.edit(CAPTMachineDeployment, 'rolled', { spec: { replicas: 3 } })
    await there.edit(CAPTMachineSet, 'fixed', { spec: { replicas: 2 } })
    await there.edit(MachinePool, 'pool', { spec: { replicas: 3 } })
    await there.settle()
    assert.equal(healthy(there), 5)
    const made = there.ledger.map(({ verb, name }) => `${verb} ${name}`)
    assert.equal(made.length, 3)
    assert.ok(made.includes('apply pool-node-group'))
    there.ledger.length = 0
    await there.remove(ClusterKind, 'demo')
    await there.settle()
    assert.equal(there.get(ClusterKind, 'demo'), undefined)
    const destroyed = there.ledger.map(({ name }) => name)
    assert.ok(there.ledger.every(({ verb }) => verb === 'destroy'))
    assert.equal(new Set(destroyed).size, destroyed.length)
    assert.deepEqual(destroyed.slice(-2), ['demo-eks-controlplane-apply', 'demo-vpc'])
    assert.equal(destroyed.length, 5 + 1 + 2)
  })
})

/** Every owner that an object names is there. */
function assertOwners(world: ClusterWorld): void {
  const objects = KINDS.flatMap((kind) => world.cluster.storage.list(kind) as readonly AnyObject[])
  const uids = new Set(objects.map(({ metadata }) => metadata.uid))
  for (const { kind, metadata } of objects)
    for (const owner of metadata.ownerReferences ?? [])
      assert.ok(uids.has(owner.uid), `${kind} ${metadata.name} is owned by ${owner.kind} ${owner.name}`)
  const owned = machinesOf(world).map(({ metadata }) => metadata.ownerReferences?.some(({ controller }) => controller))
  assert.ok(owned.every(Boolean))
}
