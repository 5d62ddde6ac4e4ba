// A record that was lost and recreated gets what is kept for the workspace from the state Secret and the work folder.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keptFacts, type Remnants, rebuildRecord } from './rebuild.ts'
import { closeRun, newRecord, type RunRecord } from './record.ts'

const AT = '2026-01-01T00:00:00Z'
const holder = { pid: 1, start: '1', host: 'here', machine: '', boot: '', space: '' }
const bundle = (id: string) => ({ id, hash: `hash-${id}`, tool: 'terraform 1.0.0', parts: 1, bytes: 1 })
const backup = (serial: number) => ({ serial, lineage: 'l', savedAt: AT, resources: 1, parts: 1 })
const lost = (more: Partial<RunRecord>): RunRecord => ({ ...newRecord('lost'), ...more })
const fresh = newRecord('new')
const suspect = (address: string) => ({ address, action: 'create', run: 'r' })
const inFlight = (...addresses: readonly string[]) => ({
  ...{ run: 'r', mark: 'm', boot: 'b', more: 0 },
  addresses: addresses.map((address) => ({ address, action: 'create' })),
})

/** A run that ended before it looked at the workspace, as one that was cancelled at once. */
const cancelled = closeRun(
  {
    ...fresh,
    run: {
      ...{ id: 'r', verb: 'apply', hash: 'h', attempt: 1, phase: 'Init', startedAt: AT, resumed: 0 },
      ...{ holder, folder: '', timeoutSeconds: 1 },
    },
  },
  'Cancelled',
  AT,
  { kind: 'cancelled', code: 'CAPT_RUN_CANCELLED', message: 'm', hint: 'h' },
  true,
)

describe('a lost record', () => {
  const cases: readonly (readonly [string, RunRecord, Remnants, Partial<RunRecord>])[] = [
    ['stays new where nothing is left', fresh, {}, { workspaceId: 'new', backups: [] }],
    [
      'is rebuilt from the state Secret',
      fresh,
      { kept: keptFacts(lost({ bundle: bundle('a'), backups: [backup(1)], kept: ['ns/credentials'] })) },
      { workspaceId: 'lost', bundle: bundle('a'), backups: [backup(1)], kept: ['ns/credentials'] },
    ],
    [
      'is rebuilt after a run that never looked at the workspace',
      cancelled,
      { kept: keptFacts(lost({ bundle: bundle('a') })) },
      { workspaceId: 'lost', bundle: bundle('a'), history: cancelled.history },
    ],
    [
      'is rebuilt from the report where no state was saved',
      fresh,
      { report: lost({ spare: [bundle('a')] }) },
      { workspaceId: 'lost', bundle: undefined, spare: [bundle('a')] },
    ],
    [
      'has both bundles where the report is newer than the state',
      fresh,
      {
        kept: keptFacts(lost({ bundle: bundle('a'), backups: [backup(1)] })),
        report: lost({ bundle: bundle('b'), backups: [backup(2), backup(1)] }),
      },
      { workspaceId: 'lost', bundle: bundle('b'), spare: [bundle('a')], backups: [backup(2), backup(1)] },
    ],
    [
      'is that of the state where the report is of another workspace',
      fresh,
      {
        kept: keptFacts(lost({ bundle: bundle('a') })),
        report: { ...lost({ bundle: bundle('b') }), workspaceId: 'x' },
      },
      { workspaceId: 'lost', bundle: bundle('a'), spare: undefined },
    ],
    [
      'keeps what the lost run had in flight, as the newer of the two has it',
      fresh,
      { kept: keptFacts(lost({ inFlight: inFlight('a', 'b') })), report: lost({ inFlight: inFlight('b') }) },
      { inFlight: inFlight('b') },
    ],
    [
      'keeps the suspects of both, and what only the state Secret names as in flight',
      fresh,
      {
        kept: keptFacts(lost({ suspects: [suspect('a')], inFlight: inFlight('c') })),
        report: lost({ suspects: [suspect('b')] }),
      },
      { suspects: [suspect('b'), suspect('a')], inFlight: undefined },
    ],
    [
      'still knows that the state was imported',
      fresh,
      { kept: keptFacts(lost({ imported: { at: 't', from: 'x' } })) },
      { workspaceId: 'lost', imported: { at: 't', from: 'x' } },
    ],
    [
      'knows what the run that was lost with it had begun, where a state was saved since',
      { ...fresh, lostRun: 'r' },
      { kept: keptFacts(lost({ inFlight: inFlight('a') })) },
      { lostRun: undefined, inFlight: inFlight('a') },
    ],
    [
      'knows that the run that was lost with it had begun nothing, where the report is its own',
      { ...fresh, lostRun: 'r' },
      { report: { ...cancelled, workspaceId: 'lost' } },
      { workspaceId: 'lost', lostRun: undefined },
    ],
    [
      'does not know what the run that was lost with it had begun, where the saved state is older',
      { ...fresh, lostRun: 'later' },
      { kept: keptFacts(lost({ inFlight: inFlight('a') })), report: { ...cancelled, workspaceId: 'x' } },
      { workspaceId: 'lost', lostRun: 'later' },
    ],
    ['ignores an annotation that cannot be read', fresh, { kept: '{' }, { workspaceId: 'new' }],
    [
      'is left alone when a person forgot its resources',
      { ...fresh, forgotten: { workspaceId: 'lost', at: AT, resources: 1 } },
      { kept: keptFacts(lost({ bundle: bundle('a') })) },
      { workspaceId: 'new', bundle: undefined },
    ],
    [
      'is left alone when it has a bundle of its own',
      { ...fresh, bundle: bundle('c') },
      { kept: keptFacts(lost({ bundle: bundle('a') })) },
      { workspaceId: 'new', bundle: bundle('c') },
    ],
  ]
  for (const [name, record, remnants, expected] of cases)
    it(name, () => {
      const rebuilt = rebuildRecord(record, remnants)
      for (const [field, value] of Object.entries(expected))
        assert.deepEqual(rebuilt[field as keyof RunRecord], value, field)
    })
})
