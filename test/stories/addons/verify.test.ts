import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonDelivery, AddonPipeline, type AnyObject, NodeKind, PodKind } from '#api'
import { defaultPipeline } from '#controllers'
import type { JsonObject } from '#lib'
import type { MemoryCluster } from '#testing'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus, HOME } from '../../support/addons/world.ts'
import { simulatedCloud } from '../../support/teardown/whole-cluster.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const IMAGE = 'registry.example.invalid/pause:3.10'
const key = { namespace: 'default', name: 'demo' }
const probe = { namespace: 'kube-system', name: 'capt-verify-node-pool' }
/** Long enough for a test to look at the pod before it has run. */
const SLOW = { faults: { [probe.name]: 'slow=3s' } }
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const isTornDown = () => conditionStatus(world.delivery('demo'), 'TornDown') === 'True'
const stage = () => world.stage('demo', 'node-pool')
const deleteCluster = () => world.home.others.delete(Cluster, key)

type NodePoolStage = NonNullable<AddonPipeline['spec']['stages'][number]['nodePool']>

function pipelineWith(more: Partial<NodePoolStage>, retry = { limit: 1, backoff: '30s' }): AddonPipeline {
  const shipped = defaultPipeline(HOME)
  const stages = shipped.spec.stages.map((one) =>
    one.nodePool ? { ...one, retry, nodePool: { ...one.nodePool, ...more } } : one,
  )
  return { ...shipped, spec: { ...shipped.spec, stages } }
}

const asking = (more: Partial<NodePoolStage> = {}) => pipelineWith({ verify: { image: IMAGE, timeout: '2m' }, ...more })

async function changePipeline(pipeline: AddonPipeline): Promise<void> {
  const body = { spec: { stages: pipeline.spec.stages } }
  await world.home.others.patch(AddonPipeline, { namespace: HOME, name: 'default' }, { type: 'merge', body })
}

/** Every probe pod that was ever made, as it was made. */
function watchProbes(workload: MemoryCluster): AnyObject[] {
  const made: AnyObject[] = []
  workload.storage.onEvent(({ type, kind, object }) => {
    if (type === 'ADDED' && kind.kind === 'Pod' && object.metadata.name === probe.name) made.push(object)
  })
  return made
}

const machines = (workload: MemoryCluster) =>
  workload.storage.list(NodeKind).filter((node) => node.metadata.labels?.['karpenter.sh/nodepool'] === 'default')

describe('a node-pool stage that asks for the proof that machines come', () => {
  it('is healthy when a pod has run on a machine of the pool, says on which, and leaves no pod behind', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const workload = await world.addCluster('demo', SLOW)
    const made = watchProbes(workload)
    await world.until('the pod is there', () => workload.peek(PodKind, probe))
    assert.notEqual(stage()?.state, 'Healthy')
    await world.until('ready', isReady)

    const [machine] = machines(workload)
    assert.ok(machine)
    assert.equal(made.length, 1)
    assert.equal(workload.peek(PodKind, probe), undefined)
    assert.ok(stage()?.healthy?.evidence?.includes(`probe pod ran on node ${machine.metadata.name} (m7i.large)`))
    assert.ok(stage()?.verification?.endedAt)
    assert.equal(machines(workload).length, 1, 'the machine is left to Karpenter')
  })

  it('does it with a pod that may do nothing and that ends by itself', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const made = watchProbes(await world.addCluster('demo'))
    await world.until('ready', isReady)
    const { metadata, spec } = made[0] as AnyObject & { spec: JsonObject }
    assert.equal(metadata.labels?.['capt.appthrust.com/managed'], 'true')
    assert.partialDeepStrictEqual(spec, {
      nodeSelector: { 'karpenter.sh/nodepool': 'default' },
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      activeDeadlineSeconds: 120,
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          image: IMAGE,
          resources: { requests: { cpu: '10m', memory: '16Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    })
  })

  it('bears the taints of the pool', async () => {
    const taints: JsonObject[] = [
      { key: 'team', value: 'blue', effect: 'NoSchedule' },
      { key: 'dedicated', effect: 'NoExecute' },
    ]
    world = await addonsWorld({ pipeline: asking({ nodePool: { template: { spec: { taints } } } }) })
    const made = watchProbes(await world.addCluster('demo'))
    await world.until('ready', isReady)
    assert.deepEqual((made[0] as AnyObject & { spec: JsonObject }).spec['tolerations'], [
      { key: 'team', operator: 'Equal', value: 'blue', effect: 'NoSchedule' },
      { key: 'dedicated', operator: 'Exists', effect: 'NoExecute' },
    ])
  })

  it('fails with the words of the scheduler when no machine comes, keeps no pod meanwhile, and works on request', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const workload = await world.addCluster('demo', { faults: { default: 'dry' } })
    const made = watchProbes(workload)
    await world.until('it waits', () => stage()?.reason === 'ProbePending')
    assert.match(stage()?.message ?? '', /PodScheduled=False Unschedulable: 0\/2 nodes are available/)
    await world.until('a retry is due', () => stage()?.reason === 'RetryScheduled', 130)
    assert.equal(workload.peek(PodKind, probe), undefined)
    assert.match(stage()?.message ?? '', /\(retry 1 of 1 follows\)$/)

    await world.until('capt gives up', () => stage()?.state === 'Failed', 400)
    const { lastError, attempts } = stage() ?? {}
    assert.equal(attempts, 1)
    assert.equal(lastError?.code, 'CAPT_NODES_NOT_PROVEN')
    assert.match(lastError?.message ?? '', /^No machine for the probe pod after 2m: PodScheduled=False Unschedulable: /)
    assert.match(lastError?.hint ?? '', /describe nodeclaims/)
    assert.equal(conditionStatus(world.delivery('demo'), 'Stalled'), 'True')
    assert.equal(workload.peek(PodKind, probe), undefined)
    assert.equal(made.length, 2)

    await world.setFault('demo', {})
    const body = { metadata: { annotations: { 'capt.appthrust.com/retry': 'now' } } }
    await world.home.others.patch(AddonDelivery, key, { type: 'merge', body })
    await world.until('ready', isReady, 60)
    assert.equal(stage()?.lastError, undefined)
    assert.equal(workload.peek(PodKind, probe), undefined)
  })

  it('names an image that cannot be pulled', async () => {
    world = await addonsWorld({ pipeline: asking() })
    await world.addCluster('demo', { faults: { [probe.name]: 'pull' } })
    await world.until('it failed', () => stage()?.reason === 'RetryScheduled', 130)
    assert.match(stage()?.lastError?.message ?? '', /does not start on node ip-.*ImagePullBackOff/)
    assert.match(stage()?.lastError?.hint ?? '', /image cannot be pulled/)
    await world.setFault('demo', {})
    await world.until('ready', isReady, 60)
  })

  it('leaves alone a pod of that name that is somebody else’s, also at the end', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const workload = await world.addCluster('demo')
    workload.seed(PodKind, { apiVersion: 'v1', kind: 'Pod', metadata: probe, spec: {} } as AnyObject)
    await world.until('it is said', () => stage()?.lastError?.code === 'CAPT_PROBE_FOREIGN')
    assert.equal(stage()?.state, 'Failed')
    await deleteCluster()
    await world.until('torn down', isTornDown, 120)
    assert.ok(workload.peek(PodKind, probe))
    assert.deepEqual(await simulatedCloud(world.home.others, key), [])
  })
})

describe('the proof that machines come', () => {
  it('is not asked for unless the stage says so: no pod, no request', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    const made = watchProbes(workload)
    await world.until('ready', isReady)
    await world.idle(2)
    await deleteCluster()
    await world.until('torn down', isTornDown, 120)
    assert.deepEqual(await simulatedCloud(world.home.others, key), [])
    assert.deepEqual(made, [])
    assert.deepEqual(
      workload.requests.filter(({ kind, key: name }) => kind === 'Pod' && name.includes('capt-verify')),
      [],
    )
  })

  it('is given once: neither a later check nor a new manager requests it again', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const workload = await world.addCluster('demo')
    const made = watchProbes(workload)
    await world.until('ready', isReady)
    const proof = stage()?.verification
    workload.requests.length = 0
    await world.restart()
    for (let i = 0; i < 300; i++) await world.clock.advance(5000)
    assert.equal(isReady(), true)
    assert.ok(workload.requests.length > 0, 'somebody looked')
    assert.deepEqual(
      workload.requests.filter(({ key: name }) => name.includes('capt-verify')),
      [],
    )
    assert.equal(made.length, 1)
    assert.deepEqual(stage()?.verification, proof)
  })

  it('is asked for again when the content of the stage changes', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const workload = await world.addCluster('demo')
    const made = watchProbes(workload)
    await world.until('ready', isReady)
    const first = stage()?.verification?.contentHash
    await changePipeline(asking({ cpuLimit: 200 }))
    await world.until('it is proven again', () => isReady() && stage()?.verification?.contentHash !== first)
    assert.equal(stage()?.verification?.contentHash, stage()?.contentHash)
    assert.equal(made.length, 2)
    assert.equal(workload.peek(PodKind, probe), undefined)
  })

  it('is asked for when that is switched on later, and dropped with its pod when it is switched off', async () => {
    world = await addonsWorld({ pipeline: pipelineWith({}) })
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    await world.setFault('demo', { default: 'dry' })
    await changePipeline(asking())
    await world.until('the pod waits', () => stage()?.reason === 'ProbePending')
    await changePipeline(pipelineWith({}))
    await world.until('ready', isReady)
    assert.equal(workload.peek(PodKind, probe), undefined)
    assert.equal(stage()?.verification, undefined)
  })
})

describe('a probe pod whose manager is killed', () => {
  it('before it ran is found by its name and goes on', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const workload = await world.addCluster('demo', SLOW)
    const made = watchProbes(workload)
    await world.until('the pod is there', () => workload.peek(PodKind, probe))
    await world.restart()
    await world.until('ready', isReady)
    assert.equal(made.length, 1)
    assert.equal(workload.peek(PodKind, probe), undefined)
  })

  it('after it ran is removed by the next one, which does not ask again', async () => {
    world = await addonsWorld({ pipeline: asking() })
    const workload = await world.addCluster('demo', SLOW)
    const made = watchProbes(workload)
    await world.until('the pod is there', () => workload.peek(PodKind, probe))
    workload.failNext('delete', PodKind, 'ServerError', { times: 4 })
    await world.until('it ran', () => stage()?.verification?.evidence)
    assert.ok(workload.peek(PodKind, probe))
    assert.notEqual(stage()?.state, 'Healthy', 'not before the pod is gone')
    await world.restart()
    await world.until('ready', isReady, 60)
    assert.equal(made.length, 1)
    assert.equal(workload.peek(PodKind, probe), undefined)
  })
})

describe('a probe pod that is still waiting', () => {
  for (const [what, end, isOver] of [
    ['the Cluster is deleted', deleteCluster, isTornDown],
    [
      'the request is withdrawn',
      async () => {
        const body = { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': null } } }
        await world.home.others.patch(Cluster, key, { type: 'merge', body })
      },
      () => world.stage('demo', 'karpenter')?.state === 'NotWanted' && stage()?.state === 'NotWanted',
    ],
    [
      'the Cluster chooses another pipeline',
      async () => {
        const body = { metadata: { labels: { 'capt.appthrust.com/addon-pipeline': 'other' } } }
        await world.home.others.patch(Cluster, key, { type: 'merge', body })
      },
      () => world.delivery('demo') === undefined,
    ],
  ] as const)
    it(`goes when ${what}, before its pool does`, async () => {
      world = await addonsWorld({ pipeline: asking() })
      const workload = await world.addCluster('demo', { faults: { default: 'dry' } })
      await world.until('the pod waits', () => stage()?.reason === 'ProbePending')
      const gone: string[] = []
      workload.storage.onEvent(({ type, kind, object }) => {
        if (object.metadata.name === probe.name && type === 'DELETED') gone.push('Pod')
        if (kind.kind === 'NodePool' && (type === 'DELETED' || object.metadata.deletionTimestamp)) gone.push('NodePool')
      })
      await end()
      await world.until('it is over', isOver, 200)
      assert.equal(workload.peek(PodKind, probe), undefined)
      assert.equal(gone[0], 'Pod')
      if (end === deleteCluster) assert.deepEqual(await simulatedCloud(world.home.others, key), [])
    })
})
