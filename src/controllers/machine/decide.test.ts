import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, CAPTMachine, MACHINE_FINALIZER, type UnknownObject, type WorkspaceTemplateApply } from '#api'
import { type ApplyFacts, readApply, toApply } from '../shared/apply.ts'
import { decide } from './decide.ts'
import { isDrained, labelChange, type NodeState } from './node.ts'
import { isMadeByCore, type Observed } from './observe.ts'
import { statusOf } from './status.ts'
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
  version: undefined,
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
    runningVersion: '1.34',
    nodeGroup: { is: 'found', name: 'nodes', labels: {} },
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
const FOREIGN = { group: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane', name: 'k' }
const made = { providerID: INSTANCE.providerId }
const NEW = { apply: undefined, facts: facts('absent'), instance: undefined, node: { is: 'unread' } } as const
const under = (version: string | undefined) => ({
  isUnderMachine: true,
  machine: { name: 'm', dataSecret: 's', zone: undefined, version },
})
/** The core Machine names a Secret, and the run waits for it. */
function withoutSecret(secondsAgo: number): Observed {
  const of = observed(machine(), { ...under(undefined), facts: facts('progressing'), instance: undefined })
  const conditions = [{ type: 'Ready', status: 'False', reason: 'SourceMissing', message: 'no key value in Secret s' }]
  const { metadata, ...apply } = of.apply!
  return {
    ...of,
    apply: { ...apply, metadata: { ...metadata, creationTimestamp: at(secondsAgo) }, status: { conditions } },
  } as unknown as Observed
}
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
    [
      'is left to core until its Machine is known',
      observed(withoutOwner, { ...NEW, isUnderMachine: true }),
      'waiting WaitingForBootstrapData',
    ],
    [
      'that is new waits in case a core Machine owns it',
      observed(machine({}, { ownerReferences: [], creationTimestamp: at(1) }), NEW),
      'waiting WaitingForMachine',
    ],
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
      'refuses a control plane of another provider',
      observed(machine(), { ...NEW, cluster: { ...cluster, controlPlaneRef: FOREIGN }, hasHome: false }),
      'stalled ControlPlaneUnsupported',
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
    ['waits for a Secret that is not there yet', withoutSecret(60), 'waiting WaitingForBootstrapData'],
    ['reports a Secret that never comes', withoutSecret(600), 'stalled BootstrapDataTimeout'],
    ['leaves a Secret that goes later to its run', { ...withoutSecret(600), instance: INSTANCE }, 'waiting Updating'],
    ['goes on with bootstrap data', observed(machine(), { ...NEW, ...under(undefined) }), 'write-apply'],
    ['is made for the version of its Machine', observed(machine(), { ...NEW, ...under('v1.33.2') }), 'write-apply'],
    [
      'is not newer than the control plane',
      observed(machine(), { ...NEW, ...under('v1.35.0') }),
      'waiting WaitingForControlPlaneUpgrade',
    ],
    ['is not too old for it', observed(machine(), { ...NEW, ...under('v1.30.0') }), 'stalled VersionTooOld'],
    ['needs a version that is one', observed(machine(), { ...NEW, ...under('newest') }), 'stalled VersionInvalid'],
    [
      'waits until the version of the control plane is known',
      observed(machine(), { ...NEW, ...under('v1.34.0'), runningVersion: undefined }),
      'waiting WaitingForControlPlane',
    ],
    [
      'reports a node group that is missing',
      observed(machine(), { ...NEW, nodeGroup: { is: 'missing', ref: 'nodes' } }),
      'stalled NodeGroupMissing',
    ],
    [
      'reports an apply that made no node group',
      observed(machine(), { ...NEW, nodeGroup: { is: 'unnamed', apply: 'eks' } }),
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
    [
      'gives its Node the labels of its node group',
      observed(machine(made), { nodeGroup: { is: 'found', name: 'nodes', labels: { team: 'a' } } }),
      'label-node',
    ],
    ['looks at a healthy Node seldom', observed(machine(made)), 'done 120'],
    ['looks for a missing Node soon', observed(machine(made), { node: { is: 'absent' } }), 'done 1'],
  ] as const)
    it(what, () => assert.equal(summary(of), expected))

  const noData = observed(machine({}, { creationTimestamp: at(700) }), {
    ...NEW,
    isUnderMachine: true,
    machine: { name: 'core', dataSecret: undefined, zone: undefined, version: undefined },
  })
  for (const [what, of, message, hint] of [
    [
      'bootstrap data that never comes',
      noData,
      /^Machine core has had no bootstrap data for 10 minutes$/,
      /spec\.bootstrap of the Machine: its configRef must exist/,
    ],
    [
      'a bootstrap Secret that never comes',
      withoutSecret(600),
      /^Secret m-user-data with the bootstrap data in its key value has been missing for 10 minutes$/,
      /^create the Secret that spec\.bootstrap\.dataSecretName of the Machine names/,
    ],
    [
      'a missing node group',
      observed(machine(), { ...NEW, nodeGroup: { is: 'missing', ref: 'default/nodes' } }),
      /^Node group default\/nodes does not exist, or does not allow this namespace$/,
      /spec\.nodeGroupRef names, or make a machine that sets subnetIds, securityGroupIds and imageId/,
    ],
    [
      'an apply without a node group',
      observed(machine(), { ...NEW, nodeGroup: { is: 'unnamed', apply: 'eks' } }),
      /^WorkspaceTemplateApply eks has no output node_group_name/,
      /^name a CAPTMachinePool in nodeGroupRef/,
    ],
    [
      'an instance type that AWS refuses',
      observed(machine(), { facts: facts('failed') }),
      /./,
      /^capt retry m-machine$/,
    ],
  ] as const)
    it(`names the field, the reason and the next step for ${what}, where people look`, () => {
      const decision = decide(of)
      assert.ok(decision.is === 'stalled', decision.is)
      assert.match(decision.message, message)
      assert.match(decision.hint, hint)
      const { conditions = [] } = statusOf(of, decision)
      const text = conditions.find(({ type }) => type === 'InstanceReady')?.message ?? ''
      assert.ok(text.includes(decision.message) && text.includes(decision.hint), text)
    })

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
      'Draining Node ip-1: 1 pod left (default/web-1); a disruption budget holds default/web-1',
    )
  })
})

describe('The status of a CAPTMachine', () => {
  const report = (of: Observed) => statusOf(of, decide(of))
  const word = (of: Observed, type: string) => {
    const found = report(of).conditions?.find((condition) => condition.type === type)
    return found && `${found.status} ${found.reason}`
  }

  it('has the instance, and the fields of both contracts once its providerID is set', () => {
    const { fields } = report(observed(machine(made)))
    assert.partialDeepStrictEqual(fields, {
      ready: true,
      initialization: { provisioned: true },
      instanceId: 'i-1',
      privateIp: '10.0.0.1',
      failureDomain: 'a',
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalDNS', address: 'ip-1' },
      ],
      nodeRef: { name: 'ip-1' },
      workspaceTemplateStatus: { ready: true, workspaceName: 'm-machine' },
    })
    assert.equal(report(observed(machine())).fields?.['ready'], undefined, 'not before')
  })

  it('stays provisioned when its instance fails later', () => {
    const once = { ...machine(made), status: { initialization: { provisioned: true } } }
    const { fields } = report(observed(once, { facts: facts('failed'), instance: undefined }))
    assert.deepEqual(fields?.['initialization'], { provisioned: true })
  })

  const unreadable = { is: 'unreachable', message: 'no route' } as const
  for (const [what, of, instance, health] of [
    ['of a healthy Node', observed(machine(made)), 'True InstanceRunning', 'True NodeReady'],
    [
      'of a Node that is not ready',
      observed(machine(made), { node: node({ isReady: false, message: 'kubelet stopped' }) }),
      'True InstanceRunning',
      'False NodeNotReady',
    ],
    [
      'of one that has not joined',
      observed(machine(made), { node: { is: 'absent' } }),
      'True InstanceRunning',
      'False NodeMissing',
    ],
    [
      'of one that cannot be read',
      observed(machine(made), { node: unreadable }),
      'True InstanceRunning',
      'Unknown WorkloadUnreachable',
    ],
    ['before the instance', observed(machine(), NEW), 'False Creating', 'Unknown NodeUnknown'],
    [
      'without the instance',
      observed(machine(), { ...NEW, facts: facts('failed'), apply: observed(machine()).apply }),
      'False InstanceFailed',
      'Unknown NodeUnknown',
    ],
  ] as const)
    it(`says of instance and Node, ${what}: ${instance}, ${health}`, () =>
      assert.deepEqual([word(of, 'InstanceReady'), word(of, 'NodeHealthy')], [instance, health]))
})

describe('What core made', () => {
  const owner = (kind: string, group = 'cluster.x-k8s.io') => ({
    ownerReferences: [{ apiVersion: `${group}/v1beta2`, kind, name: 'o', uid: 'o' }],
  })
  for (const [what, metadata, expected] of [
    ['a machine of a core Machine', owner('Machine'), true],
    ['one that a MachineSet has just made', owner('MachineSet'), true],
    ['one that was cloned from a template', { annotations: { 'cluster.x-k8s.io/cloned-from-name': 't' } }, true],
    ['one of a CAPTMachineSet', owner('CAPTMachineSet', 'infrastructure.cluster.x-k8s.io'), false],
    ['one on its own under its Cluster', owner('Cluster'), false],
    ['one on its own', { ownerReferences: [] }, false],
  ] as const)
    it(`${what}: ${expected}`, () => assert.equal(isMadeByCore(machine({}, metadata)), expected))
})

describe('The Node of a machine', () => {
  const found = (labels: Record<string, string>, managedLabels: readonly string[]) =>
    node({ labels, managedLabels }) as Extract<NodeState, { is: 'found' }>
  for (const [what, labels, managed, wanted, expected] of [
    ['has the labels it should have', { a: '1' }, ['a'], { a: '1' }, undefined],
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
