// What the branch of an apply says about a run in progress and about drift.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WorkspaceTemplateApply } from '#api'
import { anApply } from '#testing'
import { applyBranch } from './apply-branch.ts'

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}

describe('An apply that is ready', () => {
  for (const [drift, fact] of [
    [undefined, '9 resources'],
    [{ mode: 'Report' }, '9 resources'],
    [{ result: 'InSync', drifted: 0 }, '9 resources, no drift'],
    [{ result: 'Drifted', drifted: 2, upstream: 1 }, '9 resources, 2 drifted'],
    [{ result: 'UpstreamMoved', upstream: 1 }, '9 resources, upstream moved (1 change)'],
    [{ result: 'PendingChange', pending: 3 }, '9 resources, 3 changes pending'],
    [{ result: 'CannotTell' }, '9 resources, drift unknown'],
  ] as const)
    it(`with ${drift ? JSON.stringify(drift) : 'no drift detection'} shows ${fact}`, () => {
      const status = { phase: 'Applied', state: { resources: 9 }, conditions: [ready], ...(drift ? { drift } : {}) }
      assert.equal(applyBranch({ ...anApply(), status } as unknown as WorkspaceTemplateApply).fact, fact)
    })
})

describe('An apply that runs', () => {
  for (const [run, fact] of [
    [{ verb: 'apply', phase: 'Queued' }, 'waits for a slot'],
    [{ verb: 'apply', phase: 'Init' }, 'terraform init'],
    [{ verb: 'apply', phase: 'Apply' }, 'terraform apply'],
    [{ verb: 'destroy', phase: 'Apply' }, 'terraform destroy'],
    [{ verb: 'apply', phase: 'Apply', progress: '3 of 9', address: 'aws_vpc.this' }, '3 of 9  aws_vpc.this'],
  ] as const)
    it(`in phase ${run.phase} of ${run.verb} shows ${fact}`, () => {
      const status = { phase: 'Running', run, conditions: [] }
      assert.equal(applyBranch({ ...anApply(), status } as unknown as WorkspaceTemplateApply).fact, fact)
    })
})

describe('An apply that no controller has reported on', () => {
  it('is pending, in the word of its state too', () => {
    const { word, state } = applyBranch({ ...anApply(), status: {} } as unknown as WorkspaceTemplateApply)
    assert.deepEqual([word, state], ['pending', 'unknown'])
  })
})
