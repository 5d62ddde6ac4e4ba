// When a run may start: the table of answers to a plan, and the property that an approval passes no other plan.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  APPROVED_BY_ANNOTATION,
  APPROVED_PLAN_ANNOTATION,
  DENIED_BY_ANNOTATION,
  DENIED_PLAN_ANNOTATION,
  WorkspaceTemplateApply,
} from '#api'
import { type ApprovalPolicy, type ProposedPlan, policyHash, type Run, type RunRecord } from '#engine'
import { anApply, aTemplate, memoryCluster } from '#testing'
import type { Observed } from '../observe.ts'
import {
  approvalConditions,
  approvalGate,
  DEFAULT_APPROVAL,
  needsConfirmation,
  observeApproval,
  planStatus,
} from './approval.ts'

const MANUAL = { ...DEFAULT_APPROVAL, mode: 'Manual' } as const
const NOW_MS = Date.parse('2026-01-01T00:00:00Z')
const proposedBy = (
  policy: Pick<ApprovalPolicy, 'mode' | 'guard'>,
  over: Partial<ProposedPlan> = {},
): ProposedPlan => ({
  hash: 'hash-of-plan',
  salt: 'salt',
  run: 'run',
  inputs: 'inputs',
  policy: policyHash(policy),
  because: 'Manual',
  changes: { listed: [{ address: 'a.b', action: 'create' }], more: 0 },
  madeAt: '2025-12-31T23:30:00Z',
  expiresAt: '2026-01-01T00:30:00Z',
  ...over,
})

interface Case {
  readonly annotations?: Readonly<Record<string, string>>
  readonly proposed?: Partial<ProposedPlan>
  readonly run?: Partial<Run>
}

async function observe({ annotations = {}, proposed = {}, run = {} }: Case): Promise<Observed> {
  const cluster = memoryCluster()
  const apply = await cluster.objects.create(
    WorkspaceTemplateApply,
    anApply({}, { annotations }) as WorkspaceTemplateApply,
  )
  const { policy } = await observeApproval(cluster.objects, apply, aTemplate(), undefined, MANUAL, NOW_MS)
  const record = {
    proposed: proposedBy(policy, proposed),
    run: { id: 'run', phase: 'Planned', plan: { add: 1, change: 0, destroy: 0, replace: 0 }, ...run },
  } as unknown as NonNullable<Observed['view']['record']>
  const approval = await observeApproval(cluster.objects, apply, aTemplate(), record, MANUAL, NOW_MS)
  return { apply, approval, view: { record, activity: 'idle', cancelling: false } } as unknown as Observed
}
const approved = (hash: string) => ({ [APPROVED_PLAN_ANNOTATION]: hash, [APPROVED_BY_ANNOTATION]: 'alice' })
const denied = (hash: string) => ({ [DENIED_PLAN_ANNOTATION]: hash, [DENIED_BY_ANNOTATION]: 'bob' })
const fault = { kind: 'network', code: 'X', message: 'm', hint: 'h' } as const

describe('A plan that waits', () => {
  for (const [what, given, inputs, answer] of [
    ['without an answer', {}, 'inputs', 'ApprovalRequired'],
    ['approved', { annotations: approved('hash-of-plan') }, 'inputs', 'approved'],
    ['when another plan was approved', { annotations: approved('other') }, 'inputs', 'ApprovalRequired'],
    ['denied', { annotations: denied('hash-of-plan') }, 'inputs', 'PlanDenied'],
    ['when another plan was denied', { annotations: denied('other') }, 'inputs', 'ApprovalRequired'],
    [
      'approved and expired',
      { annotations: approved('hash-of-plan'), proposed: { expiresAt: '2025-12-31T23:59:59Z' } },
      'inputs',
      'plans',
    ],
    [
      'denied and expired',
      { annotations: denied('hash-of-plan'), proposed: { expiresAt: '2025-12-31T23:59:59Z' } },
      'inputs',
      'PlanDenied',
    ],
    ['expired', { proposed: { expiresAt: '2025-12-31T23:59:59Z' } }, 'inputs', 'plans'],
    ['approved, of other inputs', { annotations: approved('hash-of-plan') }, 'new inputs', 'plans'],
    [
      'approved, by other rules',
      { annotations: approved('hash-of-plan'), proposed: { policy: 'other' } },
      'inputs',
      'plans',
    ],
    ['after a run that failed', { run: { phase: 'Failed', fault } }, 'inputs', 'plans'],
    [
      'approved, after a run that failed',
      { annotations: approved('hash-of-plan'), run: { phase: 'Failed', fault } },
      'inputs',
      'approved',
    ],
  ] as const satisfies readonly (readonly [string, Case, string, string])[])
    it(`${what}: ${answer}`, async () => {
      const gate = approvalGate(await observe(given), inputs, false)
      const found =
        gate.is === 'open'
          ? gate.policy.approved
            ? 'approved'
            : 'plans'
          : gate.decision.is === 'waiting' || gate.decision.is === 'stalled'
            ? gate.decision.reason
            : gate.decision.is
      assert.equal(found, answer)
    })

  it('is made again when somebody asks for it, whatever was answered', async () => {
    const gate = approvalGate(await observe({ annotations: approved('hash-of-plan') }), 'inputs', true)
    assert.ok(gate.is === 'open' && gate.policy.approved === undefined)
  })

  it('passes only with an approval of exactly this plan, in time and for these inputs', async () => {
    const word = fc.constantFrom('a', 'b', 'hash-of-plan')
    await fc.assert(
      fc.asyncProperty(
        word,
        word,
        fc.constantFrom('inputs', 'others'),
        fc.integer({ min: -60, max: 60 }),
        async (answer, hash, inputs, seconds) => {
          const expiresAt = new Date(NOW_MS + seconds * 1000).toISOString()
          const gate = approvalGate(
            await observe({ annotations: approved(answer), proposed: { hash, inputs, expiresAt } }),
            'inputs',
            false,
          )
          const passes = gate.is === 'open' && gate.policy.approved !== undefined
          assert.equal(passes, answer === hash && inputs === 'inputs' && seconds > 0)
          if (passes) assert.equal(gate.policy.approved.hash, hash)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('is in the status with its summary, and warns once', async () => {
    const observed = await observe({})
    assert.partialDeepStrictEqual(planStatus(observed), {
      add: 1,
      hash: 'hash-of-plan',
      approval: 'Required',
      changes: [{ address: 'a.b' }],
    })
    const gate = approvalGate(observed, 'inputs', false)
    assert.ok(gate.is === 'held')
    const { conditions, warnings } = approvalConditions(observed, gate.decision)
    assert.deepEqual(
      [conditions, warnings].map(([one]) => one?.type),
      ['ApprovalRequired', 'ApprovalRequired'],
    )
    const again = { ...observed, apply: { ...observed.apply, status: { conditions: conditions as never } } }
    assert.deepEqual(approvalConditions(again, gate.decision).warnings, [])
  })

  for (const [verified, approver] of [
    [true, 'verified'],
    [false, 'unverified'],
  ] as const)
    it(`that was approved names who did, ${approver}`, async () => {
      const approval = { hash: 'hash-of-plan', by: 'alice', at: '2025-12-31T23:45:00Z', verified }
      assert.partialDeepStrictEqual(planStatus(await observe({ run: { phase: 'Succeeded', approval } })), {
        approval: 'Approved',
        approvedBy: 'alice',
        approver,
      })
    })

  it('is needed for the first plan after an import, whatever the apply says, and not after that', async () => {
    const { objects } = memoryCluster()
    const none = { version: 1, workspaceId: 'id', suspects: [], kept: [], backups: [], history: [] } as const
    const imported: RunRecord = { ...none, imported: { at: '', from: 'x' } }
    const policyFor = async (record: RunRecord) =>
      (await observeApproval(objects, anApply({ approval: 'Auto' }), aTemplate(), record, DEFAULT_APPROVAL, 0)).policy
    assert.partialDeepStrictEqual(await policyFor(imported), { mode: 'Manual', isFirst: true })
    const applied = { hash: 'h', at: '', runId: 'r', outputs: {}, omitted: [] }
    assert.equal((await policyFor({ ...imported, applied })).mode, 'Auto')
  })

  for (const [what, own, template, wanted] of [
    ['the apply decides', 'Auto', 'Manual', 'Auto'],
    ['then its template', undefined, 'Auto', 'Auto'],
    ['then the manager', undefined, undefined, 'Manual'],
  ] as const)
    it(`${what}`, async () => {
      const { objects } = memoryCluster()
      const one = aTemplate()
      const given = { ...one, spec: { ...one.spec, ...(template ? { approval: template } : {}) } }
      const { policy } = await observeApproval(
        objects,
        anApply(own ? { approval: own } : {}),
        given,
        undefined,
        MANUAL,
        0,
      )
      assert.equal(policy.mode, wanted)
    })
})

describe('After a restore', () => {
  const RESTORED = '2026-01-01T00:00:00Z'
  const before = { metadata: { name: 'x', creationTimestamp: '2025-12-31T00:00:00Z' } }
  const after = { metadata: { name: 'x', creationTimestamp: '2026-01-01T00:00:01Z' } }
  const appliedAt = (at: string) => ({ applied: { at } }) as unknown as NonNullable<Observed['view']['record']>

  for (const [what, restoredAt, subjects, record, answer] of [
    ['nothing was restored', undefined, [before, before], undefined, false],
    ['the apply is in the backup and was never applied', RESTORED, [before, undefined], undefined, true],
    ['it was applied before', RESTORED, [before, undefined], appliedAt('2025-12-31T12:00:00Z'), true],
    ['it was applied in the second of the restore', RESTORED, [before, undefined], appliedAt(RESTORED), true],
    ['it was applied since', RESTORED, [before, before], appliedAt('2026-01-01T00:00:01Z'), false],
    ['the apply is new', RESTORED, [after, undefined], undefined, false],
    ['the apply is new and its cluster is in the backup', RESTORED, [after, before], undefined, true],
    ['apply and cluster are new', RESTORED, [after, after], undefined, false],
  ] as const)
    it(`the first plan ${answer ? 'waits' : 'is not held'} when ${what}`, () => {
      assert.equal(needsConfirmation(restoredAt, subjects, record), answer)
    })

  it('approval is Manual whatever the spec says, and a plan from before counts as expired', async () => {
    const cluster = memoryCluster()
    const options = { ...DEFAULT_APPROVAL, restoredAt: RESTORED }
    const record = { proposed: proposedBy({ mode: 'Manual', guard: [] }) } as unknown as Parameters<
      typeof observeApproval
    >[3]
    const given = { ...anApply({ approval: 'Auto' }), ...before } as unknown as WorkspaceTemplateApply
    const observed = await observeApproval(cluster.objects, given, aTemplate(), record, options, NOW_MS)
    assert.equal(observed.policy.mode, 'Manual')
    assert.equal(observed.isUnconfirmed, true)
    assert.deepEqual([observed.answer, observed.leftSeconds], [undefined, 0])
  })
})
