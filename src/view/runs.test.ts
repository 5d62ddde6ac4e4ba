import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { WorkspaceTemplateApply } from '#api'
import { anApply } from '#testing'
import { RUN_HEAD, runRows } from './runs.ts'

type Status = NonNullable<WorkspaceTemplateApply['status']>

const at = (minutesAgo: number) => new Date(NOW - minutesAgo * 60_000).toISOString()
const NOW = Date.parse('2026-01-01T12:00:00Z')
const apply = (name: string, status?: Partial<Status>) =>
  ({ ...anApply({}, { name }), ...(status ? { status } : {}) }) as WorkspaceTemplateApply

describe('Terraform runs as rows', () => {
  it('have those in progress first, then the queue, then what ended', () => {
    const queued = (position: number, reason: 'IdentityLimit' | 'AllSlotsTaken') => ({
      run: {
        verb: 'apply' as const,
        phase: 'Queued' as const,
        startedAt: at(3),
        queue: { position, reason, since: at(3) },
      },
    })
    const rows = runRows(
      [
        apply('never'),
        apply('old', { run: { verb: 'apply', phase: 'Succeeded', startedAt: at(90), finishedAt: at(80) } }),
        apply('failed', {
          run: { verb: 'destroy', phase: 'Failed', startedAt: at(9), finishedAt: at(5) },
          lastError: { kind: 'user', code: 'CAPT_TERRAFORM_FAILED' },
        }),
        apply('second', queued(2, 'IdentityLimit')),
        apply('first', queued(1, 'AllSlotsTaken')),
        apply('works', {
          run: { verb: 'apply', phase: 'Apply', startedAt: at(20), progress: '3 of 9', address: 'aws_vpc.this' },
        }),
      ],
      NOW,
    )
    assert.deepEqual(
      [RUN_HEAD, ...rows.map(({ cells }) => cells)].map((row) => row.join(' | ')),
      [
        'NAME | VERB | PHASE | POSITION | AGE | REASON',
        'works | apply | Apply |  | 20m | 3 of 9 aws_vpc.this',
        'first | apply | Queued | 1 | 3m | AllSlotsTaken',
        'second | apply | Queued | 2 | 3m | IdentityLimit',
        'failed | destroy | Failed |  | 5m | CAPT_TERRAFORM_FAILED',
        'old | apply | Succeeded |  | 80m | ',
      ],
    )
  })
})
