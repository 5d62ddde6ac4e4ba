import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KubeError, type KubeErrorReason, type Objects } from '#kube'
import { type DrainedPod, evictPods } from './node.ts'

const pod = (name: string): DrainedPod => ({ namespace: 'default', name, uid: `uid-${name}`, isGoing: false })

describe('The drain of a Node', () => {
  const evict = async (refusals: Readonly<Record<string, KubeErrorReason>>) => {
    const evicted: string[] = []
    const create = async (_kind: unknown, { metadata: { name } }: { metadata: { name: string } }) => {
      const reason = refusals[name]
      if (reason) throw new KubeError(reason, `refused ${name}`)
      evicted.push(name)
    }
    const held = await evictPods({ create } as unknown as Objects, ['a', 'b', 'c'].map(pod)).catch(String)
    return { evicted, held }
  }

  for (const [what, refusals, evicted, held] of [
    ['evicts every pod', {}, ['a', 'b', 'c'], []],
    ['names a pod that a budget holds', { b: 'DisruptionBudget' }, ['a', 'c'], ['default/b']],
    ['ignores a pod that is gone or another one', { a: 'NotFound', c: 'Conflict' }, ['b'], []],
    ['evicts the others before it reports a refusal', { a: 'ServerError' }, ['b', 'c'], 'KubeError: refused a'],
    ['does not blame a budget for a busy server', { c: 'TooManyRequests' }, ['a', 'b'], 'KubeError: refused c'],
  ] as const)
    it(what, async () => assert.deepEqual(await evict(refusals), { evicted, held }))
})
