import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, DeploymentKind } from '#api'
import type { World } from '#runtime'
import { memoryCluster } from '#testing'
import type { Stage } from '../actor.ts'
import type { Observed } from './helm-release-status.ts'
import { helmReleaseActor } from './helm-releases.ts'

const release = (values: Readonly<Record<string, unknown>>) => ({
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  metadata: { namespace: 'web', name: 'hello' },
  spec: { values },
})

describe('the simulated helm-controller', () => {
  it('installs a chart and uninstalls it whole, also when its values have changed', async () => {
    const { others, seed, storage } = memoryCluster({})
    const foreign = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'web', name: 'foreign' } }
    seed(DeploymentKind, foreign)
    const { act } = helmReleaseActor({} as Stage)
    const run = async (what: 'install' | 'uninstall', values: Readonly<Record<string, unknown>>) => {
      const chart = { name: 'podinfo', version: '6.9.0', isReady: true, problem: '' }
      const observed = { release: release(values), chart, digest: 'd', problem: {} } as unknown as Observed
      await act({ objects: others } as unknown as World, observed, { do: what })
      return (storage.list(DeploymentKind) as AnyObject[]).map(({ metadata }) => metadata.name).sort()
    }
    assert.deepEqual(await run('install', { fullnameOverride: 'web' }), ['foreign', 'web'])
    assert.deepEqual(await run('uninstall', {}), ['foreign'])
  })
})
