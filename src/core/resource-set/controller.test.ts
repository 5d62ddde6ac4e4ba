import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AnyObject,
  CLUSTER_NAME_LABEL,
  type ConfigMap,
  ConfigMapKind,
  clusterKind,
  type Secret,
  SecretKind,
  type UnknownObject,
} from '#api'
import type { Events, InformerOptions } from '#kube'
import { keyedHash } from '#lib'
import { type AnyController, runControllers } from '#runtime'
import { collectingLog, manualClock, memoryCluster } from '#testing'
import { diff } from './apply.ts'
import { type Binding, BindingKind } from './binding.ts'
import { resourceSetBindingController } from './binding-controller.ts'
import { type CaseSource, RESOURCE_SET_CASES, type ResourceSetCase } from './cases.ts'
import { resourceSetController } from './controller.ts'
import { convertResourceSet, convertResourceSetBinding } from './convert.ts'
import { isSelected, SetKind } from './observe.ts'
import { parseSource } from './parse.ts'

const Cluster = clusterKind('v1beta2')
const events: Events = { emit: () => {} }

function sourceObject({ kind, name, type, data }: CaseSource): ConfigMap & Secret {
  const encoded =
    kind === 'Secret' && data
      ? Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
      : data
  return {
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: 'default' },
    ...(type ? { type } : {}),
    ...(encoded ? { data: encoded } : {}),
  }
}

const MANY_ATTEMPTS = 300

async function world(secrets: InformerOptions = {}) {
  const clock = manualClock()
  const home = memoryCluster({ clock })
  const workload = memoryCluster({ clock })
  // A controller that never rests would keep the test from ending: it gets no answer any more.
  let attempts = 0
  const connect = async () => {
    attempts += 1
    if (attempts > MANY_ATTEMPTS) await new Promise<never>(() => {})
    return workload.objects
  }
  const controllers = [resourceSetController({ connect }), resourceSetBindingController()] as unknown as AnyController[]
  home.informers.register(SecretKind, secrets)
  const running = runControllers({
    controllers,
    objects: home.objects,
    informers: home.informers,
    events,
    clock,
    log: collectingLog(),
  })
  await running.synced()
  const cluster = (over: Partial<AnyObject['metadata']> = {}): AnyObject =>
    ({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name: 'demo', namespace: 'default', labels: { want: 'yes' }, ...over },
      spec: {},
      status: { initialization: { infrastructureProvisioned: true } },
    }) as AnyObject
  const settle = async () => {
    for (let i = 0; i < 8; i++) {
      await clock.advance(50)
      for (let j = 0; j < 10; j++) await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }
  const close = async () => {
    const stopping = running.stop()
    await clock.advance(30_000)
    await stopping
  }
  return { home, workload, cluster, settle, close, clock, attempts: () => attempts }
}

const aSet = (one: Pick<ResourceSetCase, 'strategy' | 'sources' | 'resources'>): AnyObject =>
  ({
    apiVersion: 'addons.cluster.x-k8s.io/v1beta2',
    kind: 'ClusterResourceSet',
    metadata: { name: 'set', namespace: 'default' },
    spec: {
      clusterSelector: { matchLabels: { want: 'yes' } },
      strategy: one.strategy,
      resources: one.resources ?? one.sources.map(({ kind, name }) => ({ kind, name })),
    },
  }) as AnyObject

const entriesOf = (binding: Binding | undefined) =>
  binding?.spec.bindings?.find((entry) => entry.clusterResourceSetName === 'set')?.resources ?? []

describe('the stand-in for ClusterResourceSet', () => {
  it('backs off from two sets that fail on one Cluster, and serves a third one meanwhile', async () => {
    const { home, workload, cluster, settle, close, clock, attempts } = await world()
    const manifest = (namespace: string, name: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\ndata: {a: b}\n`
    const add = (name: string, data: Record<string, string>) => {
      home.seed(ConfigMapKind, sourceObject({ kind: 'ConfigMap', name, data }))
      const set = aSet({ strategy: 'Reconcile', sources: [{ kind: 'ConfigMap', name, data }] })
      home.seed(SetKind, { ...set, metadata: { ...set.metadata, name } })
    }
    home.seed(Cluster, cluster())
    for (const name of ['bad-one', 'bad-two']) add(name, { a: 'kind: [this is not YAML and long enough to be read' })
    await settle()
    assert.ok(attempts() < 20, `${attempts()} attempts within a second`)
    add('good', { a: manifest('default', 'delivered') })
    await settle()
    assert.ok(workload.peek(ConfigMapKind, { namespace: 'default', name: 'delivered' }), 'the third set is served')
    const before = home.requests.length
    for (let second = 0; second < 70; second++) await clock.advance(1000)
    await settle()
    const later = home.requests.slice(before)
    assert.ok(later.length < 120, `${later.length} requests in 70 s`)
    assert.deepEqual(
      later.filter(({ verb }) => verb !== 'get' && verb !== 'list'),
      [],
      'nothing changed, nothing is written',
    )
    const binding = home.peek<Binding>(BindingKind, { namespace: 'default', name: 'demo' })
    assert.deepEqual(
      binding?.spec.bindings?.map((one) => [one.clusterResourceSetName, one.resources?.[0]?.applied]).sort(),
      [
        ['bad-one', false],
        ['bad-two', false],
        ['good', true],
      ],
    )
    await close()
  })

  for (const one of RESOURCE_SET_CASES) {
    it(one.name, async () => {
      const { home, workload, cluster, settle, close } = await world()
      for (const object of one.before ?? [])
        workload.seed(ConfigMapKind, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: {
            name: object.name,
            namespace: 'default',
            labels: object.labels ?? {},
            finalizers: object.finalizers ?? [],
          },
          data: object.data ?? {},
        } as ConfigMap)
      for (const source of one.sources)
        home.seed(source.kind === 'Secret' ? SecretKind : ConfigMapKind, sourceObject(source))
      home.seed(Cluster, cluster())
      home.seed(SetKind, aSet(one))
      await settle()
      if (one.change) {
        await home.others.patch(
          ConfigMapKind,
          { namespace: 'default', name: one.sources[0]!.name },
          { type: 'merge', body: { data: one.change } },
        )
        await settle()
      }
      const set = home.peek<
        UnknownObject & { status?: { conditions?: { type: string; status: string; reason: string }[] } }
      >(SetKind, { namespace: 'default', name: 'set' })
      const condition = set?.status?.conditions?.find(({ type }) => type === 'ResourcesApplied')
      assert.deepEqual(condition && { status: condition.status, reason: condition.reason }, one.condition)

      const current = (name: string) => one.sources.find((source) => source.name === name)?.data ?? {}
      const wanted = one.change && one.strategy === 'Reconcile' ? one.change : undefined
      const entries = entriesOf(home.peek<Binding>(BindingKind, { namespace: 'default', name: 'demo' }))
      const expected = one.binding.map(({ name, applied, hash }) => ({
        name,
        applied,
        hash: hash === 'none' ? '' : keyedHash(wanted ?? current(name)),
      }))
      assert.deepEqual(
        entries.map(({ name, applied, hash }) => ({ name, applied, hash: hash ?? '' })),
        expected,
      )

      for (const { name, gone, ...fields } of one.after) {
        const live = workload.peek<ConfigMap>(ConfigMapKind, { namespace: 'default', name })
        if (gone) assert.equal(live, undefined)
        else
          assert.partialDeepStrictEqual(
            {
              data: live?.data ?? {},
              labels: live?.metadata.labels ?? {},
              finalizers: live?.metadata.finalizers ?? [],
            },
            fields,
          )
        if (fields.data && !gone) assert.deepEqual(live?.data, fields.data)
        if (fields.labels && !gone) assert.deepEqual(live?.metadata.labels ?? {}, fields.labels)
        if (fields.finalizers && !gone) assert.deepEqual(live?.metadata.finalizers ?? [], fields.finalizers)
      }
      await close()
    })
  }

  it('sees a Secret of a person that no watch reports within half a minute, when it arrives and when it changes', async () => {
    const { home, workload, cluster, settle, close, clock } = await world({ labelSelector: CLUSTER_NAME_LABEL })
    const manifest = (text: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: out\n  namespace: default\ndata:\n  text: ${text}\n`
    const mine = (text: string): CaseSource => ({
      kind: 'Secret',
      name: 'mine',
      type: 'addons.cluster.x-k8s.io/resource-set',
      data: { 'a.yaml': manifest(text) },
    })
    const out = () => workload.peek<ConfigMap>(ConfigMapKind, { namespace: 'default', name: 'out' })?.data?.['text']
    home.seed(Cluster, cluster())
    home.seed(SetKind, aSet({ strategy: 'Reconcile', sources: [mine('')] }))
    await settle()
    await home.others.create(SecretKind, sourceObject(mine('first')))
    await clock.advance(30_000)
    await settle()
    assert.equal(out(), 'first')
    const body = { data: sourceObject(mine('second')).data }
    await home.others.patch(SecretKind, { namespace: 'default', name: 'mine' }, { type: 'merge', body })
    await clock.advance(30_000)
    await settle()
    assert.equal(out(), 'second')
    await close()
  })

  it('applies a source that arrives late as soon as it is there', async () => {
    const { home, workload, cluster, settle, close } = await world()
    home.seed(Cluster, cluster())
    const [first] = RESOURCE_SET_CASES
    home.seed(SetKind, aSet(first!))
    await settle()
    assert.equal(workload.peek(ConfigMapKind, { namespace: 'default', name: 'a' }), undefined)
    await home.others.create(ConfigMapKind, sourceObject(first!.sources[0]!))
    await settle()
    assert.ok(workload.peek(ConfigMapKind, { namespace: 'default', name: 'a' }))
    await close()
  })

  it('cleans the binding and lets go of its sources when the set is deleted, and leaves the workload alone', async () => {
    const { home, workload, cluster, settle, close } = await world()
    home.seed(Cluster, cluster())
    const [first] = RESOURCE_SET_CASES
    home.seed(ConfigMapKind, sourceObject(first!.sources[0]!))
    home.seed(SetKind, aSet(first!))
    await settle()
    await home.others.delete(SetKind, { namespace: 'default', name: 'set' })
    await settle()
    assert.equal(home.peek(SetKind, { namespace: 'default', name: 'set' }), undefined)
    assert.equal(home.peek(BindingKind, { namespace: 'default', name: 'demo' }), undefined)
    assert.equal(
      home.peek(ConfigMapKind, { namespace: 'default', name: 'one' }),
      undefined,
      'the set was its only owner',
    )
    assert.ok(workload.peek(ConfigMapKind, { namespace: 'default', name: 'a' }))
    await close()
  })

  it('deletes the binding with its Cluster, so that a new one of the same name is served again', async () => {
    const { home, cluster, settle, close } = await world()
    home.seed(Cluster, cluster())
    const [first] = RESOURCE_SET_CASES
    home.seed(ConfigMapKind, sourceObject(first!.sources[0]!))
    home.seed(SetKind, aSet(first!))
    await settle()
    await home.others.delete(Cluster, { namespace: 'default', name: 'demo' })
    await settle()
    assert.equal(home.peek(BindingKind, { namespace: 'default', name: 'demo' }), undefined)
    await close()
  })

  it('selects nothing with an empty selector', () => {
    assert.equal(isSelected({}, { a: 'b' }), false)
    assert.equal(isSelected({ matchLabels: {} }, { a: 'b' }), false)
    assert.equal(isSelected({ matchExpressions: [{ key: 'a', operator: 'Exists' }] }, { a: 'b' }), true)
  })

  it('orders objects inside a key by kind, and never across keys', () => {
    const doc = (kind: string, name: string) => `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n`
    const objects = parseSource({
      'b.yaml': doc('Namespace', 'late-but-enough-bytes'),
      'a.yaml': `${doc('Service', 's')}---\n${doc('ConfigMap', 'c')}---\n${doc('Namespace', 'n')}`,
    })
    assert.deepEqual(
      objects.map((object) => object.kind),
      ['Namespace', 'ConfigMap', 'Service', 'Namespace'],
    )
  })

  it('sends what is live and not in the manifest as null', () => {
    assert.deepEqual(diff({ a: 1, b: { c: 1, d: [1] }, e: 1 }, { a: 1, b: { c: 2 }, f: 1 }), {
      b: { c: 2, d: null },
      e: null,
      f: 1,
    })
  })
})

describe('the two versions of ClusterResourceSet', () => {
  it('carry the same facts, each its own conditions', () => {
    const stored = {
      apiVersion: 'addons.cluster.x-k8s.io/v1beta2',
      kind: 'ClusterResourceSet',
      metadata: { name: 'a' },
      spec: { strategy: 'Reconcile' },
      status: {
        observedGeneration: 2,
        conditions: [{ type: 'ResourcesApplied' }],
        deprecated: { v1beta1: { conditions: [{ type: 'ResourcesApplied', severity: 'Warning' }] } },
      },
    }
    const old = convertResourceSet(stored, 'v1beta1')
    assert.deepEqual(old.status as unknown, {
      observedGeneration: 2,
      conditions: [{ type: 'ResourcesApplied', severity: 'Warning' }],
      v1beta2: { conditions: [{ type: 'ResourcesApplied' }] },
    })
    assert.deepEqual(convertResourceSet(old, 'v1beta2'), stored)
  })

  it('write out applied in bindings of v1beta2, where it is required', () => {
    const old = {
      apiVersion: 'addons.cluster.x-k8s.io/v1beta1',
      kind: 'ClusterResourceSetBinding',
      metadata: { name: 'a' },
      spec: { bindings: [{ clusterResourceSetName: 's', resources: [{ kind: 'ConfigMap', name: 'c' }] }] },
    }
    const { spec } = convertResourceSetBinding(old, 'v1beta2')
    assert.deepEqual(spec.bindings[0]?.resources, [{ kind: 'ConfigMap', name: 'c', applied: false }] as unknown)
  })
})
