import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AnyObject,
  CAPTMachine,
  CAPTMachineDeployment,
  CAPTMachineSet,
  type Condition,
  MACHINE_DEPLOYMENT_FINALIZER,
  MACHINE_SET_FINALIZER,
  REVISION_ANNOTATION,
  TEMPLATE_HASH_LABEL,
} from '#api'
import type { Cache, Projected } from '#kube'
import { decide as decideSet, inPlaceChange } from '../machine-set/decide.ts'
import { observeMachineSet } from '../machine-set/observe.ts'
import { statusOf as statusOfSet } from '../machine-set/status.ts'
import { decide } from './decide.ts'
import { observeMachineDeployment } from './observe.ts'
import { statusOf } from './status.ts'

const NOW_MS = Date.UTC(2026, 0, 1, 1)
const at = (secondsAgo: number) => new Date(NOW_MS - secondsAgo * 1000).toISOString()
const ClusterKind = {
  group: 'cluster.x-k8s.io',
  version: 'v1beta2',
  kind: 'Cluster',
  plural: 'clusters',
  namespaced: true,
}
const CLUSTER = 'cluster.x-k8s.io/cluster-name'

type Template = CAPTMachineDeployment['spec']['template']
const template = (instanceType: string, over: object = {}): Template => ({
  metadata: { labels: { pool: 'w' } },
  spec: { workspaceTemplateRef: { name: 'machine' }, instanceType, drainTimeoutSeconds: 900, ...over },
})
const owner = (of: AnyObject) => ({ ...of.metadata, apiVersion: of.apiVersion, kind: of.kind, uid: of.metadata.uid! })
const controlled = (of: AnyObject) => {
  const { apiVersion, kind, name, uid } = owner(of)
  return [{ apiVersion, kind, name, uid, controller: true }]
}

const cluster: AnyObject = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default', uid: 'c' },
}
function deployment(spec: object = {}, metadata: object = {}, status: object = {}): CAPTMachineDeployment {
  const { apiVersion, kind } = cluster
  return {
    apiVersion: CAPTMachineDeployment.apiVersion,
    kind: CAPTMachineDeployment.kind,
    metadata: {
      name: 'w',
      namespace: 'default',
      uid: 'd',
      generation: 1,
      labels: { [CLUSTER]: 'demo' },
      finalizers: [MACHINE_DEPLOYMENT_FINALIZER],
      ownerReferences: [{ apiVersion, kind, name: 'demo', uid: 'c' }],
      annotations: { [REVISION_ANNOTATION]: '1' },
      ...metadata,
    },
    spec: {
      replicas: 2,
      selector: { matchLabels: { pool: 'w' } },
      template: template('m7i.large'),
      strategy: { type: 'RollingUpdate' },
      deletePolicy: 'Oldest',
      minReadySeconds: 0,
      revisionHistoryLimit: 1,
      progressDeadlineSeconds: 600,
      ...spec,
    },
    status: { observedGeneration: 1, ...status },
  } as CAPTMachineDeployment
}
function set(name: string, type: string, replicas: number, revision: number, metadata: object = {}): CAPTMachineSet {
  const labels = { pool: 'w', [TEMPLATE_HASH_LABEL]: name }
  return {
    apiVersion: CAPTMachineSet.apiVersion,
    kind: CAPTMachineSet.kind,
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      labels: { [CLUSTER]: 'demo' },
      annotations: { [REVISION_ANNOTATION]: String(revision) },
      ownerReferences: controlled(deployment()),
      finalizers: [MACHINE_SET_FINALIZER],
      ...metadata,
    },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { ...template(type), metadata: { labels } },
      deletePolicy: 'Oldest',
      minReadySeconds: 0,
    },
  }
}
const condition = (type: string, status: Condition['status'], message = ''): Condition => ({
  type,
  status,
  reason: 'Test',
  message,
  lastTransitionTime: at(60),
})
function machine(
  name: string,
  of: CAPTMachineSet,
  is: 'available' | 'booting' | 'failed' = 'available',
  metadata: object = {},
) {
  return {
    apiVersion: CAPTMachine.apiVersion,
    kind: CAPTMachine.kind,
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      labels: { ...of.spec.template.metadata?.labels, [CLUSTER]: 'demo' },
      ownerReferences: controlled(of),
      ...metadata,
    },
    spec: of.spec.template.spec,
    status: {
      initialization: { provisioned: is === 'available' },
      conditions: [
        condition('NodeHealthy', is === 'available' ? 'True' : 'Unknown'),
        ...(is === 'failed' ? [condition('Stalled', 'True', 'no such type')] : []),
      ],
    },
  } as CAPTMachine
}

/** Everything belongs to the one Cluster, so every index answers with all objects of the kind. */
const cacheOf = (objects: readonly AnyObject[]): Cache => {
  const list = (kind: { kind: string }) => objects.filter((one) => one.kind === kind.kind) as never
  const get = (kind: { kind: string }, { name }: { name: string }) =>
    (list(kind) as readonly AnyObject[]).find(({ metadata }) => metadata.name === name) as never
  return { list, get, keys: () => [], summaries: () => [] }
}
const observe = (object: CAPTMachineDeployment, others: readonly AnyObject[]) =>
  observeMachineDeployment(
    cacheOf([cluster, object, ...others]),
    ClusterKind,
    object as Projected<typeof object>,
    NOW_MS,
  )

const summary = (object: CAPTMachineDeployment, others: readonly AnyObject[] = []): string => {
  const decision = decide(observe(object, others))
  if (decision.is !== 'act') return decision.is === 'done' ? 'done' : `${decision.is} ${decision.reason}`
  return decision.actions
    .map((action) => {
      if (action.do === 'scale') return `${action.set.metadata.name}=${action.to}`
      if (action.do === 'create-set') return `create ${action.replicas} as ${action.revision}`
      if (action.do === 'set-revision') return `${action.set?.metadata.name ?? 'w'} is ${action.revision}`
      if (action.do === 'delete-sets') return `delete ${action.sets.map(({ metadata }) => metadata.name).join(' ')}`
      return action.do
    })
    .join(', ')
}

const a = set('w-a', 'm7i.large', 2, 1)
const all = [a, machine('1', a), machine('2', a)]
const huge = { template: template('m7i.huge') }
const stale = { updatedReplicas: 2, availableReplicas: 1, replicas: 2, lastProgressTime: at(601) }

describe('A CAPTMachineDeployment', () => {
  const b = set('w-b', 'm7i.huge', 1, 2)
  const second = { annotations: { [REVISION_ANNOTATION]: '2' } }
  for (const [what, object, others, expected] of [
    [
      'without a Cluster needs a person',
      deployment({}, { labels: {}, ownerReferences: [] }),
      [],
      'stalled ClusterMissing',
    ],
    ['hangs under its Cluster', deployment({}, { ownerReferences: [] }), [], 'own'],
    ['makes its first set', deployment(), [], 'create 2 as 1'],
    ['is done when every machine is available', deployment(), all, 'done'],
    ['waits for machines', deployment(), [a, machine('1', a), machine('2', a, 'booting')], 'waiting RollingOut'],
    ['begins an update with the surge', deployment(huge), all, 'create 1 as 2'],
    [
      'changes labels without an update',
      deployment({ template: template('m7i.large', { labels: { x: 'y' } }) }),
      all,
      'update-set',
    ],
    [
      'stops at a machine that failed',
      deployment(huge, second),
      [...all, b, machine('3', b, 'failed')],
      'stalled MachineFailed',
    ],
    ['goes on when the new machine is available', deployment(huge, second), [...all, b, machine('3', b)], 'w-a=1'],
    [
      'removes the failed machine after an undo',
      deployment({}, second),
      [...all, b, machine('3', b, 'failed')],
      'w-b=0',
    ],
    [
      'numbers a template that it goes back to',
      deployment({}, second),
      [...all, set('w-b', 'm7i.huge', 0, 2)],
      'w-a is 3, w is 3',
    ],
    [
      'reports an update without progress',
      deployment({}, {}, stale),
      [a, machine('1', a), machine('2', a, 'booting')],
      'stalled ProgressDeadlineExceeded',
    ],
    ['rolls nothing out while paused', deployment({ ...huge, paused: true }), all, 'waiting RolloutPaused'],
    [
      'forgets templates beyond its history',
      deployment({}, { annotations: { [REVISION_ANNOTATION]: '4' } }),
      [
        set('w-a', 'm7i.large', 2, 4),
        machine('1', a),
        machine('2', a),
        set('w-b', 'm7i.huge', 0, 2),
        set('w-c', 'm7i.small', 0, 3),
      ],
      'delete w-b',
    ],
    ['adopts a set without an owner', deployment(), [set('w-a', 'm7i.large', 2, 1, { ownerReferences: [] })], 'adopt'],
    [
      'reports another that selects its machines',
      deployment(),
      [...all, deployment({}, { name: 'v', uid: 'v' })],
      'stalled SelectorOverlap',
    ],
    ['deletes its sets first', deployment({}, { deletionTimestamp: at(1) }), all, 'delete w-a'],
    [
      'waits for their machines',
      deployment({}, { deletionTimestamp: at(1) }),
      [set('w-a', 'm7i.large', 2, 1, { deletionTimestamp: at(1) }), machine('1', a)],
      'waiting DeletingMachines',
    ],
    ['is over when no set is left', deployment({}, { deletionTimestamp: at(1) }), [], 'remove-finalizer'],
  ] as const)
    it(what, () => assert.equal(summary(object, others), expected))

  it('counts a collision when the name of its set is taken, and takes another name', () => {
    const nameOf = (collisionCount: number, others: readonly AnyObject[]) => {
      const decision = decide(observe(deployment({}, {}, { collisionCount }), others))
      const [action] = decision.is === 'act' ? decision.actions : []
      return action?.do === 'create-set' ? action.name : action?.do
    }
    const first = nameOf(0, [])!
    const foreign = set(first, 'm7i.large', 2, 1, { ownerReferences: controlled(cluster) })
    assert.equal(nameOf(0, [foreign]), 'count-collision')
    assert.notEqual(nameOf(1, [foreign]), first)
  })

  it('reports what is available while an update fails', () => {
    const of = observe(deployment(huge, second), [...all, b, machine('3', b, 'failed')])
    const { fields, conditions = [] } = statusOf(of, decide(of))
    assert.deepEqual(
      [
        fields?.['replicas'],
        fields?.['updatedReplicas'],
        fields?.['availableReplicas'],
        fields?.['unavailableReplicas'],
      ],
      [3, 1, 2, 1],
    )
    const word = (type: string) => conditions.find((one) => one.type === type)
    assert.equal(word('Available')?.status, 'True')
    assert.equal(word('Progressing')?.status, 'False')
    assert.match(
      word('Progressing')?.message ?? '',
      /CAPTMachine 3: no such type\. correct the cause, or go back: capt roll/,
    )
  })
})

describe('A CAPTMachineSet', () => {
  const decideOf = (object: CAPTMachineSet, others: readonly AnyObject[]) => {
    const cache = cacheOf([cluster, object, ...others])
    const decision = decideSet(observeMachineSet(cache, ClusterKind, object as Projected<CAPTMachineSet>, NOW_MS))
    if (decision.is !== 'act') return decision.is === 'done' ? 'done' : `${decision.is} ${decision.reason}`
    return decision.actions
      .map((action) => {
        if (action.do === 'delete') return `delete ${action.machines.map(({ name }) => name).join(' ')}`
        if (action.do === 'create') return `create ${action.count}`
        return action.do === 'adopt' || action.do === 'release'
          ? `${action.do} ${action.machine.metadata.name}`
          : action.do
      })
      .join(', ')
  }
  const two = [machine('1', a), machine('2', a)]
  const down = set('w-a', 'm7i.large', 1, 1)
  for (const [what, object, others, expected] of [
    ['makes what is missing', a, [machine('1', a)], 'create 1'],
    ['is done with as many as wanted', a, two, 'done'],
    [
      'adopts a machine without an owner',
      a,
      [machine('1', a), machine('2', a, 'available', { ownerReferences: [] })],
      'adopt 2',
    ],
    [
      'releases a machine that it does not select',
      a,
      [...two, machine('3', a, 'available', { labels: { [CLUSTER]: 'demo' } })],
      'release 3',
    ],
    ['keeps a machine that its deployment needs', down, [...two, deployment()], 'waiting WaitingForReplacement'],
    ['removes one that its deployment does not need', down, [...two, deployment({ replicas: 1 })], 'delete 1'],
    ['removes the unhealthy one', down, [machine('1', a), machine('2', a, 'booting'), deployment()], 'delete 2'],
    [
      'removes any when it is on its own',
      { ...down, metadata: { ...down.metadata, ownerReferences: controlled(cluster) } },
      two,
      'delete 1',
    ],
    ['reports a machine that failed', a, [machine('1', a), machine('2', a, 'failed')], 'stalled MachineFailed'],
    [
      'makes nothing while it is deleted',
      set('w-a', 'm7i.large', 3, 1, { deletionTimestamp: at(1) }),
      two,
      'delete 1 2',
    ],
    [
      'is over when its machines are gone',
      set('w-a', 'm7i.large', 3, 1, { deletionTimestamp: at(1) }),
      [],
      'remove-finalizer',
    ],
  ] as const)
    it(what, () => assert.equal(decideOf(object as CAPTMachineSet, others), expected))

  // Their Nodes have been healthy for a minute.
  for (const [minReadySeconds, availableReplicas] of [
    [0, 2],
    [60, 2],
    [61, 0],
  ] as const)
    it(`counts ${availableReplicas} of its machines as available with minReadySeconds ${minReadySeconds}`, () => {
      const labels = { ...a.spec.template.metadata?.labels, team: 'a' }
      const changed = {
        ...a.spec,
        replicas: 4,
        minReadySeconds,
        template: { ...a.spec.template, metadata: { labels } },
      }
      const object: CAPTMachineSet = { ...a, spec: changed }
      const gone = machine('4', a, 'available', { deletionTimestamp: at(1) })
      const labelled = machine('2', a, 'available', { labels: { ...labels, [CLUSTER]: 'demo' } })
      const others = [machine('1', a), labelled, machine('3', a, 'booting'), gone]
      const of = observeMachineSet(
        cacheOf([cluster, object, ...others]),
        ClusterKind,
        object as Projected<CAPTMachineSet>,
        NOW_MS,
      )
      assert.deepEqual(statusOfSet(of, decideSet(of)).fields, {
        selector: `${TEMPLATE_HASH_LABEL}=w-a,pool=w`,
        replicas: 3,
        fullyLabeledReplicas: 1,
        readyReplicas: 2,
        availableReplicas,
      })
    })

  it('changes labels of its machines in place, and removes those that are gone', () => {
    const changed: CAPTMachineSet = {
      ...a,
      spec: { ...a.spec, template: template('m7i.huge', { labels: { x: '1' } }) },
    }
    const old = { ...machine('1', a), spec: { ...a.spec.template.spec, labels: { y: '2' }, tags: { t: '1' } } }
    assert.deepEqual(inPlaceChange(changed, old), { labels: { y: null, x: '1' }, tags: null })
    assert.equal(inPlaceChange(a, machine('1', a)), undefined)
  })
})
