import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { UnknownObject } from '#api'
import { findSkippedStep, findStoredVersion } from './steps.ts'

const controller = (version: string) =>
  ({ metadata: { name: 'karpenter', labels: { 'app.kubernetes.io/version': version } } }) as unknown as UnknownObject
const definition = (...storedVersions: readonly string[]) =>
  ({ metadata: { name: 'nodepools.karpenter.sh' }, status: { storedVersions } }) as unknown as UnknownObject

describe('an upgrade of Karpenter', () => {
  for (const [running, target, code] of [
    ['0.37.8', '1.14.1', 'CAPT_KARPENTER_STEP_SKIPPED'],
    ['v0.32.0', '1.1.0', 'CAPT_KARPENTER_STEP_SKIPPED'],
    ['0.31.4', '1.0.14', 'CAPT_KARPENTER_STEP_SKIPPED'],
    ['v0.30.0', '1.14.1', 'CAPT_KARPENTER_STEP_SKIPPED'],
    ['0.32.10', '1.0.14', undefined],
    ['0.37.8', '1.0.14', undefined],
    ['1.0.14', '1.14.1', undefined],
    ['1.2.0', '1.14.1', undefined],
    ['unknown', '1.14.1', undefined],
  ] as const)
    it(`from ${running} to ${target} ${code ? 'skips a step and is refused' : 'goes on'}`, () =>
      assert.equal(findSkippedStep([controller(running)], target)?.code, code))

  it('from an alpha release names 0.32 as the next step', () =>
    assert.match(findSkippedStep([controller('v0.30.0')], '1.14.1')?.hint ?? '', /^Upgrade it to 0\.32\.10 /))

  for (const [stored, target, code] of [
    [['v1beta1', 'v1'], '1.14.1', 'CAPT_KARPENTER_STORED_VERSIONS'],
    [['v1beta1', 'v1'], '1.0.14', undefined],
    [['v1'], '1.14.1', undefined],
    [[], '1.14.1', undefined],
  ] as const)
    it(`to ${target} with objects stored as ${stored.join(' and ') || 'nothing'} ${code ? 'is refused' : 'goes on'}`, () =>
      assert.equal(findStoredVersion(definition(...stored), target)?.code, code))

  it('goes on where there is no definition yet', () => assert.equal(findStoredVersion(undefined, '1.14.1'), undefined))
})
