import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CAPTMachinePool, MACHINE_POOL_FINALIZER, type MachinePoolFacts, type WorkspaceTemplateApply } from '#api'
import type { Projected } from '#kube'
import type { Decision } from '#runtime'
import type { Delivery } from '../control-plane/observe.ts'
import { readApply, toApply } from '../shared/apply.ts'
import { type Action, decide } from './decide.ts'
import type { Observed } from './observe.ts'
import { statusOf } from './status.ts'
import { nodeGroupRequest, type Place } from './variables.ts'

const PLACE: Place = {
  cluster: 'demo',
  inAws: 'demo',
  region: 'eu-west-1',
  vpcId: 'vpc-1',
  privateSubnets: ['subnet-1'],
  identity: undefined,
  eksApply: 'demo-eks-controlplane-apply',
}
const MACHINE_POOL: MachinePoolFacts = {
  namespace: 'default',
  name: 'workers',
  uid: 'mp',
  deleting: false,
  clusterName: 'demo',
  replicas: 2,
  isAutoscaled: false,
  version: undefined,
  infrastructureRef: { group: 'infrastructure.cluster.x-k8s.io', kind: 'CAPTMachinePool', name: 'workers' },
  bootstrapRef: undefined,
  dataSecretName: '',
}
const CLUSTER: NonNullable<Observed['cluster']> = {
  namespace: 'default',
  name: 'demo',
  uid: 'c',
  paused: false,
  deleting: false,
  infrastructureRef: undefined,
  controlPlaneRef: { group: 'controlplane.cluster.x-k8s.io', kind: 'CAPTControlPlane', name: 'demo' },
  controlPlaneInitialized: true,
  annotations: {},
}

interface Given {
  readonly spec?: Partial<CAPTMachinePool['spec']>
  readonly metadata?: Partial<CAPTMachinePool['metadata']>
  readonly pool?: Partial<MachinePoolFacts>
  readonly cluster?: Partial<typeof CLUSTER>
  /** How far the run is; `none`: nothing was asked for yet. */
  readonly run?: 'none' | 'running' | 'failed' | 'applied' | 'destroying'
  readonly outputs?: Record<string, string>
  readonly more?: Partial<Observed>
}

function observed({ spec, metadata, pool, cluster, run = 'applied', outputs = {}, more }: Given = {}): Observed {
  const object = {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'CAPTMachinePool',
    metadata: {
      name: 'workers',
      namespace: 'default',
      uid: 'p',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      finalizers: [MACHINE_POOL_FINALIZER],
      ...metadata,
    },
    spec: { workspaceTemplateRef: { name: 'node-group' }, providerIDList: ['aws:///a/i-1', 'aws:///b/i-2'], ...spec },
  } as unknown as Projected<CAPTMachinePool>
  const machinePool = { ...MACHINE_POOL, ...pool }
  const request = nodeGroupRequest(object, machinePool, PLACE, machinePool.version?.slice(1, 5) ?? '1.35')
  const apply = run === 'none' ? undefined : applyOf(toApply(request), run, outputs)
  return {
    object,
    machinePool,
    cluster: { ...CLUSTER, ...cluster },
    controlPlane: {} as NonNullable<Observed['controlPlane']>,
    place: PLACE,
    runningVersion: '1.35',
    apply,
    facts: readApply(apply),
    nodes: { is: 'known', providerIds: ['aws:///a/i-1', 'aws:///b/i-2'], count: 2, ready: 2 },
    spotRole: undefined,
    deliveries: [],
    nowMs: Date.parse('2026-01-01T01:00:00Z'),
    ...more,
  }
}

function applyOf(made: object, run: string, outputs: Record<string, string>): Projected<WorkspaceTemplateApply> {
  const apply = made as WorkspaceTemplateApply
  const time = '2026-01-01T00:00:00Z'
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: 'R',
    message: 'm',
    lastTransitionTime: time,
  })
  return {
    ...apply,
    metadata: {
      ...apply.metadata,
      uid: 'a',
      annotations: { 'capt.appthrust.com/wanted': apply.metadata.annotations!['capt.appthrust.com/wanted']! },
      ...(run === 'destroying' ? { deletionTimestamp: time } : {}),
    },
    status: {
      conditions: [
        condition('Ready', run === 'applied' ? 'True' : 'False'),
        condition('Stalled', run === 'failed' ? 'True' : 'False'),
      ],
      ...(run === 'applied' || run === 'destroying' ? { appliedHash: 'h', outputs } : {}),
    },
  } as unknown as Projected<WorkspaceTemplateApply>
}

const wordOf = (decision: Decision<Action>): string => {
  if (decision.is === 'act') return decision.actions.map((action) => action.do).join(' ')
  return decision.is === 'done' ? 'done' : `${decision.is} ${decision.reason}`
}

const delivery: Delivery = {
  name: 'demo',
  pipeline: { name: 'p' },
  tornDown: false,
  mayBeDelivered: true,
  message: '',
  components: [],
}
const going = { deletionTimestamp: '2026-01-01T00:59:00Z' }

describe('a CAPTMachinePool', () => {
  const rows: readonly [string, Given, string][] = [
    ['waits for its MachinePool', { more: { machinePool: undefined } }, 'waiting WaitingForMachinePool'],
    ['waits for its Cluster', { more: { cluster: undefined } }, 'waiting WaitingForCluster'],
    ['takes a finalizer before anything is made', { metadata: { finalizers: [] }, run: 'none' }, 'add-finalizer'],
    ['starts nothing for a Cluster that is deleted', { cluster: { deleting: true } }, 'waiting MachinePoolDeleting'],
    ['starts nothing while paused', { cluster: { paused: true }, run: 'none' }, 'waiting Paused'],
    [
      'waits for a control plane that answers',
      { cluster: { controlPlaneInitialized: false }, run: 'none' },
      'waiting WaitingForControlPlane',
    ],
    [
      'refuses a control plane of another provider',
      { cluster: { controlPlaneRef: { group: 'x', kind: 'KubeadmControlPlane', name: 'k' } } },
      'stalled ControlPlaneUnsupported',
    ],
    ['asks for a node group', { run: 'none' }, 'write-apply'],
    ['asks again when the replicas change', { more: { machinePool: { ...MACHINE_POOL, replicas: 3 } } }, 'write-apply'],
    [
      'refuses replicas beyond its bounds',
      { spec: { scaling: { minSize: 1, maxSize: 3 } }, pool: { replicas: 4 } },
      'stalled ReplicasOutOfBounds',
    ],
    ['needs bounds for an autoscaler', { pool: { isAutoscaled: true } }, 'stalled ScalingMissing'],
    [
      'makes the Spot role before Spot instances',
      { run: 'none', more: { spotRole: { is: 'unknown' } } },
      'ensure-spot-role',
    ],
    ['goes on when the Spot role is there', { run: 'none', more: { spotRole: { is: 'present' } } }, 'write-apply'],
    [
      'stops when the Spot role is refused',
      { run: 'none', more: { spotRole: { is: 'refused', message: 'm', hint: 'h', retryAfterSeconds: 60 } } },
      'stalled SpotServiceLinkedRoleFailed',
    ],
    ['waits for its run', { run: 'running' }, 'waiting Creating'],
    ['stops with the failure of its run', { run: 'failed' }, 'stalled NodeGroupFailed'],
    [
      'does not take the object of somebody else',
      {
        more: {
          apply: {
            ...applyOf(toApply(nodeGroupRequest(observed().object, MACHINE_POOL, PLACE, '1.35')), 'applied', {}),
            metadata: {
              name: 'workers-node-group',
              ownerReferences: [{ apiVersion: 'v1', kind: 'Thing', name: 't', uid: 'x', controller: true }],
            },
          } as unknown as Projected<WorkspaceTemplateApply>,
        },
      },
      'stalled NodeGroupNameTaken',
    ],
    ['reports the provider ids of its nodes', { spec: { providerIDList: [] } }, 'set-provider-ids'],
    [
      'reports that nodes left',
      { more: { nodes: { is: 'known', providerIds: ['aws:///a/i-1'], count: 1, ready: 1 } } },
      'set-provider-ids',
    ],
    [
      'waits for nodes to join',
      { spec: { providerIDList: [] }, more: { nodes: { is: 'known', providerIds: [], count: 0, ready: 0 } } },
      'waiting WaitingForNodes',
    ],
    [
      'waits for nodes to be ready',
      { more: { nodes: { is: 'known', providerIds: ['aws:///a/i-1', 'aws:///b/i-2'], count: 2, ready: 1 } } },
      'waiting NodesNotReady',
    ],
    [
      'says that nodes cannot be read',
      { more: { nodes: { is: 'unreachable', message: 'no route' } } },
      'waiting NodesUnknown',
    ],
    ['is done with all nodes', {}, 'done'],
    [
      'gives the number of an autoscaler to its MachinePool',
      { spec: { scaling: { minSize: 0, maxSize: 9 } }, pool: { isAutoscaled: true, replicas: 5 } },
      'report-replicas',
    ],
    [
      'keeps its request when an autoscaler changed the replicas',
      { spec: { scaling: { minSize: 0, maxSize: 9 } }, pool: { isAutoscaled: true } },
      'done',
    ],
    // Versions.
    [
      'waits for its control plane to be upgraded',
      { pool: { version: 'v1.36.0' } },
      'waiting WaitingForControlPlaneUpgrade',
    ],
    ['keeps nodes of an older version', { pool: { version: 'v1.33.2' } }, 'done'],
    ['refuses a version four minors behind', { pool: { version: 'v1.31.0' } }, 'stalled VersionTooOld'],
    [
      'refuses what is no version',
      { more: { machinePool: { ...MACHINE_POOL, version: 'newest' } } },
      'stalled VersionInvalid',
    ],
    [
      'refuses to go back',
      { pool: { version: 'v1.34.0' }, outputs: { kubernetes_version: '1.35' } },
      'stalled DowngradeRefused',
    ],
    // Deletion.
    ['is not destroyed behind its MachinePool', { metadata: going }, 'waiting DeletedDirectly'],
    [
      'is destroyed alone when that is confirmed',
      { metadata: { ...going, annotations: { 'capt.appthrust.com/confirm-delete': 'workers' } } },
      'delete-apply',
    ],
    ['is destroyed with its MachinePool', { metadata: going, pool: { deleting: true } }, 'delete-apply'],
    [
      'goes after the add-ons of a deleted Cluster',
      { metadata: going, cluster: { deleting: true }, more: { deliveries: [delivery] } },
      'waiting WaitingForAddons',
    ],
    [
      'goes when the add-ons are gone',
      { metadata: going, cluster: { deleting: true }, more: { deliveries: [{ ...delivery, tornDown: true }] } },
      'delete-apply',
    ],
    [
      'does not wait for add-ons of a Cluster that stays',
      { metadata: going, pool: { deleting: true }, more: { deliveries: [delivery] } },
      'delete-apply',
    ],
    [
      'waits for its node group to go',
      { metadata: going, pool: { deleting: true }, run: 'destroying' },
      'waiting NodeGroupDeleting',
    ],
    [
      'is released when its node group is gone',
      { metadata: going, pool: { deleting: true }, run: 'none' },
      'remove-finalizer',
    ],
    [
      'is released without destroying anything when it was moved',
      { metadata: { ...going, annotations: { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' } } },
      'remove-finalizer',
    ],
    ['destroys nothing while paused', { metadata: going, cluster: { deleting: true, paused: true } }, 'waiting Paused'],
  ]
  for (const [what, given, expected] of rows) it(what, () => assert.equal(wordOf(decide(observed(given))), expected))
})

describe('the status of a CAPTMachinePool', () => {
  it('has the fields of both contracts once the group is made', () => {
    const { fields } = statusOf(observed({ outputs: { node_group_arn: 'arn:x', kubernetes_version: '1.35' } }), {
      is: 'done',
    })
    assert.deepEqual(fields, {
      ready: true,
      initialization: { provisioned: true },
      replicas: 2,
      readyReplicas: 2,
      nodeGroupName: 'workers',
      nodeGroupArn: 'arn:x',
      version: '1.35',
      workspaceTemplateStatus: {
        ready: true,
        workspaceName: 'workers-node-group',
        lastAppliedRevision: 'h',
        lastFailureMessage: undefined,
      },
    })
  })

  it('says nothing of readiness before', () => {
    const { fields } = statusOf(observed({ run: 'running' }), { is: 'waiting', reason: 'Creating', message: '' })
    assert.equal(fields?.['ready'], undefined)
    assert.equal(fields?.['initialization'], undefined)
  })

  it('counts the nodes that are missing', () => {
    const nodes = { is: 'known', providerIds: [], count: 1, ready: 0 } as const
    const { conditions } = statusOf(observed({ more: { nodes } }), { is: 'done' })
    assert.equal(conditions?.find(({ type }) => type === 'NodesReady')?.message, '0 of 2 nodes are ready')
  })
})
