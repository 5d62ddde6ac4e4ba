import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { summarizeEvidence } from './evidence.ts'

describe('evidence in one line', () => {
  it('counts what is alike and keeps the order in which it was seen', () => {
    const evidence = [
      'CRD helmreleases.helm.toolkit.fluxcd.io established',
      'CRD helmcharts.source.toolkit.fluxcd.io established',
      'Deployment source-controller: 1 of 1 available',
      'Deployment helm-controller: 0 of 1 available',
      'Service source-controller: 1 endpoint',
    ]
    assert.equal(summarizeEvidence(evidence), '2 CRDs, 1 of 2 Deployments, Service source-controller answers')
  })

  it('says a single thing by its name and leaves unknown words alone', () => {
    const evidence = [
      'HelmRelease karpenter ready: InstallSucceeded, chart 1.14.1',
      'Deployment karpenter: 2 of 2 available',
    ]
    assert.equal(
      summarizeEvidence(evidence),
      'HelmRelease karpenter ready: InstallSucceeded, chart 1.14.1, Deployment 2 of 2',
    )
  })
})
