// The list of differences between the embedded API and a kube-apiserver, checked without a server: it speaks of steps that
// exist, and every difference is seen somewhere. That the list is true is checked in test/real.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SECTIONS } from '../../support/apiserver/parity.ts'
import { compareStep, type Side } from '../../support/parity/compare.ts'
import { DIFFERENCES } from '../../support/parity/differences.ts'
import { get, nameOf } from '../../support/parity/step.ts'

const names = SECTIONS.flatMap((section) => section.steps.map((step) => nameOf(section, step)))

describe('the list of differences', () => {
  it('names every step once', () => {
    assert.deepEqual(
      names.filter((name, i) => names.indexOf(name) !== i),
      [],
    )
  })

  it('speaks only of steps that exist, and of each difference in at least one', () => {
    for (const { title, seen } of DIFFERENCES) {
      assert.ok(seen.length > 0, title)
      assert.deepEqual(
        seen.filter((step) => !names.includes(step)),
        [],
        title,
      )
    }
  })

  it('leaves neither a new difference nor an old one unmentioned', async () => {
    const side = (body: object): Side => ({
      api: {
        call: async () => ({ code: 200, headers: {}, body: body as never }),
        watch: () => assert.fail(),
        close() {},
      },
      memory: {},
    })
    const compare = (ours: object, real: object) =>
      compareStep(get('', '/'), side(ours), side(real), [{ name: 'wording', lines: /^body\.message/ }])
    assert.deepEqual(await compare({ message: 'a' }, { message: 'b' }), { unexplained: [], outdated: [] })
    const { unexplained, outdated } = await compare({ message: 'a', code: 1 }, { message: 'a', code: 2 })
    assert.deepEqual([unexplained, outdated], [['body.code: ours 1, real 2'], ['wording']])
  })
})
