import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isSingleTenant } from './runner.ts'

describe('Terraform beside the manager', () => {
  const local = { isInPod: true, engineName: 'terraform 1.11.4' }
  for (const [what, options, expected] of [
    ['in a pod serves one namespace', local, true],
    ['on a machine of its owner serves all', { ...local, isInPod: false }, false],
    ['in a pod for one namespace need not refuse any', { ...local, namespace: 'team-a' }, false],
    ['in a pod serves all where that is allowed', { ...local, allowSharedRunner: true }, false],
    ['that is simulated runs nothing', { ...local, engineName: 'simulated' }, false],
    ['that is not there runs nothing', { ...local, engineName: undefined }, false],
  ] as const)
    it(what, () => assert.equal(isSingleTenant(options), expected))
})
