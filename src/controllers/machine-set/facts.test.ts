import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPTMachine } from '#api'
import { isSameMachine, isSameSpec, selectorText } from './facts.ts'

const machine = (metadata: object = {}, status: object = {}): CAPTMachine => ({
  apiVersion: CAPTMachine.apiVersion,
  kind: CAPTMachine.kind,
  metadata: { name: 'm', generation: 1, labels: { a: 'b' }, ...metadata },
  spec: { workspaceTemplateRef: { name: 'machine' }, instanceType: 'm7i.large', drainTimeoutSeconds: 900 },
  status,
})
const healthy = (status: 'True' | 'False', lastTransitionTime = '2026-01-01T00:00:00Z') => ({
  conditions: [{ type: 'NodeHealthy', status, reason: 'Node', message: '', lastTransitionTime }],
})

describe('A change of a machine', () => {
  for (const [what, now, before, matters] of [
    ['of its spec', machine({ generation: 2 }), machine(), true],
    ['of its labels', machine({ labels: {} }), machine(), true],
    ['of its owner', machine({ ownerReferences: [{ name: 's', uid: 's' }] }), machine(), true],
    ['that begins its deletion', machine({ deletionTimestamp: '2026-01-01T00:00:00Z' }), machine(), true],
    ['of the health of its Node', machine({}, healthy('False')), machine({}, healthy('True')), true],
    [
      'of the time since its Node is healthy',
      machine({}, healthy('True')),
      machine({}, healthy('True', '2025-01-01T00:00:00Z')),
      true,
    ],
    ['that made its instance', machine({}, { initialization: { provisioned: true } }), machine(), true],
    ['of its address', machine({}, { privateIp: '10.0.0.1' }), machine(), false],
    ['of its version alone', machine({ resourceVersion: '2' }), machine({ resourceVersion: '1' }), false],
  ] as const)
    it(`${what} ${matters ? 'wakes' : 'does not wake'} its set`, () =>
      assert.equal(isSameMachine(now, before), !matters))

  it('in its status alone is no change of its spec', () =>
    assert.equal(isSameSpec(machine({}, healthy('True')), machine()), true))
})

describe('A selector as text', () => {
  for (const [what, selector, expected] of [
    ['has labels in order', { matchLabels: { b: '2', a: '1' } }, 'a=1,b=2'],
    [
      'has expressions as kubectl writes them',
      {
        matchExpressions: [
          { key: 'a', operator: 'In', values: ['1', '2'] },
          { key: 'b', operator: 'NotIn', values: ['3'] },
          { key: 'c', operator: 'Exists' },
          { key: 'd', operator: 'DoesNotExist' },
        ],
      },
      'a in (1,2),b notin (3),c,!d',
    ],
  ] as const)
    it(what, () => assert.equal(selectorText(selector), expected))
})
