// One step without waiting: it is begun when the control plane is settled, and not reported as begun otherwise.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPTControlPlane, clusterKind } from '#api'
import { manualClock, memoryCluster } from '#testing'
import { performUpgrade } from './perform.ts'

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
  }
  const outcome = await performUpgrade(ports, 'shop', '1.36', 0)
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
