// A Cluster that no AddonPipeline selects has no AddonDelivery. Its load balancers and nodes go before EKS all the same,
// and what is left in the cloud is reported on the control plane and on the Cluster.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type AnyObject, type CAPTCluster, CAPTControlPlane, ServiceKind } from '#api'
import { clusterTeardown } from '#controllers'
import { KubeError } from '#kube'
import { type Actors, simulatedInstances, simulatedLedger, startActors } from '#simulation'
import { type MemoryCluster, manualClock, memoryCluster } from '#testing'
import { createMemoryInformers } from '../../../src/testing/memory-informers.ts'
import { aCluster, applyAll, ClusterKind, type ClusterWorld, clusterWorld } from '../../support/cluster/world.ts'
import { terraformLedger } from '../../support/teardown/whole-cluster.ts'

const key = { namespace: 'default', name: 'demo' }
let world: ClusterWorld
let actors: Actors | undefined
afterEach(async () => {
  const stopping = actors?.stop()
  await world.clock.advance(1000)
  await stopping
  await world.stop()
})

interface Furnished {
  readonly workload: MemoryCluster
  readonly held: () => Promise<string[]>
  /** What Terraform made and did not destroy. */
  readonly made: ReadonlySet<string>
  readonly isDead: { value: boolean }
}

const hasKind = (made: ReadonlySet<string>, kind: string) => [...made].some((one) => one.startsWith(`${kind} `))

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
  const held = async () => [
    ...(await ledger.list()).map(({ id }) => `instance ${id}`),
    ...(await ledger.objects()).map(({ kind, id }) => `${kind} ${id}`),
  ]
  await until('a balancer is there', async () => (await held()).length === 3)
  assert.ok(['role', 'policy', 'instance profile', 'queue', 'rule', 'VPC'].every((kind) => hasKind(made, kind)))
  return { workload, held, made, isDead }
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
const reported = () => world.events.filter(({ reason }) => reason === 'LeftBehind')

describe('a deleted Cluster without an AddonDelivery', () => {
  it('gives its load balancers back through its API before EKS is destroyed', async () => {
    const { workload, held, made } = await furnished()
    const atDestroy: string[][] = []
    const push = world.ledger.push.bind(world.ledger)
    world.ledger.push = (...entries) => {
      void held().then((found) => atDestroy.push(found))
      return push(...entries)
    }
    await world.remove(ClusterKind, 'demo')
    await until('the Cluster is gone', isGone)
    assert.equal(workload.peek(ServiceKind, { namespace: 'default', name: 'web' }), undefined)
    assert.deepEqual(atDestroy[0], [])
    assert.deepEqual([...(await held()), ...made], [])
    assert.deepEqual(reported(), [])
  })

  it('has them deleted by tag when its API is dead, and reports what is left', async () => {
    const { held, made, isDead } = await furnished()
    await simulatedLedger(world.cluster.others, key).hold({ kind: 'volume', id: 'vol-1' })
    isDead.value = true
    await world.remove(ClusterKind, 'demo')
    await world.settle()
    assert.equal(world.condition(CAPTControlPlane, 'demo', 'Deleting')?.reason, 'ClearingCluster')
    await until('the Cluster is gone', isGone)
    assert.deepEqual([...(await held()), ...made], ['volume vol-1'])
    assert.deepEqual(
      reported().map(({ about, message }) => `${about}: ${message}`),
      ['CAPTControlPlane/demo: ', 'Cluster/demo: CAPTControlPlane demo: '].map(
        (about) => `${about}Left behind: volume vol-1. Delete it by hand, unless it is still needed`,
      ),
    )
  })

  it('leaves the VPC that is to stay, says so, and nothing else', async () => {
    const { held, made } = await furnished({ retainVpcOnDelete: true })
    await world.remove(ClusterKind, 'demo')
    await until('the Cluster is gone', isGone)
    assert.deepEqual([...(await held()), ...made], ['VPC demo'])
    assert.ok(world.events.some(({ reason, message }) => reason === 'VPCRetained' && message === 'Kept VPC demo-vpc'))
  })

  it('has its network cleared again after EKS is gone, and before the VPC goes', async () => {
    const { made } = await furnished()
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
    assert.deepEqual([...(await ledger.objects()), ...made], [])
    assert.ok(world.events.some(({ message }) => message === 'Deleted network interface eni-1'))
  })
})
