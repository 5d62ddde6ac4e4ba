import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isCaptError } from '#lib'
import { type Ordered, orderRemoval, orderStages, withNeeds } from './order.ts'

const stage = (name: string, ...needs: string[]): Ordered => ({ name, needs })
const names = (stages: readonly Ordered[]) => stages.map(({ name }) => name)

describe('the order of stages', () => {
  it('puts what is needed first and keeps the written order otherwise', () => {
    assert.deepEqual(
      names(orderStages([stage('pool', 'karpenter'), stage('karpenter', 'flux'), stage('flux'), stage('extra')])),
      ['flux', 'karpenter', 'pool', 'extra'],
    )
  })

  it('names a circle by its members', () => {
    assert.throws(
      () => orderStages([stage('a', 'b'), stage('b', 'c'), stage('c', 'b')]),
      (error) => isCaptError(error, 'CAPT_STAGE_CYCLE') && /b → c → b/.test(error.message),
    )
  })

  it('names a need that does not exist', () => {
    assert.throws(
      () => orderStages([stage('a', 'ghost')]),
      (error) => isCaptError(error, 'CAPT_STAGE_UNKNOWN') && /ghost/.test(error.message),
    )
  })

  it('never installs before a need and never removes before a user, whatever the graph', () => {
    const graph = fc.integer({ min: 1, max: 8 }).chain((size) =>
      fc
        .tuple(
          ...Array.from({ length: size }, (_, i) =>
            fc.record({
              needs: fc.subarray(Array.from({ length: i }, (__, j) => `s${j}`)),
              order: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
            }),
          ),
        )
        .chain((nodes) => {
          const stages = nodes.map(({ needs, order }, i) => ({
            name: `s${i}`,
            needs,
            ...(order === undefined ? {} : { uninstall: { order } }),
          }))
          return fc.shuffledSubarray(stages, { minLength: stages.length, maxLength: stages.length })
        }),
    )
    fc.assert(
      fc.property(graph, (stages) => {
        const up = names(orderStages(stages))
        const down = names(orderRemoval(stages))
        assert.deepEqual([...up].sort(), [...down].sort())
        for (const { name, needs } of stages)
          for (const need of needs)
            assert.ok(up.indexOf(need) < up.indexOf(name) && down.indexOf(need) > down.indexOf(name))
      }),
      { numRuns: 100 },
    )
  })

  it('removes by the given order among those that nobody needs', () => {
    const stages = [stage('a'), { ...stage('b'), uninstall: { order: 2 } }, { ...stage('c'), uninstall: { order: 1 } }]
    assert.deepEqual(names(orderRemoval(stages)), ['c', 'b', 'a'])
  })

  it('wants everything that a wanted stage needs', () => {
    assert.deepEqual(
      [...withNeeds([stage('flux'), stage('karpenter', 'flux'), stage('pool', 'karpenter')], ['karpenter'])].sort(),
      ['flux', 'karpenter'],
    )
  })
})
