// What a lost run leaves in doubt, by everything that may be left of it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Progress } from '../messages.ts'
import {
  begunAddresses,
  type Evidence,
  type InFlight,
  MOST_NAMED,
  onceMore,
  suspectsAfter,
  suspectsAtEnd,
  type TerraformEnd,
  toInFlight,
} from './in-flight.ts'
import { closeRun, newRecord, type Run } from './record.ts'

const ORIGIN = { run: 'r1', mark: 'm', boot: 'b' }

const WORDS = { plan: 'planned', start: 'started', end: 'finished', fail: 'errored' } as const

/** `plan a create`, `start a create`, `end a create`, `fail a create`, one per entry. */
function progressOf(...lines: readonly string[]): Progress {
  const progress = new Progress()
  for (const line of lines) {
    const [word, address = '', action = ''] = line.split(' ')
    progress.add({ is: WORDS[word as keyof typeof WORDS], address, action, text: '' })
  }
  return progress
}

/** `a create` has begun, `a create?` is only planned. */
const named = ({ addresses }: Pick<InFlight, 'addresses'>) =>
  addresses.map(({ address, action, unconfirmed }) => `${address} ${action}${unconfirmed ? '?' : ''}`)

function inFlight(...lines: readonly string[]): InFlight {
  const addresses = lines.map((line) => {
    const [address = '', action = ''] = line.replace('?', '').split(' ')
    return { address, action, ...(line.endsWith('?') ? { unconfirmed: true as const } : {}) }
  })
  return { ...ORIGIN, addresses, more: 0 }
}

describe('what the record names before and during an apply', () => {
  const rows: readonly (readonly [string, Progress, readonly string[], readonly string[]])[] = [
    [
      'is all that the plan makes, before anything has begun',
      progressOf('plan a create', 'plan b replace', 'plan c update', 'plan d delete'),
      [],
      ['a create?', 'b replace?'],
    ],
    [
      'is what has begun first',
      progressOf('plan a create', 'plan b create', 'start b create'),
      [],
      ['b create', 'a create?'],
    ],
    [
      'has an update once it has begun, and no deletion',
      progressOf('plan c update', 'plan d delete', 'start c update', 'start d delete'),
      [],
      ['c update'],
    ],
    [
      'keeps what is made until it is saved',
      progressOf('plan a create', 'plan b create', 'start a create', 'end a create', 'start b create', 'end b create'),
      ['a'],
      ['b create'],
    ],
    [
      'keeps a replacement whose old object is deleted and whose new one has not begun',
      progressOf('plan a replace', 'start a delete', 'end a delete'),
      [],
      ['a replace?'],
    ],
    [
      'calls a replacement so, whatever half of it has begun',
      progressOf('plan a replace', 'start a delete', 'end a delete', 'start a create'),
      ['a'],
      ['a replace'],
    ],
    [
      'ends with a replacement that was made before its old object was deleted',
      progressOf('plan a replace', 'start a create', 'end a create', 'start a delete', 'end a delete'),
      ['a'],
      [],
    ],
  ]
  for (const [what, progress, saved, expected] of rows)
    it(what, () =>
      assert.deepEqual(named(toInFlight(ORIGIN, begunAddresses(progress, new Set(saved)), progress)), expected),
    )

  it('is bounded, what has begun before what is planned, and the rest is counted', () => {
    const begun = new Map([['z', 'create']])
    const planned = Array.from({ length: MOST_NAMED + 9 }, (_, i) => `plan x[${i}] create`)
    const { addresses, more } = toInFlight(ORIGIN, begun, progressOf(...planned))
    assert.deepEqual([addresses.length, addresses[0]?.address, more], [MOST_NAMED, 'z', 10])
  })

  it('is that of the earlier run where its plan is applied again', () => {
    assert.deepEqual(named(onceMore(ORIGIN, inFlight('a create', 'b create?'))), ['a create?', 'b create?'])
    assert.deepEqual(named(onceMore(ORIGIN, undefined)), [])
  })
})

describe('what a lost run leaves in doubt', () => {
  const lost: Evidence = { saved: new Set(), progress: undefined, isComplete: false }
  const rows: readonly (readonly [string, InFlight | undefined, Partial<Evidence>, readonly string[]])[] = [
    ['is nothing where nothing was planned', undefined, {}, []],
    [
      'is all that it was to make where nothing else is known',
      inFlight('a create', 'b create?'),
      {},
      ['a create', 'b create?'],
    ],
    [
      'is not what was planned and the state has; what was seen at work may be half made',
      inFlight('a create', 'b create?', 'c create?'),
      { saved: new Set(['a', 'b']) },
      ['a create', 'c create?'],
    ],
    [
      'is a replacement although the state has its address: that may be the old object',
      inFlight('a replace?', 'b update'),
      { saved: new Set(['a', 'b']) },
      ['a replace?', 'b update'],
    ],
    [
      'is what the messages show to have begun, and nothing that did certainly not begin',
      inFlight('a create?', 'b create?', 'c create?'),
      { progress: progressOf('start a create', 'start b create', 'end b create'), isComplete: true },
      ['a create', 'b create'],
    ],
    [
      'is nothing where the messages show that nothing had begun',
      inFlight('a create?', 'b create?'),
      { progress: progressOf('plan a create'), isComplete: true },
      [],
    ],
    [
      'is also what the record names where the messages are those of another Terraform',
      inFlight('a create', 'b create?'),
      { progress: progressOf('start c create') },
      ['c create', 'a create', 'b create?'],
    ],
    [
      'is not what the messages of another Terraform show as done and the state has',
      inFlight('a create'),
      { progress: progressOf('start a create', 'end a create'), saved: new Set(['a']) },
      [],
    ],
    [
      'is what the messages show where the record names nothing',
      undefined,
      { progress: progressOf('start a create') },
      ['a create'],
    ],
  ]
  for (const [what, recorded, evidence, expected] of rows)
    it(what, () =>
      assert.deepEqual(named({ addresses: suspectsAfter(recorded, { ...lost, ...evidence }, 'r2') }), expected),
    )

  const ends: readonly (readonly [string, TerraformEnd['by'], readonly string[]])[] = [
    ['is what a killed Terraform had begun, and what it had made and not saved', 'killed', ['b create', 'c create']],
    ['is what a Terraform that exited on its second signal had begun', 'itself', ['c create']],
    [
      'is also what failed where the state is lost, although the saved one has it: that may know it as whole',
      'state-lost',
      ['b create', 'c create', 'f create', 'g create'],
    ],
  ]
  const said = [
    'start a create',
    'end a create',
    'start b create',
    'end b create',
    'start c create',
    'start d delete',
    'start e read',
    'fail f create',
    'fail g create',
    'fail h delete',
  ]
  for (const [what, by, expected] of ends)
    it(what, () => {
      const addresses = suspectsAtEnd(progressOf(...said), { saved: new Set(['a', 'f']), by }, 'r1')
      assert.deepEqual(named({ addresses }), expected)
    })

  it('is named at once as far as it had begun; the rest waits for the next run, which knows the state', () => {
    const flight = inFlight('a create', 'b create?')
    const record = { ...newRecord('w'), run: { id: 'r1', verb: 'apply', phase: 'Apply' } as Run, inFlight: flight }
    const closed = closeRun(record, 'Lost', 'now')
    assert.deepEqual(closed.suspects, [{ address: 'a', action: 'create', run: 'r1' }])
    assert.deepEqual(closed.inFlight, flight)
    assert.deepEqual(closeRun(record, 'Failed', 'now').suspects, [])
  })
})
