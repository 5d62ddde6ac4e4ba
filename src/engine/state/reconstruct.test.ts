import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type CopySource,
  decideInputs,
  type InputSource,
  type Reconstruction,
  type RecordSource,
  reconstructWorkspace,
  type StateSource,
  type WorkspaceSources,
} from './reconstruct.ts'

const state = (serial: number, resources = serial, lineage = 'l', digest = `${lineage}${serial}`): StateSource => ({
  is: 'whole',
  serial,
  lineage,
  resources,
  digest,
})
const copy = (kind: CopySource['kind'], serial: number, source = state(serial), unknown = 0): CopySource => ({
  kind,
  id: kind === 'backup' ? String(serial) : `${serial}-run`,
  serial,
  source,
  unknown,
})
const recorded = (serial: number, resources = serial): RecordSource => ({
  is: 'whole',
  state: { serial, lineage: 'l', resources, savedAt: '' },
})
const missing: StateSource = { is: 'missing' }
const damaged: StateSource = { is: 'damaged' }
const base: WorkspaceSources = {
  name: 'demo',
  record: { is: 'whole' },
  state: missing,
  folder: missing,
  copies: [],
  tags: 'unavailable',
}

/** `state`, `folder`, `copy 5`, `empty`, `ask copies`, or the code of a stall without its prefix. */
function wordOf(found: Reconstruction): string {
  if (found.is === 'use') return found.from
  if (found.is === 'restore') return `copy ${found.copy}`
  if (found.is === 'ask') return `ask ${found.for}`
  return found.is === 'stalled' ? found.code.replace(/^CAPT_(STATE_)?/, '') : 'empty'
}
const decide = (sources: Partial<WorkspaceSources>) => wordOf(reconstructWorkspace({ ...base, ...sources }))

const RECORDS = {
  none: { is: 'missing' },
  damaged: { is: 'damaged' },
  empty: { is: 'whole' },
  five: recorded(5),
} as const
const STATES = { gone: missing, cut: damaged, five: state(5) } as const
const COPIES = {
  none: [],
  old: [copy('backup', 3)],
  same: [copy('backup', 5)],
  cut: [copy('backup', 5, damaged)],
} as const
const FOLDERS = { gone: missing, cut: damaged, old: state(3), same: state(5) } as const

type Word = string
/** Record, saved state, backups; then the outcome with the folder gone, cut, behind, and as new as the record. */
const MATRIX: readonly (readonly [
  keyof typeof RECORDS,
  keyof typeof STATES,
  keyof typeof COPIES,
  Word,
  Word,
  Word,
  Word,
])[] = [
  ['none', 'gone', 'none', 'empty', 'empty', 'folder', 'folder'],
  ['none', 'gone', 'old', 'LOST', 'LOST', 'folder', 'folder'],
  ['none', 'gone', 'same', 'LOST', 'LOST', 'folder', 'folder'],
  ['none', 'gone', 'cut', 'empty', 'empty', 'folder', 'folder'],
  ['none', 'cut', 'none', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['none', 'cut', 'old', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['none', 'cut', 'same', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['none', 'cut', 'cut', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['none', 'five', 'none', 'state', 'state', 'state', 'state'],
  ['none', 'five', 'old', 'state', 'state', 'state', 'state'],
  ['none', 'five', 'same', 'state', 'state', 'state', 'state'],
  ['none', 'five', 'cut', 'state', 'state', 'state', 'state'],
  ['damaged', 'gone', 'none', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['damaged', 'gone', 'old', 'LOST', 'LOST', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['damaged', 'gone', 'same', 'LOST', 'LOST', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['damaged', 'gone', 'cut', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['damaged', 'cut', 'none', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['damaged', 'cut', 'old', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['damaged', 'cut', 'same', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['damaged', 'cut', 'cut', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['damaged', 'five', 'none', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['damaged', 'five', 'old', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['damaged', 'five', 'same', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['damaged', 'five', 'cut', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE', 'RECORD_UNREADABLE'],
  ['empty', 'gone', 'none', 'empty', 'empty', 'folder', 'folder'],
  ['empty', 'gone', 'old', 'LOST', 'LOST', 'folder', 'folder'],
  ['empty', 'gone', 'same', 'LOST', 'LOST', 'folder', 'folder'],
  ['empty', 'gone', 'cut', 'empty', 'empty', 'folder', 'folder'],
  ['empty', 'cut', 'none', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['empty', 'cut', 'old', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['empty', 'cut', 'same', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['empty', 'cut', 'cut', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE'],
  ['empty', 'five', 'none', 'state', 'state', 'state', 'state'],
  ['empty', 'five', 'old', 'state', 'state', 'state', 'state'],
  ['empty', 'five', 'same', 'state', 'state', 'state', 'state'],
  ['empty', 'five', 'cut', 'state', 'state', 'state', 'state'],
  ['five', 'gone', 'none', 'LOST', 'LOST', 'STALE', 'folder'],
  ['five', 'gone', 'old', 'STALE', 'STALE', 'STALE', 'folder'],
  ['five', 'gone', 'same', 'copy 5', 'copy 5', 'copy 5', 'folder'],
  ['five', 'gone', 'cut', 'LOST', 'LOST', 'STALE', 'folder'],
  ['five', 'cut', 'none', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'folder'],
  ['five', 'cut', 'old', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'folder'],
  ['five', 'cut', 'same', 'copy 5', 'copy 5', 'copy 5', 'folder'],
  ['five', 'cut', 'cut', 'UNREADABLE', 'UNREADABLE', 'UNREADABLE', 'folder'],
  ['five', 'five', 'none', 'state', 'state', 'state', 'state'],
  ['five', 'five', 'old', 'state', 'state', 'state', 'state'],
  ['five', 'five', 'same', 'state', 'state', 'state', 'state'],
  ['five', 'five', 'cut', 'state', 'state', 'state', 'state'],
]

describe('what a workspace holds', () => {
  for (const [record, saved, copies, ...expected] of MATRIX) {
    it(`with record ${record}, state ${saved}, backups ${copies}`, () => {
      const found = Object.values(FOLDERS).map((folder) =>
        decide({ record: RECORDS[record], state: STATES[saved], copies: COPIES[copies], folder }),
      )
      assert.deepEqual(found, expected)
    })
  }

  const unread = { copies: undefined }
  const destroyed = recorded(6, 0)
  const pending = (serial: number, source = state(serial)) => ({
    copies: [copy('pending', serial, source)],
    hasUnsettled: true,
  })
  const lostRun = { is: 'whole', lostRun: 'run-1' } as const
  for (const [what, sources, expected] of [
    ['nothing anywhere', {}, 'empty'],
    ['no record, and no one to ask for tags', { record: RECORDS.none }, 'empty'],
    ['no record, tags not asked yet', { record: RECORDS.none, tags: undefined }, 'ask tags'],
    ['no record, three resources found by tag', { record: RECORDS.none, tags: 3 }, 'LOST'],
    ['no record, no resource found by tag', { record: RECORDS.none, tags: 0 }, 'empty'],
    ['a damaged record, three resources found by tag', { record: RECORDS.damaged, tags: 3 }, 'LOST'],
    ['a damaged record, no resource found by tag', { record: RECORDS.damaged, tags: 0 }, 'RECORD_UNREADABLE'],
    ['no record, but the status of the apply names five resources', { record: RECORDS.none, status: 5 }, 'LOST'],
    ['a damaged record, but the status names five resources', { record: RECORDS.damaged, status: 5 }, 'LOST'],
    ['a record that replaces a lost one with five resources', { record: { is: 'whole', expected: 5 } }, 'LOST'],
    ['such a record, and the state found', { record: { is: 'whole', expected: 5 }, state: state(5) }, 'state'],
    ['a record that replaces one that was lost with its run', { record: lostRun }, 'RECORD_LOST'],
    ['such a record, and an earlier state', { record: lostRun, state: state(5) }, 'RECORD_LOST'],
    [
      'such a record, and a state that a person has restored',
      { record: { ...lostRun, restored: { serial: 5, lineage: 'l' } }, state: state(5) },
      'state',
    ],
    ['an empty record and an outdated status', { status: 5 }, 'empty'],
    ['a record of five without state, copies not read yet', { record: RECORDS.five, ...unread }, 'ask copies'],
    ['a damaged state, copies not read yet', { state: damaged, ...unread }, 'ask copies'],
    ['everything in order, copies not read', { record: RECORDS.five, state: state(5), ...unread }, 'state'],
    ['the first run of all, copies not read', { ...unread }, 'empty'],
    ['everything destroyed', { record: destroyed, state: state(6, 0) }, 'state'],
    ['everything destroyed, state gone', { record: destroyed, ...unread }, 'empty'],
    ['everything destroyed, state gone, backups left', { record: destroyed, copies: COPIES.same }, 'empty'],
    ['everything destroyed, state cut', { record: destroyed, state: damaged }, 'empty'],
    ['everything destroyed, an outdated folder', { record: destroyed, folder: state(5) }, 'empty'],
    ['everything destroyed, an older state put back', { record: destroyed, state: state(5) }, 'state'],
    ['a state newer than the record', { record: RECORDS.five, state: state(9) }, 'state'],
    ['a state older than the record', { record: RECORDS.five, state: state(3) }, 'STALE'],
    [
      'a state older than the record, copies not read',
      { record: RECORDS.five, state: state(3), ...unread },
      'ask copies',
    ],
    [
      'a state older than the record, the folder as new',
      { record: RECORDS.five, state: state(3), folder: state(5) },
      'folder',
    ],
    ['a folder newer than the state', { record: RECORDS.five, state: state(5), folder: state(7) }, 'folder'],
    ['two states of one serial', { state: state(5), folder: state(5, 5, 'l', 'other') }, 'CONFLICT'],
    ['two lineages', { state: state(5), folder: state(5, 5, 'x') }, 'CONFLICT'],
    ['another lineage without resources in the folder', { state: state(5), folder: state(9, 0, 'x') }, 'state'],
    ['a saved state of another lineage than the record', { record: RECORDS.five, state: state(9, 9, 'x') }, 'CONFLICT'],
    ['a backup of another lineage', { record: RECORDS.five, copies: [copy('backup', 9, state(9, 9, 'x'))] }, 'STALE'],
    [
      'a state restored by a person, against the folder',
      {
        record: { is: 'whole', restored: { serial: 5, lineage: 'l' } },
        state: state(5),
        folder: state(7, 7, 'x'),
      },
      'state',
    ],
    ['a backend of the template', { record: { is: 'whole', backend: 's3' } }, 'backend'],
    [
      'an interrupted run, state gone, only the backup from before it',
      {
        record: { ...recorded(5), isInterrupted: true },
        copies: COPIES.same,
      },
      'LOST',
    ],
    [
      'a backup that was announced and never written, the state whole',
      { record: { ...recorded(5), isInterrupted: true }, state: state(5), copies: COPIES.cut },
      'state',
    ],
    [
      'a backup that was announced and never written, the state newer',
      { record: { ...recorded(5), isInterrupted: true }, state: state(7), copies: COPIES.cut },
      'state',
    ],
    [
      'a backup that was announced and never written, the state gone',
      { record: { ...recorded(5), isInterrupted: true }, copies: COPIES.cut },
      'LOST',
    ],
    [
      'a backup that was announced and never written, the state cut, the folder as new',
      { record: { ...recorded(5), isInterrupted: true }, state: damaged, folder: state(5), copies: COPIES.cut },
      'folder',
    ],
    [
      'a backup that was announced and never written, an older one whole, the state gone',
      { record: recorded(5), copies: [...COPIES.cut, ...COPIES.old] },
      'STALE',
    ],
    [
      'an interrupted run, state gone, the folder whole',
      {
        record: { ...recorded(5), isInterrupted: true },
        folder: state(7),
      },
      'folder',
    ],
    ['a pending copy not read yet', { state: state(5), hasUnsettled: true, ...unread }, 'ask copies'],
    ['a pending copy newer than the state', { record: RECORDS.five, state: state(5), ...pending(6) }, 'copy 6-run'],
    ['a pending copy as old as the state', { record: RECORDS.five, state: state(6), ...pending(6) }, 'state'],
    ['a pending copy older than the state', { record: RECORDS.five, state: state(7), ...pending(6) }, 'state'],
    ['a pending copy and a newer folder', { state: state(5), folder: state(7), ...pending(6) }, 'folder'],
    ['a torn state and its pending copy', { record: RECORDS.five, state: damaged, ...pending(6) }, 'copy 6-run'],
    ['a torn first state and its pending copy', { state: damaged, ...pending(2) }, 'copy 2-run'],
    [
      'a torn state, its pending copy cut too',
      { record: RECORDS.five, state: damaged, ...pending(6, damaged) },
      'UNREADABLE',
    ],
    [
      'a torn state, its copy cut, the folder behind',
      {
        record: RECORDS.five,
        state: damaged,
        folder: state(5),
        ...pending(6, damaged),
      },
      'UNREADABLE',
    ],
    [
      'a torn state, its copy cut, the folder as new',
      {
        record: RECORDS.five,
        state: damaged,
        folder: state(6),
        ...pending(6, damaged),
      },
      'folder',
    ],
    [
      'a pending copy cut before the state was touched',
      { record: RECORDS.five, state: state(5), ...pending(6, damaged) },
      'state',
    ],
    [
      'a side copy with a resource that the state lacks',
      {
        state: state(5),
        copies: [copy('side', 4, state(4), 1)],
        hasUnsettled: true,
      },
      'SIDE_COPY',
    ],
    ['a side copy with nothing new', { state: state(5), copies: [copy('side', 9)], hasUnsettled: true }, 'state'],
    [
      'a side copy that a person has settled',
      {
        record: { is: 'whole', restored: { serial: 5, lineage: 'l' } },
        state: state(5),
        copies: [copy('side', 4, state(4), 1)],
        hasUnsettled: true,
      },
      'state',
    ],
  ] as readonly (readonly [string, Partial<WorkspaceSources>, string])[]) {
    it(`with ${what}`, () => assert.equal(decide(sources), expected))
  }
})

describe('what a run works from', () => {
  const lost = ['missing', 'damaged'] as const
  const unneeded = ['whole', 'none', 'unread'] as const
  for (const [verb, bundle, hasTemplate, expected] of [
    ...unneeded.map((one) => ['apply', one, true, 'fine'] as const),
    ...unneeded.map((one) => ['apply', one, false, 'fine'] as const),
    ...lost.map((one) => ['apply', one, true, 'fine with a note'] as const),
    ...unneeded.map((one) => ['destroy', one, true, 'fine'] as const),
    ['destroy', 'whole', false, 'fine'],
    ['destroy', 'unread', false, 'fine'],
    ['destroy', 'none', false, 'CAPT_INPUTS_GONE'],
    ...lost.map((one) => ['destroy', one, true, 'fine with a note'] as const),
    ...lost.map((one) => ['destroy', one, false, 'CAPT_INPUTS_GONE'] as const),
  ] as readonly (readonly ['apply' | 'destroy', InputSource, boolean, string])[]) {
    it(`${verb} with bundle ${bundle}, ${hasTemplate ? 'a' : 'no'} template`, () => {
      const found = decideInputs('demo', verb, bundle, hasTemplate)
      const word = found.is === 'stalled' ? found.code : found.notes.length > 0 ? 'fine with a note' : 'fine'
      assert.equal(word, expected)
    })
  }

  it('says with every stall how to get out of it', () => {
    const stalls: Partial<WorkspaceSources>[] = [
      { record: RECORDS.five },
      { record: RECORDS.five, copies: COPIES.old },
      { record: RECORDS.five, state: damaged },
      { record: RECORDS.damaged, state: state(5) },
      { record: { is: 'whole', lostRun: 'run-1' } },
      { record: { is: 'whole', lostRun: 'run-1' }, state: state(5) },
      { state: state(5), folder: state(5, 5, 'x') },
      { state: state(5), copies: [copy('side', 4, state(4), 2)], hasUnsettled: true },
    ]
    const found = stalls.map((sources) => reconstructWorkspace({ ...base, ...sources }))
    for (const one of [...found, decideInputs('demo', 'destroy', 'missing', false)]) {
      assert.ok(one.is === 'stalled')
      assert.match(one.hint, /capt (state|forget) |delete that Secret/)
    }
  })
})
