import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventLine, logLine } from './readable-log.ts'

const FILE = { isTerminal: false, columns: 80 }
const NOW = Date.parse('2026-01-01T07:15:36Z')

describe('The log for people', () => {
  it('is one line per event, with a mark on warnings', () => {
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'x' },
      type: 'Warning',
      reason: 'RunFailed',
      note: 'attempt 1 failed:\n  no network',
      regarding: { kind: 'WorkspaceTemplateApply', name: 'demo-vpc', namespace: 'default' },
    }
    assert.equal(
      eventLine(event, NOW, FILE),
      '07:15:36! WorkspaceTemplateApply/demo-vpc     RunFailed         attempt 1 failed: no network\n',
    )
    const other = { ...event, type: 'Normal', regarding: { ...event.regarding, namespace: 'shop' } }
    assert.match(eventLine(other, NOW, FILE), /^07:15:36 {2}WorkspaceTemplateApply\/shop\/demo-vpc /)
  })

  for (const [columns, expected] of [
    [100, `${'07:15:36! WorkspaceTemplateApply/demo-vpc     RunFailed'.padEnd(64)}attempt 1 failed: no network\n`],
    [
      90,
      `${'07:15:36! WorkspaceTemplateApply/demo-vpc     RunFailed'.padEnd(64)}attempt 1 failed: no\n${' '.repeat(64)}network\n`,
    ],
    [60, `07:15:36! WorkspaceTemplateApply/demo-vpc     RunFailed\n${' '.repeat(10)}attempt 1 failed: no network\n`],
  ] as const)
    it(`is broken between words on a terminal of ${columns} columns`, () => {
      const regarding = { kind: 'WorkspaceTemplateApply', name: 'demo-vpc', namespace: 'default' }
      const event = {
        apiVersion: '',
        kind: '',
        metadata: { name: 'x' },
        type: 'Warning',
        reason: 'RunFailed',
        regarding,
      }
      const note = 'attempt 1 failed: no network'
      assert.equal(eventLine({ ...event, note }, NOW, { isTerminal: true, columns }), expected)
    })

  it('turns a JSON line into text and leaves others as they are', () => {
    const line = JSON.stringify({
      level: 'warn',
      time: '2026-01-01T07:15:36.123Z',
      message: 'Lost the lease',
      reconcileID: 'x',
      tries: 2,
    })
    assert.equal(logLine(`${line}\n`), '07:15:36! Lost the lease  tries=2\n')
    assert.equal(logLine('plain\n'), 'plain\n')
  })
})
