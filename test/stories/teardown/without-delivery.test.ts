// A Cluster that no AddonPipeline selects has no AddonDelivery. Its load balancers and nodes go before EKS all the same,
// and what is left in the cloud is reported on the control plane and on the Cluster.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type AnyObject, type CAPTCluster, CAPTControlPlane, ServiceKind } from '#api'
import { clusterTeardown } from '#controllers'
import { KubeError } from '#kube'
import { type Actors, simulatedInstances, simulatedLedger, startActors } from '#simulation'
import { type MemoryCluster, manualClock, memoryCluster } from '#testing'
import { createMemoryInformers } from '../../../src/testing/memory/informers.ts'
import { aCluster, applyAll, ClusterKind, type ClusterWorld, clusterWorld } from '../../support/cluster/world.ts'
import { assertEveryKind, assertLedger, type CloudLedger } from '../../support/teardown/ledger.ts'
import { reportedByEvents, simulatedCloud, terraformLedger } from '../../support/teardown/whole-cluster.ts'

const key = { namespace: 'default', name: 'demo' }
let world: ClusterWorld
let actors: Actors | undefined
afterEach(async () => {
  const stopping = actors?.stop()
  await world.clock.advance(1000)
  await stopping
  await world.stop()
})

interface Furnished extends CloudLedger {
  readonly workload: MemoryCluster
  /** What controllers of the cluster made, without what Terraform made. */
  readonly cloud: () => Promise<readonly string[]>
  readonly isDead: { value: boolean }
}

async function furnished(infra: Partial<CAPTCluster['spec']> = {}): Promise<Furnished> {
  const clock = manualClock()
  const home = memoryCluster({ clock })
  const workload = memoryCluster({ clock })
  const isDead = { value: false }
  const open = async () => {
    if (isDead.value) throw new KubeError('Unreachable', 'connect ECONNREFUSED')
    return { objects: workload.objects, watch: () => () => undefined }
  }
  const teardown = clusterTeardown({ workloads: { open }, instances: simulatedInstances(home.others) })
  const { made, onRun } = terraformLedger()
  world = await clusterWorld({ clock, cluster: home, controllers: { teardown }, onRun })
  const ledger = simulatedLedger(home.others, key)
  actors = await startActors({
    connection: {
      objects: workload.objects,
      events: { emit: () => undefined },
      informers: () => createMemoryInformers(workload.storage, 'sync'),
    },
    ledger,
    clock,
    log: world.log,
  })
  await applyAll(world, aCluster('demo', { infra }))
  await world.settle()
  assert.equal(world.condition(CAPTControlPlane, 'demo', 'Ready')?.status, 'True')
  world.ledger.length = 0
  const service = { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] }
  const metadata = { name: 'web', namespace: 'default' }
  await workload.others.create(ServiceKind, { apiVersion: 'v1', kind: 'Service', metadata, spec: service } as AnyObject)
  const cloud = () => simulatedCloud(home.others, key)
  const held = async () => [...(await cloud()), ...made]
  await until('a balancer is there', async () => (await cloud()).length === 3)
  assertEveryKind(await held(), ['instance', 'volume', 'network interface'])
  return { workload, cloud, held, reported: () => reportedByEvents(world.events), isDead }
}

async function until(what: string, check: () => unknown, seconds = 900): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    if (await check()) return
    await world.clock.advance(1000)
    await world.settle()
  }
  throw new Error(`Not within ${seconds} s: ${what}\n${JSON.stringify(world.get(CAPTControlPlane, 'demo'), null, 1)}`)
}

const isGone = () => world.get(ClusterKind, 'demo') === undefined
const reports = () => world.events.filter(({ reason }) => reason === 'LeftBehind')

describe('a deleted Cluster without an AddonDelivery', () => {
  it('gives its load balancers back through its API before EKS is destroyed', async () => {
    const { workload, cloud, ...ledger } = await furnished()
    const atDestroy: (readonly string[])[] = []
    const push = world.ledger.push.bind(world.ledger)
    world.ledger.push = (...entries) => {
      void cloud().then((found) => atDestroy.push(found))
      return push(...entries)
    }
    await world.remove(ClusterKind, 'demo')
    await until('the Cluster is gone', isGone)
    assert.equal(workload.peek(ServiceKind, { namespace: 'default', name: 'web' }), undefined)
    assert.deepEqual(atDestroy[0], [])
    await assertLedger(ledger, [])
  })

  it('has them deleted by tag when its API is dead, and reports what is left', async () => {
    const { isDead, ...ledger } = await furnished()
    await simulatedLedger(world.cluster.others, key).hold({ kind: 'volume', id: 'vol-1' })
    isDead.value = true
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Deleting')?.reason, 'ClearingCluster')
    await until('the Cluster is gone', isGone)
    await assertLedger(ledger, ['volume vol-1'])
    assert.deepEqual(
      reports().map(({ about, message }) => `${about}: ${message}`),
      ['CAPTControlPlane/demo: ', 'Cluster/demo: CAPTControlPlane demo: '].map(
        (about) => `${about}Left behind: volume vol-1. Delete it by hand, unless it is still needed`,
      ),
    )
  })

  it('leaves the VPC that is to stay, says so, and nothing else', async () => {
    const ledger = await furnished({ retainVpcOnDelete: true })
    await world.remove(ClusterKind, 'demo')
    await until('the Cluster is gone', isGone)
    await assertLedger(ledger, [], { others: ['VPC demo'] })
    assert.ok(world.events.some(({ reason, message }) => reason === 'VPCRetained' && message === 'Kept VPC demo-vpc'))
  })

  it('has its network cleared again after EKS is gone, and before the VPC goes', async () => {
    const after = await furnished()
    const ledger = simulatedLedger(world.cluster.others, key)
    const atDestroy: Promise<readonly unknown[]>[] = []
    const push = world.ledger.push.bind(world.ledger)
    world.ledger.push = (...entries) => {
      const [{ name } = { name: '' }] = entries
      if (name.endsWith('-vpc')) atDestroy.push(ledger.objects())
      // Nodes leave an interface when their group is destroyed.
      else void ledger.hold({ kind: 'network interface', id: 'eni-1' })
      return push(...entries)
    }
    await world.remove(ClusterKind, 'demo')
    await until('the Cluster is gone', isGone)
    assert.deepEqual(await Promise.all(atDestroy), [[]])
    await assertLedger(after, [])
    assert.ok(world.events.some(({ message }) => message === 'Deleted network interface eni-1'))
  })
})
