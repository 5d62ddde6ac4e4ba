import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, CAPTMachine, MACHINE_FINALIZER, type UnknownObject, type WorkspaceTemplateApply } from '#api'
import { type ApplyFacts, readApply, toApply } from '../shared/apply.ts'
import { decide } from './decide.ts'
import { isDrained, labelChange, type NodeState } from './node.ts'
import type { Observed } from './observe.ts'
import { machineRequest } from './variables.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const at = (secondsAgo: number) => new Date(NOW_MS - secondsAgo * 1000).toISOString()
const CLUSTER: AnyObject = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default', uid: 'c' },
}
const INSTANCE = { id: 'i-1', providerId: 'aws:///a/i-1', privateIp: '10.0.0.1', zone: 'a', nodeName: 'ip-1' }

const machine = (spec: object = {}, metadata: object = {}): CAPTMachine => ({
  apiVersion: CAPTMachine.apiVersion,
  kind: CAPTMachine.kind,
  metadata: {
    name: 'm',
    namespace: 'default',
    uid: 'm',
    creationTimestamp: at(60),
    finalizers: [MACHINE_FINALIZER],
    ownerReferences: [{ apiVersion: CLUSTER.apiVersion, kind: 'Cluster', name: 'demo', uid: 'c' }],
    ...metadata,
  },
  spec: {
    workspaceTemplateRef: { name: 'machine' },
    instanceType: 'm7i.large',
    nodeGroupRef: { name: 'nodes' },
    drainTimeoutSeconds: 900,
    ...spec,
  },
})
const home = { apply: 'demo-eks', clusterName: 'demo', region: 'eu-west-1', values: {}, credentials: {} }
const place = {
  cluster: 'demo',
  home,
  nodeGroup: 'nodes',
  userDataSecret: 'm-user-data',
  zone: undefined,
  labels: undefined,
}
const node = (over: Partial<Extract<NodeState, { is: 'found' }>> = {}): NodeState => ({
  is: 'found',
  name: 'ip-1',
  isReady: true,
  message: '',
  isCordoned: false,
  labels: {},
  managedLabels: [],
  pods: [],
  ...over,
})

function observed(object: CAPTMachine, over: Partial<Observed> = {}): Observed {
  const request = machineRequest(object, place)
  const apply = toApply(request) as unknown as WorkspaceTemplateApply
  const cluster = { namespace: 'default', name: 'demo', uid: 'c', paused: false, deleting: false }
  return {
    object,
    clusterName: 'demo',
    cluster: { ...cluster, controlPlaneInitialized: true, object: CLUSTER },
    isUnderMachine: false,
    machine: undefined,
    hasHome: true,
    nodeGroup: { is: 'found', name: 'nodes' },
    request,
    apply,
    facts: facts('applied'),
    instance: INSTANCE,
    node: node(),
    drain: undefined,
    nowMs: NOW_MS,
    ...over,
  } as Observed
}

function facts(is: 'absent' | 'applied' | 'progressing' | 'failed', deleting = false): ApplyFacts {
  const state = { is, message: 'apply: 1 of 4', hint: 'capt retry m-machine', timedOut: false } as ApplyFacts['state']
  return { ...readApply(undefined), state, deleting }
}
const made = { providerID: INSTANCE.providerId }
const NEW = { apply: undefined, facts: facts('absent'), instance: undefined, node: { is: 'unread' } } as const
const summary = (of: Observed): string => {
  const decision = decide(of)
  if (decision.is === 'act') return decision.actions.map((action) => action.do).join(' ')
  return decision.is === 'done'
    ? `done ${decision.retryAfterSeconds ?? ''}`.trim()
    : `${decision.is} ${decision.reason}`
}

describe('A CAPTMachine', () => {
  const withoutOwner = machine({}, { ownerReferences: [] })
  const cluster = observed(machine()).cluster!
  for (const [what, of, expected] of [
    [
      'without a Cluster needs a person',
      observed(machine(), { clusterName: undefined, cluster: undefined }),
      'stalled ClusterMissing',
    ],
    ['waits for its Cluster', observed(machine(), { cluster: undefined }), 'waiting WaitingForCluster'],
    ['hangs under its Cluster', observed(withoutOwner), 'own'],
    ['takes a finalizer before anything is made', observed(machine({}, { finalizers: [] })), 'add-finalizer'],
    [
      'makes nothing for a Cluster that goes',
      observed(machine(), { ...NEW, cluster: { ...cluster, deleting: true } }),
      'waiting ClusterDeleting',
    ],
    [
      'waits for the control plane',
      observed(machine(), { ...NEW, cluster: { ...cluster, controlPlaneInitialized: false } }),
      'waiting WaitingForControlPlane',
    ],
    [
      'does nothing while paused',
      observed(machine(), { ...NEW, cluster: { ...cluster, paused: true } }),
      'waiting Paused',
    ],
    [
      'waits for bootstrap data',
      observed(machine(), { ...NEW, isUnderMachine: true }),
      'waiting WaitingForBootstrapData',
    ],
    [
      'reports bootstrap data that never comes',
      observed(machine({}, { creationTimestamp: at(700) }), { ...NEW, isUnderMachine: true }),
      'stalled BootstrapDataTimeout',
    ],
    [
      'goes on with bootstrap data',
      observed(machine(), { ...NEW, isUnderMachine: true, machine: { name: 'm', dataSecret: 's', zone: undefined } }),
      'write-apply',
    ],
    [
      'reports a node group that is missing',
      observed(machine(), { ...NEW, nodeGroup: { is: 'missing', ref: 'nodes' } }),
      'stalled NodeGroupMissing',
    ],
    [
      'waits for its node group',
      observed(machine(), { ...NEW, nodeGroup: { is: 'waiting', apply: 'n' } }),
      'waiting WaitingForNodeGroup',
    ],
    ['asks for its instance', observed(machine(), NEW), 'write-apply'],
    [
      'waits for its run',
      observed(machine(), { facts: facts('progressing'), instance: undefined }),
      'waiting Creating',
    ],
    ['needs a person when its run stopped', observed(machine(), { facts: facts('failed') }), 'stalled InstanceFailed'],
    ['needs the outputs of its template', observed(machine(), { instance: undefined }), 'stalled OutputMissing'],
    ['writes its providerID', observed(machine()), 'set-provider-id'],
    ['reports another instance', observed(machine({ providerID: 'aws:///a/i-0' })), 'stalled InstanceReplaced'],
    ['labels its Node', observed(machine({ ...made, labels: { tier: 'web' } })), 'label-node'],
    ['looks at a healthy Node seldom', observed(machine(made)), 'done 120'],
    ['looks for a missing Node soon', observed(machine(made), { node: { is: 'absent' } }), 'done 1'],
  ] as const)
    it(what, () => assert.equal(summary(of), expected))

  const gone = machine(made, { deletionTimestamp: at(10) })
  const pod = { namespace: 'default', name: 'web-1', uid: 'p', isGoing: false }
  const cordoned = { isCordoned: true, pods: [pod] }
  const held = { evictedAtMs: NOW_MS - 1000, held: ['default/web-1'] }
  for (const [what, of, expected] of [
    ['cordons its Node first', observed(gone), 'cordon'],
    ['evicts its pods', observed(gone, { node: node(cordoned) }), 'evict'],
    ['waits between two evictions', observed(gone, { node: node(cordoned), drain: held }), 'waiting Draining'],
    [
      'waits for pods that go',
      observed(gone, { node: node({ ...cordoned, pods: [{ ...pod, isGoing: true }] }) }),
      'waiting Draining',
    ],
    [
      'destroys its instance when the Node is empty',
      observed(gone, { node: node({ isCordoned: true }) }),
      'delete-apply',
    ],
    [
      'destroys its instance when the time is over',
      observed(machine(made, { deletionTimestamp: at(901) }), { node: node(cordoned) }),
      'delete-apply',
    ],
    [
      'evicts nothing when no time is given',
      observed(machine({ ...made, drainTimeoutSeconds: 0 }, { deletionTimestamp: at(1) })),
      'delete-apply',
    ],
    ['leaves the drain to core', observed(gone, { isUnderMachine: true }), 'delete-apply'],
    ['drains nothing with its Cluster', observed(gone, { cluster: { ...cluster, deleting: true } }), 'delete-apply'],
    [
      'waits for a cluster that does not answer',
      observed(gone, { node: { is: 'unreachable', message: 'no' } }),
      'waiting WorkloadUnreachable',
    ],
    [
      'goes without a cluster that does not answer for long',
      observed(machine(made, { deletionTimestamp: at(121) }), { node: { is: 'unreachable', message: 'no' } }),
      'delete-apply',
    ],
    [
      'waits for the destroy',
      observed(gone, { node: { is: 'absent' }, facts: facts('progressing', true) }),
      'waiting Destroying',
    ],
    [
      'reports a destroy that stopped',
      observed(gone, { facts: facts('failed', true) }),
      'stalled InstanceDeletionFailed',
    ],
    ['deletes its Node after the instance', observed(gone, { ...NEW, node: node() }), 'delete-node'],
    ['is over then', observed(gone, NEW), 'remove-finalizer'],
  ] as const)
    it(`that is deleted ${what}`, () => assert.equal(summary(of), expected))

  it('names the pods that a budget holds back', () => {
    const decision = decide(observed(gone, { node: node(cordoned), drain: held }))
    assert.equal(
      decision.is === 'waiting' && decision.message,
      'Draining Node ip-1: 1 pods left (default/web-1); a disruption budget holds default/web-1',
    )
  })
})

describe('The Node of a machine', () => {
  const found = (labels: Record<string, string>, managedLabels: readonly string[]) =>
    node({ labels, managedLabels }) as Extract<NodeState, { is: 'found' }>
  for (const [what, labels, managed, wanted, expected] of [
    ['has what is wanted', { a: '1' }, ['a'], { a: '1' }, undefined],
    ['gets a label', {}, [], { a: '1' }, { a: '1' }],
    ['gets another value', { a: '0' }, ['a'], { a: '1' }, { a: '1' }],
    ['loses a label that capt set', { a: '1' }, ['a'], {}, { a: null }],
    ['keeps labels of others', { b: '1' }, [], {}, undefined],
  ] as const)
    it(what, () => assert.deepEqual(labelChange(found(labels, managed), wanted), expected))

  const pod = (over: object): UnknownObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', ...over } })
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }
  for (const [what, of, expected] of [
    ['an ordinary pod', pod({}), true],
    ['a pod of a DaemonSet', pod({ ownerReferences: [owner] }), false],
    ['a static pod', pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } }), false],
    ['a pod that has ended', { ...pod({}), status: { phase: 'Succeeded' } }, false],
  ] as const)
    it(`is drained of ${what}: ${expected}`, () => assert.equal(isDrained(of), expected))
})
