// TornDown is what the control plane acts on: it is reported once, for good, and never before Karpenter's nodes are gone.
// Each story goes on until the Cluster is gone and the cloud holds nothing of it.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonDelivery, AddonPipeline, DeploymentKind, kindRef } from '#api'
import { KubeError } from '#kube'
import { simulatedLedger } from '#simulation'
import {
  type AddonsWorld,
  addonsWorld,
  Cluster,
  conditionStatus,
  HOME,
  REQUEST_LABELS,
} from '../../support/addons/world.ts'
import { CONTROL_PLANE_APPLY, type WholeCluster, wholeCluster } from '../../support/teardown/whole-cluster.ts'

let world: AddonsWorld
let whole: WholeCluster
afterEach(async () => {
  const stopping = whole.stop()
  await world.close()
  await stopping
})

const key = { namespace: 'default', name: 'demo' }
const NodeClaim = kindRef('karpenter.sh/v1', 'NodeClaim', false)
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const isTornDown = () => conditionStatus(world.delivery('demo'), 'TornDown') === 'True'
const deleteCluster = () => world.home.others.delete(Cluster, key)

/** Delivered add-ons, and two machines that Karpenter made. */
async function withMachines(): Promise<void> {
  whole = await wholeCluster(world, REQUEST_LABELS)
  const { workload } = whole
  await whole.until('ready', isReady)
  await workload.others.create(DeploymentKind, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', resources: { requests: { cpu: '1500m' } } }] },
      },
    },
  } as never)
  await world.until('nodes are there', () => workload.storage.list(NodeClaim).length === 2)
}

/** The control plane destroys EKS: its API goes silent, and a new manager observes everything again. */
async function silenceAndRestart(): Promise<void> {
  world.broken.set('default/demo', new KubeError('Unreachable', 'connect ECONNREFUSED'))
  await world.restart()
  await world.idle(20)
}

/** The run that destroys EKS ends, and the Cluster goes. */
async function endDestroy(): Promise<void> {
  whole.providers.held.clear()
  await whole.gone()
  await whole.assertLedger([])
}

/** Every value that TornDown takes, in order, with the number of machines that run at that time. */
function recordTornDown(): { readonly values: string[]; readonly machines: number[] } {
  const record = { values: [] as string[], machines: [] as number[] }
  const ledger = simulatedLedger(world.home.others, key)
  world.home.storage.onEvent(({ kind, object }) => {
    if (kind.kind !== AddonDelivery.kind) return
    const value = conditionStatus(object, 'TornDown')
    if (value === undefined || value === record.values.at(-1)) return
    record.values.push(value)
    if (value === 'True') void ledger.list().then((found) => record.machines.push(found.length))
  })
  return record
}

describe('TornDown', () => {
  it('stays True after an empty teardown, and no stage is reported as Removing', async () => {
    world = await addonsWorld()
    whole = await wholeCluster(world, {})
    await whole.until('ready', isReady)
    whole.providers.held.add(CONTROL_PLANE_APPLY)
    const record = recordTornDown()
    await deleteCluster()
    await whole.until('torn down', isTornDown)
    await silenceAndRestart()
    assert.deepEqual(record.values.slice(record.values.indexOf('True')), ['True'])
    const stages = world.delivery('demo')?.status?.stages ?? []
    assert.deepEqual(
      stages.filter(({ state }) => state === 'Removing'),
      [],
    )
    assert.equal(isTornDown(), true)
    assert.equal(world.delivery('demo')?.status?.teardown?.leftovers, undefined)
    await endDestroy()
    assert.equal(record.values.at(-1), 'True')
  })

  for (const [what, spoil] of [
    [
      'is gone',
      async () => {
        const pipeline = { namespace: HOME, name: 'default' }
        await world.home.others.delete(AddonPipeline, pipeline)
        await world.home.others.patch(AddonPipeline, pipeline, {
          type: 'merge',
          body: { metadata: { finalizers: null } },
        })
        assert.equal(world.home.peek(AddonPipeline, pipeline), undefined)
      },
    ],
    [
      'has become invalid',
      async () => {
        const pipeline = { namespace: HOME, name: 'default' }
        const { spec } = world.home.peek<AddonPipeline>(AddonPipeline, pipeline)!
        const stages = spec.stages.map((stage) => ({ ...stage, needs: [stage.name] }))
        await world.home.others.patch(AddonPipeline, pipeline, { type: 'merge', body: { spec: { stages } } })
      },
    ],
  ] as const)
    it(`becomes True only after the last machine is gone when the pipeline ${what}`, async () => {
      world = await addonsWorld()
      await withMachines()
      await spoil()
      const record = recordTornDown()
      await whole.remove()
      assert.deepEqual(record.machines, [0])
      assert.equal(record.values.at(-1), 'True')
      await whole.assertLedger([])
    })

  it('becomes True only after the last machine of delivered add-ons is gone, and stays True', async () => {
    world = await addonsWorld()
    await withMachines()
    whole.providers.held.add(CONTROL_PLANE_APPLY)
    const record = recordTornDown()
    await deleteCluster()
    await whole.until('torn down', isTornDown, 120)
    await silenceAndRestart()
    assert.deepEqual(record.values, ['False', 'True'])
    assert.deepEqual(record.machines, [0])
    assert.match(JSON.stringify(world.delivery('demo')?.status?.conditions), /Everything was removed/)
    await endDestroy()
    assert.deepEqual(record.values, ['False', 'True'])
  })
})
