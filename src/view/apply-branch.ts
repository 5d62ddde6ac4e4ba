// A WorkspaceTemplateApply as a branch: what Terraform did, does, or stopped at.
import { conditionOf, type WorkspaceTemplateApply } from '#api'
import { type Branch, type State, type Stop, stateOf } from './branch.ts'

export function applyBranch(apply: WorkspaceTemplateApply): Branch {
  const state = applyState(apply)
  const ready = conditionOf(apply, 'Ready')
  const stop = stopOf(apply, state)
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
          : state,
    fact: factOf(apply, state),
    ...(ready ? { since: ready.lastTransitionTime } : {}),
    ...(stop ? { stop } : {}),
    children: [],
  }
}

function applyState(apply: WorkspaceTemplateApply): State {
  const phase = apply.status?.phase
  if (phase === 'Running') return 'working'
  if (phase === 'Stalled') return 'stalled'
  if (phase === 'Paused' || phase === 'Suspended') return 'paused'
  return stateOf(apply)
}

function factOf(apply: WorkspaceTemplateApply, state: State): string {
  const { status } = apply
  if (state === 'working')
    return [status?.run?.progress, status?.run?.address].filter(Boolean).join('  ') || (status?.run?.phase ?? '')
  if (state === 'ready')
    return status?.state?.resources === undefined ? '' : counted(status.state.resources, 'resource')
  const error = status?.lastError
  if (error?.message) return error.address ? `${error.address}: ${firstLine(error.message)}` : firstLine(error.message)
  return firstLine(conditionOf(apply, 'Ready')?.message ?? '')
}

function stopOf(apply: WorkspaceTemplateApply, state: State): Stop | undefined {
  const error = apply.status?.lastError
  if (state !== 'stalled' || !error) return undefined
  const saved = apply.status?.state
  return {
    what: error.address ? `${error.address}: ${error.message ?? ''}` : (error.message ?? ''),
    why: conditionOf(apply, 'Stalled')?.message || WHY[error.kind ?? 'internal'] || 'retrying cannot help',
    todo: `${error.hint ?? 'fix the cause'}${error.code ? ` (docs/errors.md#${error.code})` : ''}, then: capt retry ${apply.metadata.name}`,
    safe: saved
      ? `${counted(saved.resources ?? 0, 'resource')} in state (serial ${saved.serial ?? 0})`
      : 'nothing was made yet',
  }
}

const WHY: Partial<Record<string, string>> = {
  user: 'retrying cannot help: the template or its variables are wrong',
  credentials: 'retrying cannot help: the credentials are missing, wrong or lack a permission',
  deadline: 'the run took longer than its timeout',
  cancelled: 'a person cancelled the run',
  locked: 'somebody else holds the state lock',
}

const firstLine = (text: string): string => text.split('\n')[0] ?? ''
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
