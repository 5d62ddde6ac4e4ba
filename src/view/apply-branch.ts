// A WorkspaceTemplateApply as a branch: what Terraform did, does, or stopped at.
import { conditionOf, type WorkspaceTemplateApply } from '#api'
import { type Branch, type State, stateOf } from './branch.ts'
import { applyStop } from './stops.ts'

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

const firstLine = (text: string): string => text.split('\n')[0] ?? ''
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
