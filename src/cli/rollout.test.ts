import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CAPTMachineDeployment, type CAPTMachineSet, TEMPLATE_HASH_LABEL } from '#api'
import { CaptError } from '#lib'
import { chooseRevision, progressOf, toTemplate } from './rollout.ts'

const set = { metadata: { name: 's' } } as CAPTMachineSet
const revisions = [4, 3, 1].map((revision) => ({ revision, set }))

describe('capt rollout', () => {
  for (const [what, current, wanted, expected] of [
    ['goes back to the one before', 4, undefined, 3],
    ['skips revisions that are gone', 3, undefined, 1],
    ['goes to the one asked for', 4, 1, 1],
    ['goes forward too', 1, 4, 4],
    ['has none before the first', 1, undefined, /no earlier revision/],
    ['does not know one that is gone', 4, 2, /no revision 2/],
    ['does not go to the current one', 4, 4, /is the current one/],
  ] as const)
    it(`undo ${what}`, () => {
      if (typeof expected === 'number')
        return assert.equal(chooseRevision(revisions, current, wanted).revision, expected)
      assert.throws(
        () => chooseRevision(revisions, current, wanted),
        (error) => error instanceof CaptError && expected.test(error.message) && /4, 3, 1/.test(error.hint ?? ''),
      )
    })

  it('undo leaves out the label that capt put on the template of the set', () => {
    const spec = { instanceType: 'm7i.large' }
    const of = { spec: { template: { metadata: { labels: { pool: 'w', [TEMPLATE_HASH_LABEL]: 'x' } }, spec } } }
    assert.deepEqual(toTemplate(of as unknown as CAPTMachineSet), { metadata: { labels: { pool: 'w' } }, spec })
  })

  const one = (type: string, status: string) => ({ type, status, message: `${type} says` })
  for (const [what, observedGeneration, conditions, expected] of [
    ['waits until the change is observed', 1, [one('Ready', 'True')], 'working'],
    ['is over when the deployment is ready', 2, [one('Ready', 'True')], 'complete'],
    ['has failed when it needs a person', 2, [one('Ready', 'False'), one('Stalled', 'True')], 'failed'],
    ['goes on otherwise', 2, [one('Ready', 'False')], 'working'],
    ['goes on before the first report', 2, [], 'working'],
  ] as const)
    it(`status ${what}`, () => {
      const of = { metadata: { name: 'w', generation: 2 }, status: { observedGeneration, conditions } }
      assert.equal(progressOf(of as unknown as CAPTMachineDeployment).is, expected)
    })
})
