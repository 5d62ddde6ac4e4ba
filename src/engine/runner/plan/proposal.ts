// A plan that waits for approval: what identifies it, why it waits, and its summary for people. Pure. The hash is salted with a
// random value that only the record has, so that nobody can guess a secret from it or make another plan with the same hash.
import { gunzipSync, gzipSync } from 'node:zlib'
import { hashOf, parseJson, sha256, toTimestamp } from '#lib'
import type { ApprovalPolicy, ProposedPlan, Verb } from '../../record/record.ts'
import type { Redactor } from '../../secrets.ts'
import { listChanges } from './changes.ts'
import { cutLine, SENSITIVE } from './diff.ts'
import { guardedAddresses } from './guard.ts'
import type { DetailedChange, PlanDetail } from './plan-json.ts'

/** The summary of a plan as it is stored: redacted, and bounded. */
export interface PlanText {
  readonly changes: readonly DetailedChange[]
  /** What was changed outside of Terraform; left out where there is none. */
  readonly drift?: readonly DetailedChange[]
  /** Changes whose attributes were left out, because the summary would become too large. */
  readonly without: number
  readonly outputs: readonly string[]
}

const HASH_LENGTH = 16
const MAX_TEXT = 512 * 1024
const MAX_GUARDED = 20

interface ProposalInput {
  readonly detail: Pick<PlanDetail, 'changes' | 'content'>
  readonly policy: ApprovalPolicy
  readonly salt: string
  readonly runId: string
  readonly verb: Verb
  /** Hash of the inputs. */
  readonly inputs: string
  /** Of the state that it was made from. */
  readonly state: { readonly lineage: string; readonly serial: number } | undefined
  readonly nowMs: number
  readonly redact: Redactor
}

export function propose(input: ProposalInput): ProposedPlan {
  const { detail, policy, salt, runId, nowMs, redact } = input
  const guarded = guardedAddresses(detail.changes, policy.guard).map(redact)
  return {
    hash: planHash(input),
    salt,
    run: runId,
    inputs: input.inputs,
    policy: policyHash(policy),
    changes: listChanges(detail.changes, redact),
    because: policy.isFirst ? 'Imported' : policy.mode === 'Manual' ? 'Manual' : 'Guard',
    ...(guarded.length > 0 ? { guarded: guarded.slice(0, MAX_GUARDED) } : {}),
    madeAt: toTimestamp(nowMs),
    expiresAt: toTimestamp(nowMs + policy.expirySeconds * 1000),
  }
}

/** Two plans have the same hash only when they do the same to the same state with the same inputs. */
export function planHash({
  detail,
  salt,
  verb,
  inputs,
  state,
}: Omit<ProposalInput, 'policy' | 'runId' | 'nowMs' | 'redact'>): string {
  const content = { content: detail.content, verb, inputs, lineage: state?.lineage, serial: state?.serial }
  return sha256(`${salt}/${hashOf(content)}`).slice(0, HASH_LENGTH)
}

/** Changes when the plan would have to be decided upon again by other rules. */
export const policyHash = ({ mode, guard }: Pick<ApprovalPolicy, 'mode' | 'guard'>): string =>
  hashOf([mode, [...guard].sort()]).slice(0, HASH_LENGTH)

export function toPlanText({ changes, drift, outputs }: PlanDetail, redact: Redactor): PlanText {
  let size = 0
  let without = 0
  // The redactor also masks what follows a name such as password, and with it the first word of our own text.
  const mask = (line: string) => cutLine(redact(line).replaceAll('…redacted… value)', SENSITIVE))
  const show = ({ lines, address, action, reason, from }: DetailedChange): DetailedChange => {
    const masked = lines.map(mask)
    size += masked.reduce((sum, line) => sum + line.length, 0)
    const fits = size <= MAX_TEXT
    if (!fits) without++
    return {
      address: redact(address),
      action,
      ...(reason === undefined ? {} : { reason: redact(reason) }),
      ...(from === undefined ? {} : { from: redact(from) }),
      lines: fits ? masked : [],
    }
  }
  const shown = changes.map(show)
  const outside = drift.map(show)
  return { changes: shown, ...(outside.length > 0 ? { drift: outside } : {}), without, outputs: outputs.map(mask) }
}

export const packPlanText = (text: PlanText): Buffer => gzipSync(JSON.stringify(text))
export const unpackPlanText = (packed: Buffer): PlanText =>
  parseJson(gunzipSync(packed).toString('utf8')) as unknown as PlanText
