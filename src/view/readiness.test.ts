import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AddonDelivery, type AddonPipeline, ALL_KINDS, type AnyObject, type WorkspaceTemplate } from '#api'
import { anApply } from '#testing'
import { followsLabels, followsTemplate, readinessOf } from './readiness.ts'

interface Shape {
  readonly apiVersion: string
  readonly kind: string
  readonly type: string
}

const REPORTING: readonly Shape[] = [
  ...ALL_KINDS.filter(({ status }) => status !== undefined).map(({ apiVersion, kind }) => ({
    apiVersion,
    kind,
    type: 'Ready',
  })),
  { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', type: 'Available' },
  { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster', type: 'Ready' },
  { apiVersion: 'apps/v1', kind: 'Deployment', type: 'Available' },
  { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', type: 'Established' },
]
const SILENT: readonly Shape[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', type: 'Ready' },
  { apiVersion: 'example.com/v1', kind: 'Thing', type: 'Ready' },
  ...ALL_KINDS.filter(({ status }) => status === undefined).map(({ apiVersion, kind }) => ({
    apiVersion,
    kind,
    type: 'Ready',
  })),
]

const make = ({ apiVersion, kind }: Shape, status: unknown, over: object = {}): AnyObject =>
  ({ apiVersion, kind, metadata: { name: 'demo', generation: 3, ...over }, status }) as AnyObject
const condition = (type: string, status: string, observedGeneration?: number) => ({
  type,
  status,
  reason: 'Because',
  message: `it is ${status}\nand more`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...(observedGeneration === undefined ? {} : { observedGeneration }),
})
const statusWith = (...conditions: object[]) => ({ conditions })

describe('an object of a kind that reports conditions', () => {
  for (const shape of REPORTING) {
    const { kind, type, apiVersion } = shape
    const rows: readonly (readonly [string, AnyObject, boolean])[] = [
      ['no status', make(shape, undefined), false],
      ['a status without conditions', make(shape, { phase: 'Pending' }), false],
      ['another condition alone', make(shape, statusWith(condition('Paused', 'False', 3))), false],
      ['true about an older generation', make(shape, statusWith(condition(type, 'True', 2))), false],
      [
        'true, without a generation, in a status of an older one',
        make(shape, { observedGeneration: 2, ...statusWith(condition(type, 'True')) }),
        false,
      ],
      ['false', make(shape, statusWith(condition(type, 'False', 3))), false],
      ['unknown', make(shape, statusWith(condition(type, 'Unknown', 3))), false],
      ['true and paused', make(shape, statusWith(condition(type, 'True', 3), condition('Paused', 'True', 3))), false],
      [
        'true and being deleted',
        make(shape, statusWith(condition(type, 'True', 3)), { deletionTimestamp: '2026-01-01T00:00:00Z' }),
        false,
      ],
      ['true about this generation', make(shape, statusWith(condition(type, 'True', 3))), true],
    ]
    for (const [name, object, ready] of rows)
      it(`${apiVersion} ${kind} with ${name} is ${ready ? 'ready' : 'not ready'}`, () => {
        const found = readinessOf(object)
        assert.equal(found.ready, ready)
        assert.equal(found.message === '', ready, found.message)
      })
  }
})

describe('an object of a kind without conditions', () => {
  for (const shape of SILENT)
    it(`${shape.kind} is ready at once`, () => assert.equal(readinessOf(make(shape, undefined)).ready, true))

  it('counts by the condition that it has after all', () => {
    const thing = SILENT[1]!
    assert.deepEqual(readinessOf(make(thing, statusWith(condition('Ready', 'False', 3)))), {
      ready: false,
      message: 'it is False',
    })
  })
})

describe('a Cluster of a class', () => {
  const shape: Shape = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', type: 'Available' }
  const cluster = (...conditions: object[]) =>
    ({
      ...make(shape, statusWith(condition('Available', 'True', 3), ...conditions)),
      spec: { topology: { classRef: { name: 'eks' }, version: 'v1.32.0' } },
    }) as AnyObject

  it('is ready when its topology was carried over at this generation', () => {
    assert.equal(readinessOf(cluster(condition('TopologyReconciled', 'True', 3))).ready, true)
    assert.equal(readinessOf(cluster(condition('TopologyReconciled', 'True', 2))).ready, false)
    assert.equal(readinessOf(cluster(condition('TopologyReconciled', 'False', 3))).ready, false)
  })
})

describe('a change that another object carries', () => {
  it('of a template is awaited by the apply that has applied an older one', () => {
    const template = { metadata: { name: 'vpc', generation: 4 } } as WorkspaceTemplate
    const apply = (templateGeneration?: number) => ({ ...anApply(), status: { templateGeneration } }) as never
    assert.equal(followsTemplate(apply(3), template).ready, false)
    assert.equal(followsTemplate(apply(4), template).ready, true)
    assert.equal(followsTemplate(apply(), template).ready, true)
  })

  it('of a label is awaited by the delivery that has not begun with the stage', () => {
    const pipeline = {
      spec: {
        stages: [
          { name: 'flux', enabledBy: [{ key: 'fluxcd.io/enabled', value: 'true' }] },
          { name: 'karpenter', enabledBy: [{ key: 'karpenter', value: 'enabled' }], gateLabel: 'karpenter.sh/enabled' },
          { name: 'pool', enabledBy: [{ key: 'karpenter.sh/enabled', value: 'true' }] },
        ],
      },
    } as unknown as AddonPipeline
    const cluster = (labels: Record<string, string>) => ({ metadata: { name: 'demo', labels } }) as unknown as AnyObject
    const delivery = (...stages: object[]) => ({ status: { stages } }) as unknown as AddonDelivery
    const flux = cluster({ 'fluxcd.io/enabled': 'true' })
    assert.deepEqual(followsLabels(delivery(), pipeline, flux), {
      ready: false,
      message: 'has not begun with flux yet',
    })
    assert.equal(followsLabels(delivery({ name: 'flux', state: 'NotWanted' }), pipeline, flux).ready, false)
    assert.equal(followsLabels(delivery({ name: 'flux', state: 'Waiting' }), pipeline, flux).ready, true)
    assert.equal(followsLabels(delivery(), pipeline, cluster({})).ready, true)
    // capt opened this gate: it is no request of a person.
    assert.equal(followsLabels(delivery(), pipeline, cluster({ 'karpenter.sh/enabled': 'true' })).ready, true)
  })
})
