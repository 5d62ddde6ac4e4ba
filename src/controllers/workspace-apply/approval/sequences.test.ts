// Any sequence of changed inputs, plans, answers, waiting and runs in between: whatever is applied is the plan that was
// approved last, unchanged, in time and on the state that it was made for.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { APPROVED_BY_ANNOTATION, APPROVED_PLAN_ANNOTATION, WorkspaceTemplateApply } from '#api'
import { createSimulatedEngine, type RunRecord, renderWorkspace } from '#engine'
import { silentLog } from '#lib'
import { anApply, aTemplate, manualClock, memoryCluster } from '#testing'
import type { Observed } from '../observe.ts'
import { approvalGate, DEFAULT_APPROVAL, observeApproval } from './approval.ts'

const KEY = { namespace: 'default', name: 'demo' }
const EXPIRY_SECONDS = 3600
const TEMPLATE = aTemplate('variable "size" { type = number }\nresource "terraform_data" "x" { count = var.size }')

type Step =
  | { readonly do: 'set'; readonly size: number }
  | { readonly do: 'reconcile' | 'ask' | 'auto' }
  /** The plan that was shown that many plans ago. */
  | { readonly do: 'approve'; readonly back: number }
  | { readonly do: 'wait'; readonly minutes: number }

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reconcile' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('approve' as const), back: fc.constantFrom(0, 0, 1, 2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('set' as const), size: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('ask' as const, 'auto' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.constantFrom(1, 50) }) },
)

interface Shown {
  readonly hash: string
  readonly inputs: string
  readonly serial: number | undefined
  readonly expiresAt: string
}

/** Returns how many runs were applied with an approval. */
async function play(steps: readonly Step[]): Promise<number> {
  const clock = manualClock()
  const { objects } = memoryCluster({ clock })
  const engine = createSimulatedEngine({ objects, clock, log: silentLog, resourceMs: 1 })
  const { metadata, apiVersion, kind } = await objects.create(WorkspaceTemplateApply, anApply({}, KEY))
  const owner = { ...KEY, uid: metadata.uid ?? '', apiVersion, kind }
  const shown: Shown[] = []
  let size = 1
  let approved: string | undefined
  let count = 0

  const settled = async (): Promise<RunRecord | undefined> => {
    for (;;) {
      const { activity, record } = await engine.observe(owner)
      if (activity !== 'running') return record
      await clock.advance(1)
    }
  }
  const reconcile = async (mode: 'Auto' | 'Manual', isAsked: boolean): Promise<void> => {
    const apply = (await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, KEY))!
    const rendering = renderWorkspace(TEMPLATE, anApply({ values: { size } }, KEY))
    assert.ok(rendering.ok)
    const { workspace } = rendering
    const before = await settled()
    const options = { ...DEFAULT_APPROVAL, mode, expirySeconds: EXPIRY_SECONDS }
    const approval = await observeApproval(objects, apply, TEMPLATE, before, options, clock.now())
    const view = { record: before, activity: 'idle', cancelling: false }
    const gate = approvalGate({ apply, approval, view } as unknown as Observed, workspace.hash, isAsked)
    if (gate.is === 'held') return
    const startedMs = clock.now()
    const { hash } = workspace
    await engine.start({ owner, verb: 'apply', hash, workspace, approval: gate.policy, timeoutSeconds: 60 })
    const after = (await settled())!
    if (after.run!.phase === 'Planned') {
      const { hash: plan, inputs, expiresAt } = after.proposed!
      shown.push({ hash: plan, inputs, expiresAt, serial: after.state?.serial })
      return
    }
    assert.equal(after.run!.phase, 'Succeeded', JSON.stringify(after.run))
    if (mode === 'Auto' || before?.applied?.hash === hash) return
    const plan = shown.at(-1)!
    assert.equal(after.run!.approval?.hash, approved, 'the last approval counts')
    assert.equal(plan.hash, approved, 'it is that of the plan that was shown last')
    assert.equal(plan.inputs, after.applied!.hash, 'these inputs were planned')
    assert.equal(plan.serial, before?.state?.serial, 'on this state')
    assert.ok(Date.parse(plan.expiresAt) > startedMs, 'in time')
    count++
  }
  for (const step of steps) {
    if (step.do === 'set') size = step.size
    else if (step.do === 'wait') await clock.advance(step.minutes * 60_000)
    else if (step.do === 'approve') {
      approved = shown.at(-1 - step.back)?.hash ?? approved
      const annotations = { [APPROVED_PLAN_ANNOTATION]: approved, [APPROVED_BY_ANNOTATION]: 'alice' }
      if (approved !== undefined)
        await objects.patch(WorkspaceTemplateApply, KEY, { type: 'merge', body: { metadata: { annotations } } })
    } else await reconcile(step.do === 'auto' ? 'Auto' : 'Manual', step.do === 'ask')
  }
  return count
}

describe('An approval', () => {
  it('passes its own plan in the shortest sequence', async () => {
    assert.equal(await play([{ do: 'reconcile' }, { do: 'approve', back: 0 }, { do: 'reconcile' }]), 1)
  })

  it('never passes another plan, whatever happens in between', async () => {
    let passed = 0
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 10, maxLength: 30 }), async (steps) => {
        passed += await play(steps)
      }),
      { numRuns: 120 },
    )
    assert.ok(passed > 20, `${passed} approvals passed`)
  })
})
