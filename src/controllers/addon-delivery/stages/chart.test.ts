import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fillValues, renderChart } from './chart.ts'
import { aStageInput, stageWith } from './render/input-examples.ts'
import type { StageInput } from './render/rendered.ts'

const stage = stageWith({ checks: [{ type: 'CRDEstablished', name: 'things.example.com' }] })
const input = (over: Partial<StageInput> = {}) => aStageInput({ stage, ...over })
const chart = {
  name: 'metrics-server',
  namespace: 'metrics',
  url: 'oci://registry.example/charts/metrics-server',
  version: '3.13.0',
  timeout: '5m',
  values: { replicas: 2 },
  isSecret: false,
}

function render(over: Partial<StageInput> = {}, more: Partial<Parameters<typeof renderChart>[1]> = {}) {
  const rendered = renderChart(input(over), { ...chart, ...more })
  assert.ok(rendered.is === 'ready', JSON.stringify(rendered))
  return rendered
}
const kindsIn = (over: Partial<StageInput>) =>
  render(over).parts.map(({ manifests }) =>
    manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(', '),
  )

describe('the chart of a stage', () => {
  it('is a namespace, a source and a release of one version', () => {
    const { version, parts } = render()
    assert.equal(version, '3.13.0')
    assert.partialDeepStrictEqual(parts[0]?.manifests, [
      { kind: 'Namespace', metadata: { name: 'metrics' } },
      { kind: 'OCIRepository', spec: { url: chart.url, ref: { tag: '3.13.0' } } },
      { kind: 'HelmRelease', spec: { timeout: '5m', values: { replicas: 2 } } },
    ])
  })

  it('is fetched from where the delivery says, with a tag where that differs from the version', () => {
    const url = 'oci://mirror.example/metrics-server'
    const [part] = render({ override: { stage: 'example', chart: url } }, { tag: 'v3.13.0' }).parts
    assert.partialDeepStrictEqual(part?.manifests[1], { spec: { url, ref: { tag: 'v3.13.0' } } })
  })

  it('has the Secrets of its registry as a part of its own', () => {
    const access = { insecure: false, login: { '.dockerconfigjson': 'e30=' }, certificates: undefined, missing: [] }
    assert.deepEqual(kindsIn({ access }), [
      'Namespace metrics, Secret metrics-server-registry',
      'Namespace metrics, OCIRepository metrics-server, HelmRelease metrics-server',
    ])
  })

  for (const [flux, kind, name] of [
    ['2.9.5', 'OCIRepository', 'metrics-server'],
    ['2.5.1', 'HelmChart', 'metrics-metrics-server'],
  ] as const)
    it(`is healthy with Flux ${flux} when ${kind}, release and the checks of type and stage are`, () => {
      const own = { type: 'DeploymentAvailable', name: 'metrics-server', namespace: 'metrics' } as const
      const [part] = render({ versions: { flux, karpenter: '1.14.1' } }, { checks: [own] }).parts
      assert.deepEqual(part?.checks, [
        { type: 'SourceReady', kind, name, namespace: 'metrics' },
        { type: 'HelmReleaseReady', name: 'metrics-server', namespace: 'metrics', version: '3.13.0' },
        own,
        ...stage.checks,
      ])
    })

  it('travels in a Secret when its values contain one', () => {
    assert.deepEqual(
      render({}, { isSecret: true }).parts.flatMap(({ payloads }) => payloads.map(({ kind }) => kind)),
      ['Secret'],
    )
  })
})

describe('the values of a chart', () => {
  it('are those of the stage, then those of the delivery, with variables filled in', () => {
    const override = { stage: 'example', values: { args: { name: '${CLUSTER_NAME}' } } }
    assert.deepEqual(fillValues(input({ override }), { replicas: 2, args: { name: 'x', level: 1 } }), {
      is: 'filled',
      values: { replicas: 2, args: { name: 'demo', level: 1 } },
      isSecret: false,
    })
  })

  it('are secret when a variable in them came out of a Secret', () => {
    const given = input({ variables: { TOKEN: 'x' }, secretVariables: new Set(['TOKEN']) })
    assert.partialDeepStrictEqual(fillValues(given, { token: '${TOKEN}' }), { isSecret: true })
    assert.partialDeepStrictEqual(fillValues(given, { token: 'plain' }), { isSecret: false })
  })

  it('wait for variables and for the Secrets of the registry, by name', () => {
    const access = { insecure: false, login: undefined, certificates: undefined, missing: ['Secret team/login'] }
    assert.deepEqual(fillValues(input({ access }), { a: '${UNKNOWN}' }, ['ROLE', 'CLUSTER_NAME', 'UNKNOWN']), {
      is: 'missing',
      variables: ['ROLE', 'UNKNOWN'],
      sources: ['Secret team/login'],
    })
  })
})
