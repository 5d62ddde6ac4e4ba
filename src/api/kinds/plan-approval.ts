// The fields and annotations by which plans are approved, shared by WorkspaceTemplateApply and WorkspaceTemplate.
import { RESOURCE } from '../patterns.ts'
import * as s from '../schema/build.ts'

/** Hash of the plan that was approved (`capt approve`), who approved it and when. */
export const APPROVED_PLAN_ANNOTATION = 'capt.appthrust.com/approved-plan'
export const APPROVED_BY_ANNOTATION = 'capt.appthrust.com/approved-by'
export const APPROVED_AT_ANNOTATION = 'capt.appthrust.com/approved-at'
/** Hash of the plan that was denied (`capt approve --deny`), and by whom. */
export const DENIED_PLAN_ANNOTATION = 'capt.appthrust.com/denied-plan'
export const DENIED_BY_ANNOTATION = 'capt.appthrust.com/denied-by'

export const APPROVAL_MODES = ['Auto', 'Manual'] as const

export const approval = (instead: string) =>
  s.string({
    enum: APPROVAL_MODES,
    about: `Manual: a plan is applied only after capt approve. Auto: it is applied by itself, unless it replaces or destroys what the guard names. When left out: ${instead}.`,
  })

export const guard = (instead: string) =>
  s.list(s.string({ pattern: RESOURCE, minLength: 1, maxLength: 253 }), {
    about: `Resources that are not replaced or destroyed without approval, also with approval Auto: a type (aws_vpc), a resource in any module (aws_vpc.main) or an address. An entry that names no resource is reported by the condition GuardUnknown. An empty list guards nothing. When left out: ${instead}.`,
    maxItems: 64,
  })

const change = s.object(
  {
    address: s.string({ about: 'Address of the resource.' }),
    action: s.string({ about: 'create, update, delete, replace or move.' }),
    reason: s.string({ about: 'Why it is replaced or destroyed.' }),
    from: s.string({ about: 'Its earlier address.' }),
  },
  { required: ['address', 'action'] },
)

const count = (about: string) => s.integer({ about, minimum: 0 })

export const plan = s.object(
  {
    add: count('Resources to make.'),
    change: count('Resources to change in place.'),
    destroy: count('Resources to destroy.'),
    replace: count('Resources to destroy and make again.'),
    moved: count('Resources whose address changes.'),
    changes: s.list(change, { about: 'What is done to which resource, the most destructive first.', maxItems: 20 }),
    more: count('Further changes, which are not listed; capt plan shows all while the plan waits.'),
    hash: s.string({ about: 'Identifies the plan that waits for approval; capt approve takes it.' }),
    madeAt: s.time({ about: 'When the plan that waits was made.' }),
    expiresAt: s.time({ about: 'When it can not be approved any more; then it is planned again.' }),
    approval: s.string({
      enum: ['Required', 'Approved', 'Denied'],
      about: 'Left out when nobody had to approve it.',
    }),
    approvedBy: s.string({ about: 'Who approved or denied it.' }),
    approvedAt: s.time({ about: 'When it was approved.' }),
    approver: s.string({
      enum: ['verified', 'unverified'],
      about: 'Whether the API server made sure that approvedBy is the user who approved, and that they may.',
    }),
  },
  { about: 'What the last plan would do.' },
)
