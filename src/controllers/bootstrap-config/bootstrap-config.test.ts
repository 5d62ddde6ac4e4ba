import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CAPTBootstrapConfig } from '#api'
import type { Projected } from '#kube'
import { decide, type Observed } from './decide.ts'
import { nodeUserData } from './user-data.ts'

const facts = { name: 'demo', endpoint: 'https://x.eks', caData: 'Q0E=', serviceCidr: '10.100.0.0/16' }
const object = (spec: CAPTBootstrapConfig['spec'] = {}, metadata: object = {}) =>
  ({
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1',
    kind: 'CAPTBootstrapConfig',
    metadata: { name: 'one', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    spec,
  }) as unknown as Projected<CAPTBootstrapConfig>
const observed = (more: Partial<Observed> = {}): Observed => ({
  object: object(),
  owner: 'Machine',
  cluster: {
    name: 'demo',
    paused: false,
    controlPlaneRef: { group: 'controlplane.cluster.x-k8s.io', kind: 'CAPTControlPlane', name: 'demo' },
    controlPlaneInitialized: true,
  },
  join: { is: 'known', facts },
  secret: 'absent',
  nowMs: Date.parse('2026-01-01T01:00:00Z'),
  ...more,
})
const { cluster } = observed()

describe('a CAPTBootstrapConfig', () => {
  const rows: readonly [string, Partial<Observed>, string][] = [
    ['waits for its owner', { owner: undefined }, 'waiting WaitingForMachine'],
    ['waits for its Cluster', { cluster: undefined }, 'waiting WaitingForCluster'],
    ['does nothing while paused', { cluster: { ...cluster!, paused: true } }, 'waiting Paused'],
    [
      'waits for the control plane',
      { cluster: { ...cluster!, controlPlaneInitialized: false } },
      'waiting WaitingForControlPlane',
    ],
    [
      'refuses a control plane of another provider',
      { cluster: { ...cluster!, controlPlaneRef: { group: 'x', kind: 'KubeadmControlPlane', name: 'k' } } },
      'stalled ControlPlaneUnsupported',
    ],
    [
      'names the outputs that are missing',
      { join: { is: 'missing', outputs: ['cluster_service_cidr'] } },
      'stalled OutputMissing',
    ],
    ['writes its Secret', {}, 'act'],
    ['has written its Secret', { secret: 'ours' }, 'done'],
    ['leaves the Secret of somebody else alone', { secret: 'foreign' }, 'stalled SecretNameTaken'],
    ['ends with its owner', { object: object({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }) }, 'done'],
  ]
  for (const [what, more, expected] of rows)
    it(what, () => {
      const decision = decide(observed(more))
      assert.equal('reason' in decision ? `${decision.is} ${decision.reason}` : decision.is, expected)
    })

  it('gives a MachinePool empty data, also before the control plane answers', () => {
    const decision = decide(
      observed({
        owner: 'MachinePool',
        join: { is: 'missing', outputs: [] },
        cluster: { ...cluster!, controlPlaneInitialized: false },
      }),
    )
    assert.deepEqual(decision, { is: 'act', actions: [{ do: 'write-secret', value: '' }] })
  })
})

describe('user data of a node', () => {
  const read = (text: string) => {
    const [head, body = ''] = text.split('--capt-node-config\n')
    assert.match(head ?? '', /^MIME-Version: 1\.0\nContent-Type: multipart\/mixed; boundary="capt-node-config"\n\n$/)
    assert.match(body, /^Content-Type: application\/node\.eks\.aws\n\n/)
    assert.ok(text.endsWith('\n--capt-node-config--\n'))
    return JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1)) as object
  }

  it('is a NodeConfig of nodeadm in a MIME message', () => {
    assert.deepEqual(read(nodeUserData(facts, object())), {
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      spec: {
        cluster: {
          name: 'demo',
          apiServerEndpoint: 'https://x.eks',
          certificateAuthority: 'Q0E=',
          cidr: '10.100.0.0/16',
        },
      },
    })
  })

  it('has the settings of the kubelet', () => {
    const kubelet = { config: { maxPods: 30 }, flags: ['--node-labels=team=a'] }
    const { spec } = read(nodeUserData(facts, object({ kubelet }))) as { spec: { kubelet: object } }
    assert.deepEqual(spec.kubelet, kubelet)
  })
})
