import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject } from '#api'
import { toNotice } from './notice.ts'

const object = (kind: string, more: object = {}, metadata: object = {}): AnyObject =>
  ({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind,
    metadata: {
      name: 'demo',
      namespace: 'team',
      uid: 'u',
      labels: { 'cluster.x-k8s.io/cluster-name': 'demo' },
      ...metadata,
    },
    ...more,
  }) as AnyObject
const gone = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const owned = { ...gone, ownerReferences: [{ kind: 'CAPTCluster', name: 'demo', controller: true }] }
const warning = (reason: string, message = 'text') => ({ type: 'Warning', reason, message }) as const
const ready = { type: 'Normal', reason: 'Ready', message: 'AddonDelivery demo is ready' } as const
const withError = { status: { stages: [{ name: 'flux', lastError: { code: 'X', message: 'm' } }] } }

describe('a notice', () => {
  for (const [what, about, event, type] of [
    ['a stage that fails', object('AddonDelivery'), warning('NotHealthy', 'Stage flux: no'), 'StageFailed'],
    ['a retry of a stage', object('AddonDelivery'), warning('Retrying'), undefined],
    ['a delivery that is ready again', object('AddonDelivery', withError), ready, 'Recovered'],
    ['a delivery that is ready for the first time', object('AddonDelivery'), ready, undefined],
    ['a run that fails', object('WorkspaceTemplateApply'), warning('ApplyFailed'), 'RunFailed'],
    ['a run that works again', object('WorkspaceTemplateApply', { status: { lastError: {} } }), ready, 'Recovered'],
    ['a plan that waits', object('WorkspaceTemplateApply'), warning('ApprovalRequired'), 'ApprovalNeeded'],
    ['drift', object('WorkspaceTemplateApply'), warning('Drifted'), 'DriftDetected'],
    ['drift that is gone', object('WorkspaceTemplateApply'), { ...ready, reason: 'DriftEnded' }, 'Recovered'],
    ['a plan that a person denied', object('WorkspaceTemplateApply'), warning('PlanDenied'), undefined],
    [
      'a destroy that is tried again',
      object('WorkspaceTemplateApply', {}, gone),
      warning('RetryScheduled'),
      'RunFailed',
    ],
    ['a destroy that stopped', object('WorkspaceTemplateApply', {}, gone), warning('DestroyFailed'), 'DeletionStuck'],
    [
      'a destroy whose owner reports it',
      object('WorkspaceTemplateApply', {}, owned),
      warning('DestroyFailed'),
      undefined,
    ],
    ['a drift check without an answer', object('WorkspaceTemplateApply'), warning('CannotTell'), undefined],
    ['a variable that nothing declares', object('WorkspaceTemplateApply'), warning('VariableUndeclared'), undefined],
    ['a deletion that stopped', object('CAPTControlPlane', {}, gone), warning('AddonsNotRemoved'), 'DeletionStuck'],
    ['what a deletion left', object('AddonDelivery', {}, gone), warning('LeftBehind'), 'DeletionStuck'],
    ['a control plane whose run failed', object('CAPTControlPlane'), warning('WorkspaceError'), undefined],
    ['a copy on the Cluster', object('Cluster'), warning('NotHealthy'), undefined],
  ] as const)
    it(`${type ? `${type} comes of` : 'does not come of'} ${what}`, () => {
      assert.equal(toNotice(about, event)?.type, type)
    })

  it('is about the stage, whatever its message says next, and about one plan', () => {
    const topic = (kind: string, reason: string, message: string) =>
      toNotice(object(kind), warning(reason, message))?.topic
    assert.equal(topic('AddonDelivery', 'A', 'Stage flux: 0 of 1'), topic('AddonDelivery', 'B', 'Stage flux: gave up'))
    assert.notEqual(topic('AddonDelivery', 'A', 'Stage flux: x'), topic('AddonDelivery', 'A', 'Stage karpenter: x'))
    const plan = (hash: string) => topic('WorkspaceTemplateApply', 'ApprovalRequired', `Plan ${hash} waits`)
    assert.notEqual(plan('a1'), plan('b2'))
  })

  it('carries no secret', () => {
    const notice = toNotice(
      object('WorkspaceTemplateApply'),
      warning('ApplyFailed', 'password="hush-4711" was refused'),
    )
    assert.ok(!JSON.stringify(notice).includes('hush-4711'))
  })
})
