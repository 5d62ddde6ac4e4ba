// What is reported about drift: the fields of the status, the condition Drifted, and a Warning when it says something new.
import { conditionOf } from '#api'
import type { DriftReport } from '#engine'
import type { ConditionDraft } from '#runtime'
import type { Observed } from '../observe.ts'
import { isCorrectable } from './decide.ts'
import { isRepeated } from './observe.ts'

const TYPE = 'Drifted'
const MAX_NAMED = 5

export function driftStatus({ apply, drift }: Observed): Readonly<Record<string, unknown>> | undefined {
  const { settings, answer, checks } = drift
  // While the apply is deleted it shows that there may be checks to forget.
  if (apply.metadata.deletionTimestamp) return apply.status?.drift
  if (!settings) return undefined
  // A check that is in progress, or was interrupted, has not answered yet.
  const check = checks?.record?.run
  const hasAnswered = check?.finishedAt !== undefined && !isRepeated(check)
  const request = hasAnswered ? check.retryToken : apply.status?.drift?.request
  const asked = { mode: settings.mode, ...(request === undefined ? {} : { request }) }
  if (!answer) return asked
  if (answer.is === 'unknown') return { ...asked, result: 'CannotTell', checkedAt: answer.at, message: answer.message }
  const { result, at, counts, ignored, changes, sources } = answer.report
  return {
    ...asked,
    result,
    checkedAt: at,
    ...counts,
    ignored,
    ...(changes.length > 0 ? { changes } : {}),
    ...(sources.length > 0 ? { sources } : {}),
  }
}

interface DriftCondition {
  /** Left out where drift was never looked for. */
  readonly draft?: ConditionDraft
  readonly isNew: boolean
  /** Drift was reported before, and is gone. */
  readonly isOver?: boolean
}

export function driftCondition(observed: Observed): DriftCondition {
  const { apply, drift } = observed
  const before = conditionOf(apply, TYPE)
  if (!drift.settings) {
    const off: ConditionDraft = { type: TYPE, status: 'Unknown', reason: 'Off', message: 'driftDetection is off' }
    return before && !apply.metadata.deletionTimestamp ? { draft: off, isNew: false } : { isNew: false }
  }
  const draft = draftOf(observed)
  const isNew = before?.reason !== draft.reason || before.message !== draft.message
  const isOver = before?.status === 'True' && draft.status === 'False'
  return { draft, isNew: isNew && !QUIET.includes(draft.reason), isOver }
}

const QUIET: readonly string[] = ['InSync', 'NotChecked']

function draftOf({ apply, drift }: Observed): ConditionDraft {
  const { answer, settings } = drift
  const { name } = apply.metadata
  if (!answer)
    return { type: TYPE, status: 'False', reason: 'NotChecked', message: 'Not checked since it was last applied' }
  if (answer.is === 'unknown') {
    const message = `The drift check failed: ${answer.message}. It is repeated at the next interval`
    return { type: TYPE, status: 'Unknown', reason: 'CannotTell', message }
  }
  const { report } = answer
  const status = report.result === 'Drifted' ? 'True' : 'False'
  return { type: TYPE, status, reason: report.result, message: messageOf(report, name, settings?.mode === 'Correct') }
}

function messageOf(report: DriftReport, name: string, corrects: boolean): string {
  const { result, counts } = report
  const toRead = `To read it: capt plan ${name}`
  switch (result) {
    case 'InSync':
      return ''
    case 'PendingChange':
      return `${plural(counts.pending)} of the inputs not applied yet: ${named(report, 'Pending')}. ${toRead}`
    case 'UpstreamMoved':
      return `${upstreamText(report)}. It is not applied by itself. ${toRead}. To apply it: capt retry ${name}`
    case 'Drifted': {
      const what = `What Terraform manages was changed outside of it; an apply would undo it: ${named(report, 'Drift')}`
      if (!corrects) return `${what}. ${toRead}. To undo it: capt retry ${name}`
      if (isCorrectable(report)) return `${what}. It is corrected by a run`
      const other =
        counts.upstream > 0 ? upstreamText(report) : `${plural(counts.pending)} of the inputs not applied yet`
      return `${what}. It is not corrected, because the plan has more. ${other}. ${toRead}. To apply all of it: capt retry ${name}`
    }
  }
}

function upstreamText(report: DriftReport): string {
  const cause =
    report.sources.length > 0
      ? `${report.sources.slice(0, MAX_NAMED).join(', ')} resolved differently`
      : 'something that the template leaves open (a data source, a module, a function) resolved differently'
  return `The inputs are those that were applied, and ${cause}: an apply would change ${named(report, 'Upstream')}`
}

/** `a, b and 3 more`. The report lists the first of them. */
function named({ changes, counts }: DriftReport, cause: 'Drift' | 'Pending' | 'Upstream'): string {
  const total = { Drift: counts.drifted, Pending: counts.pending, Upstream: counts.upstream }[cause]
  const first = changes
    .filter((change) => change.cause === cause)
    .slice(0, MAX_NAMED)
    .map(({ address }) => address)
  return `${first.join(', ')}${total > first.length ? ` and ${total - first.length} more` : ''}`
}

const plural = (count: number): string => (count === 1 ? '1 change' : `${count} changes`)
