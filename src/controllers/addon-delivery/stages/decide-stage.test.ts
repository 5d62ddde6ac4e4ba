import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DeploymentKind } from '#api'
import { progressing } from '../health/finding.ts'
import type { ObservedDelivery, ObservedStage } from '../observed.ts'
import { aDelivery, aPart, aStage, inShort, recorded, shippedStage } from '../observed-examples.ts'
import { decideStage } from './decide-stage.ts'

const karpenter = shippedStage('karpenter')
const gate = { label: 'karpenter.sh/enabled', isSet: true, isOurs: true }
const blocker = { code: 'CAPT_X', message: 'one runs already', hint: 'remove it' }
const check = { kind: DeploymentKind, where: { labelSelector: 'a=b' } }
const unhealthy = [aPart({ findings: [progressing('0 of 1')] })]
const foreign = (version: string | undefined) => aStage({ existing: { is: 'foreign', version, how: 'by Helm' } })
const refusing = shippedStage('flux', { flux: { networkPolicy: true, existing: 'Refuse' } })
const absent = { workload: { is: 'absent' } } as const
const silent = { workload: { is: 'unreachable', message: 'The workload API answers: timeout' } } as const
const forbidden = { workload: { is: 'forbidden', message: 'no' } } as const

type Row = readonly [what: string, observed: ObservedStage, state: string, decision: string]

const TABLE: readonly Row[] = [
  ['is healthy', aStage(), 'Healthy', 'done'],
  ['is not requested', aStage({ isWanted: false, hasSets: false }), 'NotWanted', 'done'],
  ['is no longer requested', aStage({ isWanted: false }), 'Removing', 'done'],
  ['has no Kubernetes version', aStage({ rendered: undefined }), 'Waiting', 'waiting KubernetesVersionUnknown'],
  [
    'lacks variables',
    aStage({ rendered: { is: 'missing', variables: ['A'], sources: [] } }),
    'Waiting',
    'waiting VariablesMissing',
  ],
  [
    'lacks a source',
    aStage({ rendered: { is: 'missing', variables: [], sources: ['ConfigMap a'] } }),
    'Waiting',
    'waiting SourceMissing',
  ],
  ['is refused', aStage({ rendered: { is: 'refused', ...blocker } }), 'Failed', 'stalled StageRefused'],
  ['has not read what is installed', aStage({ existing: { is: 'unknown' } }), 'Waiting', 'waiting NotLookedYet'],
  [
    'is installed in a newer version',
    aStage({ existing: { is: 'newer', version: '3.0.0' } }),
    'Failed',
    'stalled NewerInstalled',
  ],
  ['has a foreign installation', foreign('2.7.0'), 'Healthy', 'done'],
  ['has a foreign installation of unknown version', foreign(undefined), 'Failed', 'stalled ForeignInstalled'],
  ['has a foreign installation that is too old', foreign('2.2.9'), 'Failed', 'stalled ForeignInstalled'],
  ['refuses a foreign installation', { ...foreign('2.7.0'), stage: refusing }, 'Failed', 'stalled ForeignInstalled'],
  [
    'fails a preflight check',
    aStage({ preflight: [{ check: { ...check, decide: () => blocker }, found: [] }] }),
    'Failed',
    'stalled Blocked',
  ],
  [
    'passes its preflight checks',
    aStage({ preflight: [{ check: { ...check, decide: () => undefined }, found: [] }] }),
    'Healthy',
    'done',
  ],
  ['has a gate that is not open', aStage({ gate: { ...gate, isSet: false } }), 'Delivering', 'open-gate'],
  ['has a gate that a person set', aStage({ gate: { ...gate, isOurs: false } }), 'Delivering', 'open-gate'],
  ['has an open gate', aStage({ gate }), 'Healthy', 'done'],
  ['is not written', aStage({ parts: [aPart({ isWritten: false })] }), 'Delivering', 'deliver'],
  ['is unhealthy', aStage({ parts: unhealthy }), 'Checking', 'waiting NotHealthy'],
  ['has a set that it no longer needs', aStage({ obsoleteSets: ['old'] }), 'Delivering', 'retire-set'],
]

const decided = (observed: ObservedStage, over: Partial<ObservedDelivery> = {}) => {
  const { state, decision } = decideStage(observed, aDelivery({ stages: [observed], ...over }), [])
  return [state, inShort(decision)]
}

describe('a stage that', () => {
  for (const [what, observed, state, decision] of TABLE)
    it(`${what} is ${state}: ${decision}`, () => {
      assert.deepEqual(decided(observed), [state, decision])
    })

  it('has no content because the versions do not go together says so, also where it needs another stage', () => {
    const faults = [{ code: 'CAPT_MATRIX_FORBIDDEN', message: 'no', hint: 'another' }] as ObservedDelivery['faults']
    for (const stage of [aStage({ rendered: undefined }), aStage({ rendered: undefined, stage: karpenter })])
      assert.deepEqual(decided(stage, { faults }), ['Waiting', 'waiting VersionsRefused'])
  })

  it('cannot reach its workload API waits, and needs a person when access is denied', () => {
    assert.deepEqual(decided(aStage(), absent), ['Waiting', 'waiting ControlPlaneNotReady'])
    assert.deepEqual(decided(aStage(), silent), ['Waiting', 'waiting WorkloadUnreachable'])
    assert.deepEqual(decided(aStage(), forbidden), ['Failed', 'stalled WorkloadForbidden'])
  })
})

describe('a stage that needs another one', () => {
  const after = (need: ObservedStage, own: ObservedStage) => {
    const all = aDelivery({ stages: [need, own] })
    const { state, decision } = decideStage(own, all, [decideStage(need, all, [])])
    return [state, inShort(decision)]
  }
  const own = aStage({ stage: karpenter, existing: { is: 'nothing' }, before: undefined })
  const unwritten = { ...own, parts: [aPart({ isWritten: false })] }
  const failed = aStage({ rendered: { is: 'refused', ...blocker } })

  it('waits to be delivered until that one is healthy', () => {
    assert.deepEqual(after(aStage(), unwritten), ['Delivering', 'deliver'])
    assert.deepEqual(after(aStage({ parts: unhealthy }), unwritten), ['Waiting', 'waiting NeedsNotReady'])
    assert.deepEqual(after(failed, unwritten), ['Waiting', 'waiting NeedsNotReady'])
  })

  it('goes on when that one has failed and onFailure is Continue', () => {
    const tolerated = { ...failed, stage: shippedStage('flux', { onFailure: 'Continue' }) }
    assert.deepEqual(after(tolerated, unwritten), ['Delivering', 'deliver'])
  })

  it('stays healthy when it is delivered and that one breaks, but is not retried', () => {
    assert.deepEqual(after(failed, own), ['Healthy', 'done'])
    assert.deepEqual(after(failed, { ...own, parts: unhealthy }), ['Waiting', 'waiting NeedsNotReady'])
  })
})

it('a stage whose content changed resets its attempts', () => {
  const before = recorded({ attempts: 3, contentHash: 'sha256:old' })
  assert.equal(decideStage(aStage({ before, parts: unhealthy }), aDelivery(), []).attempts, 0)
  assert.equal(
    decideStage(aStage({ before: { ...before, contentHash: 'sha256:one' }, parts: unhealthy }), aDelivery(), [])
      .attempts,
    3,
  )
})
