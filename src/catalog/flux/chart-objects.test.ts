import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fluxChart } from './chart-objects.ts'

describe('a chart as Flux objects', () => {
  const url = 'oci://mirror.example/charts/metrics-server-copy'
  const chart = {
    name: 'metrics-server',
    namespace: 'metrics',
    url,
    tag: '3.13.0',
    values: { a: 1 },
    labels: { b: 'c' },
  }
  for (const [fluxVersion, kind, source, release] of [
    ['2.6.0', 'OCIRepository', { url, ref: { tag: '3.13.0' } }, { chartRef: { name: 'metrics-server' } }],
    [
      '2.5.1',
      'HelmRepository',
      { type: 'oci', url: 'oci://mirror.example/charts' },
      { chart: { spec: { chart: 'metrics-server-copy', version: '3.13.0', sourceRef: { name: 'metrics-server' } } } },
    ],
  ] as const)
    it(`names the chart by its address, for Flux ${fluxVersion} in a source of kind ${kind}`, () => {
      const metadata = { name: 'metrics-server', namespace: 'metrics', labels: { b: 'c' } }
      assert.partialDeepStrictEqual(fluxChart({ ...chart, fluxVersion }), [
        { kind, metadata, spec: source },
        { kind: 'HelmRelease', metadata, spec: { releaseName: 'metrics-server', values: { a: 1 }, ...release } },
      ])
    })
})
