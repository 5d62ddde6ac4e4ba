import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newRecord } from '../record/record.ts'
import type { WorkspaceExam } from '../recovery/examine.ts'
import { refusalOf } from './read-workspace.ts'

const key = { namespace: 'default', name: 'demo-vpc' }
const holder = { pid: 1, start: '1', host: 'elsewhere', machine: 'm', boot: 'b', space: 's' }
const fine: WorkspaceExam = {
  record: newRecord('id'),
  lock: { is: 'free' },
  state: { is: 'none' },
  holds: { is: 'use', from: 'state', resources: 3, notes: [] },
  runner: undefined,
}
const { holds: _unknown, ...running } = fine

describe('a workspace is handed over', () => {
  const ours = (liveness: 'alive' | 'dead' | 'unknown') =>
    ({ is: 'ours', runId: 'r', holder, liveness, command: 'capt …' }) as const
  const cases: readonly { readonly what: string; readonly exam: WorkspaceExam; readonly refused?: [string, RegExp] }[] =
    [
      { what: 'when its state is whole and nobody is at work', exam: fine },
      { what: 'when a dead process left its lock', exam: { ...fine, lock: ours('dead') } },
      {
        what: 'when Terraform keeps the state itself',
        exam: { ...fine, holds: { is: 'use', from: 'backend', resources: 0, notes: [] } },
      },
      {
        what: 'not while a run is in progress',
        exam: running,
        refused: ['CAPT_EJECT_REFUSED', /run in progress.*capt cancel demo-vpc/],
      },
      {
        what: 'not while a person holds the lock',
        exam: { ...fine, lock: { is: 'foreign', id: '1', who: 'me@laptop', command: 'terraform force-unlock 1' } },
        refused: ['CAPT_EJECT_REFUSED', /locked by me@laptop.*force-unlock/],
      },
      {
        what: 'not while a process that is not proven dead holds the lock',
        exam: { ...fine, lock: ours('unknown') },
        refused: ['CAPT_EJECT_REFUSED', /process on elsewhere/],
      },
      {
        what: 'not when its record is damaged',
        exam: { ...fine, record: { is: 'unreadable', message: 'damaged', hint: 'h' } },
        refused: ['CAPT_RECORD_UNREADABLE', /damaged/],
      },
      {
        what: 'not when its state is lost',
        exam: { ...fine, holds: { is: 'stalled', code: 'CAPT_STATE_LOST', message: 'lost', hint: 'h' } },
        refused: ['CAPT_STATE_LOST', /lost/],
      },
      {
        what: 'not before a person made the copy of its state hold',
        exam: { ...fine, holds: { is: 'restore', copy: '7', resources: 3, notes: [] } },
        refused: ['CAPT_EJECT_REFUSED', /capt state restore demo-vpc --serial 7/],
      },
      {
        what: 'not when nothing was ever made',
        exam: { ...fine, holds: { is: 'empty', notes: [] } },
        refused: ['CAPT_EJECT_REFUSED', /nothing that Terraform made/],
      },
    ]
  for (const { what, exam, refused } of cases)
    it(what, () => {
      const error = refusalOf(key, exam)
      assert.equal(error?.code, refused?.[0])
      if (refused) assert.match(`${error?.message} ${error?.hint}`, refused[1])
    })
})
