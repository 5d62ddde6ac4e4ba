import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ChartInput, renderSimulatedChart, simulatedChart } from './charts.ts'

const input = (over: Partial<ChartInput> = {}): ChartInput => ({
  chart: 'podinfo',
  namespace: 'web',
  release: 'hello',
  version: '6.9.0',
  values: {},
  ...over,
})
const MARKS = {
  labels: { 'app.kubernetes.io/managed-by': 'Helm', 'app.kubernetes.io/instance': 'hello' },
  annotations: { 'meta.helm.sh/release-name': 'hello', 'meta.helm.sh/release-namespace': 'web' },
}

describe('a simulated chart', () => {
  it('is one Deployment with the name of the release, unless the table has it', () => {
    const rendered = renderSimulatedChart(input())
    assert.equal(rendered.length, 1)
    assert.partialDeepStrictEqual(rendered, [
      { kind: 'Deployment', metadata: { namespace: 'web', name: 'hello' }, spec: { replicas: 1 } },
    ])
    assert.deepEqual(simulatedChart('podinfo').definitions('6.9.0'), [])
  })

  for (const [values, expected] of [
    [{ fullnameOverride: 'web' }, { metadata: { name: 'web' } }],
    [{ fullnameOverride: '' }, { metadata: { name: 'hello' } }],
    [{ replicaCount: 3 }, { spec: { replicas: 3 } }],
    [{ nodeSelector: { a: 'b' } }, { spec: { template: { spec: { nodeSelector: { a: 'b' } } } } }],
  ] as const)
    it(`follows the values ${JSON.stringify(values)}`, () => {
      const [deployment] = renderSimulatedChart(input({ values }))
      assert.partialDeepStrictEqual(deployment, expected)
      assert.equal(simulatedChart('podinfo').deployment(input({ values })), deployment?.metadata.name)
    })

  it('has the marks of Helm on everything in it', () => {
    const values = { settings: { clusterName: 'demo' }, serviceAccount: { annotations: { role: 'arn' } } }
    const rendered = [...renderSimulatedChart(input()), ...renderSimulatedChart(input({ chart: 'karpenter', values }))]
    assert.deepEqual(
      rendered.map(({ kind }) => kind),
      ['Deployment', 'ServiceAccount', 'Deployment'],
    )
    for (const { metadata } of rendered) assert.partialDeepStrictEqual(metadata, MARKS)
    assert.equal(rendered[1]?.metadata.annotations?.['role'], 'arn')
  })

  it('is refused without a value that it requires', () => {
    assert.throws(() => renderSimulatedChart(input({ chart: 'karpenter' })), /settings\.clusterName is required/)
  })
})
