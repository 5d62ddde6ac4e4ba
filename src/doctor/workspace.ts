// What is wrong with one workspace, from what was read of it. Pure: same state, same findings. Each finding says what is
// so and what to do next; only what a person must look at counts as trouble.
import { conditionOf, type WorkspaceTemplateApply } from '#api'
import { isOpen, isUnreadable, type RunRecord, type Suspect, WORKSPACE_TAG, type WorkspaceExam } from '#engine'
import { counted, redact } from '#lib'
import type { Examined, Finding } from '#view'
import { know, person } from './finding.ts'
import { lockFindings } from './lock.ts'
import { failingFindings, waitingFindings } from './objects.ts'
import { stateFindings } from './state.ts'

interface Tagged {
  readonly arn: string
}

export type CloudState =
  /** Nothing of it is in AWS. */
  | { readonly is: 'elsewhere' }
  /** The person asked to leave AWS out. */
  | { readonly is: 'skipped' }
  | { readonly is: 'unknown'; readonly message: string; readonly hint: string }
  | {
      readonly is: 'asked'
      readonly regions: readonly string[]
      readonly tagged: readonly Tagged[]
      /** Regions that did not answer. */
      readonly silent: readonly { readonly region: string; readonly message: string; readonly hint: string }[]
    }

export interface ObservedWorkspace {
  readonly apply: WorkspaceTemplateApply
  readonly exam: WorkspaceExam
  readonly cloud: CloudState
  readonly nowMs: number
}

export function examineApply(observed: ObservedWorkspace): Examined {
  const { apply, exam } = observed
  const failing = failingFindings(apply)
  return {
    name: `${apply.kind}/${apply.metadata.name}`,
    fact: factOf(observed),
    findings: [
      ...recordFindings(exam),
      ...suspectFindings(observed),
      ...lockFindings(apply.metadata.name, exam, observed.nowMs),
      ...stateFindings(apply.metadata.name, exam),
      ...runFindings(observed),
      ...stallFindings(observed),
      ...(failing.length > 0 ? failing : waitingFindings(apply, observed.nowMs)),
      ...cloudFindings(observed),
    ],
  }
}

const recordOf = ({ record }: WorkspaceExam): RunRecord | undefined =>
  record && !isUnreadable(record) ? record : undefined

const shortId = (run: string): string => run.slice(0, 8)

function factOf({ exam: { state }, cloud }: ObservedWorkspace): string {
  const kept =
    state.is === 'whole'
      ? `${counted(state.addresses.length, 'resource')}, serial ${state.serial}`
      : { none: 'no state', elsewhere: 'state in a backend of its own', unreadable: '' }[state.is]
  const tagged = cloud.is === 'asked' ? `${cloud.tagged.length} with its tag in ${cloud.regions.join(', ')}` : ''
  return [kept, tagged].filter(Boolean).join('; ')
}

function recordFindings({ record }: WorkspaceExam): readonly Finding[] {
  if (!record || !isUnreadable(record)) return []
  return [person('record', record.message, record.hint)]
}

const DONE: Readonly<Record<string, string>> = { create: 'created', update: 'changed', replace: 'replaced' }

function suspectFindings({ apply, exam }: ObservedWorkspace): readonly Finding[] {
  const record = recordOf(exam)
  const inState = new Set(exam.state.is === 'whole' ? exam.state.addresses : [])
  return (record?.suspects ?? []).map((suspect): Finding => {
    const now = inState.has(suspect.address) ? 'it is in the state now' : 'it is not in the state'
    const at = endOf(record!, suspect)
    const done = DONE[suspect.action] ?? suspect.action
    const was = suspect.unconfirmed
      ? `was to be ${done} by run ${shortId(suspect.run)}, which was lost before it reported whether it had begun`
      : `was being ${done} when run ${shortId(suspect.run)} was killed`
    const todo = 'look for it in the cloud: keep it by an import block in the template, or delete it; then:'
    const command = `capt retry ${apply.metadata.name} --clear-suspects`
    return person(
      'suspect',
      `${suspect.address} ${was}; ${now}`,
      todo,
      at === undefined ? { command } : { command, since: at },
    )
  })
}

function endOf({ run, history }: RunRecord, suspect: Suspect): string | undefined {
  const past = history.find(({ id }) => id === suspect.run)
  return past?.finishedAt ?? (run?.id === suspect.run ? (run.finishedAt ?? run.startedAt) : undefined)
}

function runFindings({ apply, exam }: ObservedWorkspace): readonly Finding[] {
  const record = recordOf(exam)
  const { run } = record ?? {}
  const { name } = apply.metadata
  const gone =
    isOpen(run) && exam.runner === 'dead'
      ? [
          person(
            'run',
            `the process of run ${shortId(run.id)} (${run.verb}) is gone and the run is still open`,
            'a running manager resumes it by itself within a minute; start one if none does',
            { since: run.startedAt },
          ),
        ]
      : []
  const lost = (record?.history ?? [])
    .filter(({ phase }) => phase === 'Lost')
    .map((past): Finding => {
      const isLast = past.id === run?.id
      return {
        word: 'run',
        weight: isLast ? 'person' : 'know',
        what: `run ${shortId(past.id)} (${past.verb}) was lost${past.message ? `: ${redact(past.message)}` : ''}`,
        todo: isLast ? `it is tried again by itself while attempts are left; capt retry ${name} starts one now` : '',
        since: past.finishedAt,
      }
    })
  return [...gone, ...lost]
}

function stallFindings({ apply, exam }: ObservedWorkspace): readonly Finding[] {
  const stalled = conditionOf(apply, 'Stalled')
  if (stalled?.status !== 'True') return []
  const fault = recordOf(exam)?.run?.fault
  const word = fault?.code.startsWith('CAPT_STATE_') ? 'state' : 'stalled'
  const todo = `${fault ? `capt explain ${fault.code} says more; ` : ''}when it is mended:`
  const more = { command: `capt retry ${apply.metadata.name}`, since: stalled.lastTransitionTime }
  return [person(word, redact(stalled.message), todo, more)]
}

/** Found by tag, in no state. A run that is on has not saved all that it made. */
function cloudFindings(observed: ObservedWorkspace): readonly Finding[] {
  const { cloud, exam, apply } = observed
  if (cloud.is === 'unknown') return [person('unknown', `AWS was not asked: ${cloud.message}`, cloud.hint)]
  if (cloud.is !== 'asked') return []
  const silent = cloud.silent.map(({ region, message, hint }) =>
    person('unknown', `AWS did not say what is in ${region}: ${message}`, hint),
  )
  if (exam.state.is === 'elsewhere' || exam.state.is === 'unreadable') {
    const why = exam.state.is === 'elsewhere' ? `is in a backend of its own (${exam.state.backend})` : 'cannot be read'
    const what = `the state ${why}: what carries the tag ${WORKSPACE_TAG} was not compared with it`
    return [...silent, know('unknown', what)]
  }
  const isRunning = isOpen(recordOf(exam)?.run)
  const { name: template } = apply.spec.templateRef
  return [
    ...silent,
    ...untracked(cloud.tagged, exam).map(
      ({ arn }): Finding => ({
        word: 'untracked',
        weight: isRunning ? 'know' : 'person',
        what: `${arn} found by tag, in no state`,
        todo: isRunning
          ? 'a run is on and may not have saved it yet: look again when it has ended'
          : `keep it by an import block with id = "${idIn(arn)}" in WorkspaceTemplate ${template}, or delete it; what was deleted within the last hour may still be listed`,
      }),
    ),
  ]
}

export function untracked(tagged: readonly Tagged[], { state }: WorkspaceExam): readonly Tagged[] {
  const ids = state.is === 'whole' ? state.identities.ids : new Set<string>()
  return tagged
    .filter(({ arn }) => !ids.has(arn) && !ids.has(`${arn}:*`) && !ids.has(idIn(arn)))
    .sort((a, b) => (a.arn < b.arn ? -1 : 1))
}

/** `vpc-0f3a` of an EC2 thing, whose ids are unique; the whole ARN of all others, whose names are not. */
function idIn(arn: string): string {
  const id = arn.slice(arn.lastIndexOf('/') + 1)
  return /^arn:[^:]*:ec2:/.test(arn) && /^[a-z]+-[0-9a-f]+$/.test(id) ? id : arn
}

/** Whether anything of the workspace is, or may be, in AWS. Without any evidence, an apply with a region may be. */
export function isInAws({ state, record }: WorkspaceExam, region: string | undefined): boolean {
  if (state.is === 'whole' && state.identities.providers.some((provider) => provider.endsWith('/aws'))) return true
  const suspects = record && !isUnreadable(record) ? record.suspects : []
  if (suspects.some(({ address }) => /(^|\.)aws_/.test(address))) return true
  const isEmpty = state.is !== 'whole' || state.addresses.length === 0
  return isEmpty && region !== undefined
}
