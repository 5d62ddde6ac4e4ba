import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findHolders } from './held-drain.ts'

const pod = (name: string, nodeName: string, more: object = {}, phase = 'Running') =>
  ({
    metadata: { name, namespace: 'shop', labels: { app: name }, ...more },
    spec: { nodeName },
    status: { phase },
  }) as never
const budget = (name: string, disruptionsAllowed: number, namespace = 'shop') =>
  ({
    metadata: { name, namespace },
    spec: { selector: { matchLabels: { app: name } } },
    status: { disruptionsAllowed },
  }) as never
const held = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }
const NODES = new Set(['going'])

describe('the drain of a node', () => {
  for (const [what, pods, budgets, expected] of [
    [
      'is held by a pod that may not be disrupted',
      [pod('db', 'going', held)],
      [],
      ['Pod shop/db (karpenter.sh/do-not-disrupt)'],
    ],
    [
      'is held by a budget that allows nothing',
      [pod('web', 'going')],
      [budget('web', 0)],
      ['PodDisruptionBudget shop/web (allows no disruption)'],
    ],
    ['is not held by a budget that allows one', [pod('web', 'going')], [budget('web', 1)], []],
    ['is not held by a budget of another namespace', [pod('web', 'going')], [budget('web', 0, 'other')], []],
    ['is not held by pods of other nodes', [pod('db', 'staying', held), pod('web', 'staying')], [budget('web', 0)], []],
    ['is not held by pods that are over', [pod('job', 'going', held, 'Succeeded')], [], []],
  ] as const)
    it(what, () => assert.deepEqual(findHolders(pods, budgets, NODES), expected))
})
