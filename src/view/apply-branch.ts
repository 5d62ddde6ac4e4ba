// A WorkspaceTemplateApply as a branch: what Terraform did, does, or stopped at.
import { conditionOf, type WorkspaceTemplateApply } from '#api'
import { counted, ownValue } from '#lib'
import { type Branch, type State, stateOf, wordOf } from './branch.ts'
import { nameFields } from './fields.ts'
import { applyStop, isRunning } from './stops.ts'

export function applyBranch(apply: WorkspaceTemplateApply): Branch {
  const state = applyState(apply)
  const ready = conditionOf(apply, 'Ready')
  const stop = applyStop(apply, state)
  return {
    name: apply.metadata.name,
    state,
    word:
      state === 'ready'
        ? 'applied'
        : state === 'working'
          ? apply.status?.run?.verb === 'destroy'
            ? 'destroying'
            : 'applying'
          : wordOf(state),
    fact: nameFields(factOf(apply, state), apply),
    ...(stop ? { label: labelOf(apply) } : {}),
    ...(ready ? { since: ready.lastTransitionTime } : {}),
    ...(stop ? { stop } : {}),
    children: [],
  }
}

function applyState(apply: WorkspaceTemplateApply): State {
  const phase = apply.status?.phase
  if (isRunning(apply)) return 'working'
  if (phase === 'Stalled') return 'stalled'
  if (phase === 'Paused' || phase === 'Suspended') return 'paused'
  return stateOf(apply)
}

/** The class of the failure; its sentence is in the stop. */
function labelOf(apply: WorkspaceTemplateApply): string {
  const { lastError, attempts } = apply.status ?? {}
  const stalled = conditionOf(apply, 'Stalled')
  const reason = stalled?.status === 'True' ? stalled.reason : conditionOf(apply, 'Ready')?.reason
  const count = lastError && attempts !== undefined ? `after ${counted(attempts, 'attempt')}` : ''
  return [reason, count].filter(Boolean).join(' ')
}

const STEPS: Readonly<Record<string, string>> = {
  Queued: 'waits for a slot',
  Starting: 'starting',
  Init: 'terraform init',
  Plan: 'terraform plan',
  Save: 'saving the state',
}

/** Before the first resource is reported. */
const stepOf = (run: NonNullable<WorkspaceTemplateApply['status']>['run']): string =>
  run === undefined ? '' : (ownValue(STEPS, run.phase ?? '') ?? `terraform ${run.verb}`)

function factOf(apply: WorkspaceTemplateApply, state: State): string {
  const { status } = apply
  if (state === 'working')
    return [status?.run?.progress, status?.run?.address].filter(Boolean).join('  ') || stepOf(status?.run)
  if (state === 'ready') {
    const count = status?.state?.resources === undefined ? '' : counted(status.state.resources, 'resource')
    const undeclared = conditionOf(apply, 'UndeclaredValues')?.status === 'True' ? 'values without a variable' : ''
    return [count, undeclared, driftFact(apply)].filter(Boolean).join(', ')
  }
  const error = status?.lastError
  if (error?.message) return error.address ? `${error.address}: ${firstLine(error.message)}` : firstLine(error.message)
  return firstLine(conditionOf(apply, 'Ready')?.message ?? '')
}

/** Empty where drift detection is off or nothing was checked since the last apply. */
function driftFact({ status }: WorkspaceTemplateApply): string {
  const { result, drifted = 0, pending = 0, upstream = 0 } = status?.drift ?? {}
  switch (result) {
    case 'InSync':
      return 'no drift'
    case 'Drifted':
      return `${drifted} drifted`
    case 'UpstreamMoved':
      return `upstream moved (${counted(upstream, 'change')})`
    case 'PendingChange':
      return `${counted(pending, 'change')} pending`
    case 'CannotTell':
      return 'drift unknown'
    default:
      return ''
  }
}

const firstLine = (text: string): string => text.split('\n')[0] ?? ''
