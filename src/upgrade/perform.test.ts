// One step without waiting: it is begun when the control plane is settled, and not reported as begun otherwise. And why an upgrade stops.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPTControlPlane, clusterKind } from '#api'
import { manualClock, memoryCluster } from '#testing'
import { performUpgrade, stopOf } from './perform.ts'
import { planUpgrade } from './plan.ts'
import type { ClusterState, ComponentState } from './state.ts'

const Cluster = clusterKind('v1beta2')
const metadata = { namespace: 'default', name: 'shop' }

async function begin(isReady: boolean) {
  const { objects } = memoryCluster()
  const controlPlaneRef = { apiGroup: CAPTControlPlane.group, kind: CAPTControlPlane.kind, name: 'shop' }
  await objects.create(Cluster, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata,
    spec: { controlPlaneRef },
  } as never)
  const status = {
    version: 'v1.35.0',
    conditions: [
      {
        type: 'Ready',
        status: isReady ? 'True' : 'False',
        reason: 'Test',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  }
  await objects.create(CAPTControlPlane, {
    apiVersion: `${CAPTControlPlane.group}/v1beta1`,
    kind: CAPTControlPlane.kind,
    metadata,
    spec: { version: 'v1.35.0', workspaceTemplateRef: { name: 'eks' } },
  } as never)
  await objects.patch(CAPTControlPlane, metadata, { type: 'merge', body: { status } }, { subresource: 'status' })
  const ports = {
    objects,
    namespace: 'default',
    clusterKind: Cluster,
    clock: manualClock(),
    signal: new AbortController().signal,
    progress: () => {},
    live: () => {},
  }
  const outcome = await performUpgrade(ports, 'shop', { target: '1.36', waitMs: 0 })
  const { spec } = (await objects.get<CAPTControlPlane>(CAPTControlPlane, metadata))!
  return { outcome, version: spec.version }
}

describe('An upgrade without --wait', () => {
  it('begins the first step', async () => {
    const { outcome, version } = await begin(true)
    assert.deepEqual([outcome.is, version], ['begun', '1.36'])
  })

  it('writes nothing while the control plane is not ready, and says so', async () => {
    const { outcome, version } = await begin(false)
    assert.deepEqual(
      [outcome, version],
      [
        {
          is: 'late',
          message: 'Kubernetes 1.36 was not begun: the control plane of Kubernetes 1.35 is not ready',
        },
        'v1.35.0',
      ],
    )
  })
})

describe('An upgrade that cannot go on', () => {
  const component = (over: Partial<ComponentState> = {}): ComponentState => ({
    component: 'karpenter',
    version: '1.12.0',
    stage: 'karpenter',
    delivery: metadata,
    isPinned: true,
    isForeign: false,
    state: 'Healthy',
    message: '',
    ...over,
  })
  const stateOf = (components: readonly ComponentState[], stops: readonly string[] = []): ClusterState => ({
    cluster: metadata,
    controlPlane: metadata,
    kubernetes: '1.35',
    requested: '1.35',
    hasTopology: false,
    isSettled: true,
    stops,
    components,
  })
  const [karpenter, kubernetes] = planUpgrade(stateOf([component()]), '1.36').steps
  const failed = component({ version: '1.14.1', state: 'Failed', message: 'ImagePullBackOff' })

  for (const [what, state, step, requested, expected] of [
    [
      'at a stage that it asked for says how to go on, and how to go back',
      stateOf([failed]),
      kubernetes,
      karpenter,
      'stage karpenter failed: ImagePullBackOff; mend the cause, then capt retry adeliv shop and this command again; to go back, set spec.overrides[stage=karpenter].version of AddonDelivery shop to 1.12.0',
    ],
    [
      'at a stage that had failed before says how to go on',
      stateOf([failed]),
      kubernetes,
      undefined,
      'stage karpenter failed: ImagePullBackOff; mend the cause, then capt retry adeliv shop and this command again',
    ],
    [
      'at a control plane that stopped says how to go back',
      stateOf([], ['CAPTControlPlane shop: no']),
      undefined,
      kubernetes,
      'CAPTControlPlane shop: no; do what it says, then run this command again; to go back, set spec.version of CAPTControlPlane shop to 1.35',
    ],
    [
      'at what others installed leaves it to them',
      stateOf([component({ isForeign: true })]),
      planUpgrade(stateOf([component({ isForeign: true })]), '1.36').steps[0],
      undefined,
      /^Karpenter 1\.12\.0: .*; .*where it came from$/,
    ],
    ['does not stop while nothing is wrong', stateOf([component()]), karpenter, undefined, ''],
  ] as const)
    it(what, () => {
      const stop = stopOf(state, step, requested)
      const text = stop?.is === 'stopped' ? `${stop.message}; ${stop.hint}` : ''
      if (typeof expected === 'string') assert.equal(text, expected)
      else assert.match(text, expected)
    })
})
