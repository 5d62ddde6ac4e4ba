import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, clusterKind } from '#api'
import { memoryCluster } from '#testing'
import { refuseUnderPause } from './paused.ts'

const owner = { namespace: 'default', name: 'demo-vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const open = async (paused: boolean) => {
  const { objects } = memoryCluster()
  const metadata = { namespace: 'default', name: 'demo' }
  const cluster = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata, spec: { paused } }
  await objects.create<AnyObject>(clusterKind('v1beta2'), cluster)
  return objects
}

describe('a run that has changed nothing yet', () => {
  it('ends when its Cluster was paused meanwhile, and says that it comes back', async () => {
    const refused = refuseUnderPause(await open(true), { ...owner, cluster: 'demo' })
    await assert.rejects(refused, { code: 'CAPT_RUN_PAUSED', kind: 'paused' })
  })

  it('goes on when it is not paused, gone, or there is none', async () => {
    await refuseUnderPause(await open(false), { ...owner, cluster: 'demo' })
    await refuseUnderPause(await open(true), { ...owner, cluster: 'other' })
    await refuseUnderPause(await open(true), owner)
  })
})
