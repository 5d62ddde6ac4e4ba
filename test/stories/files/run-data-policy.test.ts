// The admission policy knows what runs work from by name: every name that an engine makes is one of those it keeps from
// tenants. What a kube-apiserver makes of it: test/real/install/run-data-policy.test.ts.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import * as names from '../../../src/engine/names.ts'

const POLICY = join(import.meta.dirname, '..', '..', '..', 'config', 'run-data-policy', 'policy.yaml')
const patterns = [...readFileSync(POLICY, 'utf8').matchAll(/object\.metadata\.name\.matches\('(.+?)'\)/g)]
const isKept = (name: string) => patterns.some(([, pattern]) => new RegExp(pattern!).test(name))

/** Not names of Secrets: a Lease, labels, keys made of names below, and what the others end with. */
const NO_SECRET = ['applyOfChecks', 'checksKey', 'labelsOf', 'leaseKey', 'leaseName', 'recordKey', 'suffixOf']
const MADE: Readonly<Record<string, (suffix: string) => readonly string[]>> = {
  recordName: (suffix) => [names.recordName(suffix)],
  bundleName: (suffix) => [names.bundleName(suffix, 'bcdfghjk', 0)],
  planName: (suffix) => [names.planName(suffix, 'bcdfghjk', 0)],
  backupName: (suffix) => [names.backupName(suffix, 7, 0)],
  runCopyName: (suffix) => [names.runCopyName(suffix, 7, 'run-1234', 0)],
  slotName: (suffix) => [names.slotName(suffix, 0), names.slotName(suffix, 63)],
  stateName: (suffix) => [names.stateName(suffix), names.stateName(suffix, 3)],
  stateNames: (suffix) => names.stateNames(suffix, 3),
}

describe('the policy about what runs work from', () => {
  it('is tried with every name that an engine makes', () => {
    const functions = Object.entries(names).filter(([, value]) => typeof value === 'function')
    assert.deepEqual(functions.map(([name]) => name).sort(), [...Object.keys(MADE), ...NO_SECRET].sort())
  })

  for (const name of ['a', 'network', 'a.b-c', 'a.capt-drift', 'x'.repeat(80), 'slot-1'])
    it(`knows all Secrets of an apply ${name.slice(0, 12)}`, () => {
      const suffix = names.suffixOf({ namespace: 'team', name })
      const made = Object.values(MADE).flatMap((make) => make(suffix))
      assert.deepEqual(
        made.filter((secret) => !isKept(secret)),
        [],
      )
    })

  it('leaves other Secrets alone', () => {
    const others = [
      'credentials',
      'capt-credentials',
      'tfstate-default-my-platform',
      'demo-kubeconfig',
      'slot-1',
      'capt-run',
    ]
    assert.deepEqual(others.filter(isKept), [])
  })
})
