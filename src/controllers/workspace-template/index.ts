// The controller for WorkspaceTemplate: a template in use is not deleted from under its applies, and it says how many
// there are and how many a change of it has not reached yet.
import { type AnyObject, TEMPLATE_FINALIZER, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import type { Cache, Projected } from '#kube'
import { jsonEqual } from '#lib'
import {
  act,
  addFinalizer,
  type Controller,
  type Decision,
  done,
  names,
  removeFinalizer,
  type StatusReport,
  waiting,
  waitingAMoment,
} from '#runtime'
import { briefApply } from '../workspace-apply/brief.ts'
import { BY_TEMPLATE, refText, templateValues, usersOfTemplate } from '../workspace-apply/dependencies.ts'
import { isBehind } from '../workspace-apply/rollout.ts'

export interface Observed {
  readonly template: WorkspaceTemplate
  readonly users: readonly { readonly name: string; readonly namespace?: string }[]
  readonly updating: number
  /** Its numbers have just changed and may change again at once. */
  readonly isCounting?: boolean
}

export interface Action {
  readonly do: 'add-finalizer' | 'remove-finalizer'
}

/** As many users as a message names; the count says the rest. */
const NAMED = 5
/** With more users than these, numbers are told every few seconds: a fleet that grows changes them all the time. */
const MANY = 10
const COUNTING_MS = 5000

export function workspaceTemplateController(): Controller<WorkspaceTemplate, Observed, Action> {
  const changedAt = new Map<string, number>()
  return {
    name: 'workspacetemplate',
    kind: WorkspaceTemplate,
    wakes: [{ kind: WorkspaceTemplateApply, toKeys: templateKeys, ignores: isCountedAlike }],
    indexes: [{ kind: WorkspaceTemplateApply, name: BY_TEMPLATE, values: templateValues }],
    briefs: [{ kind: WorkspaceTemplateApply, brief: briefApply }],
    observe: async ({ cache, clock }, template) => observe(cache, template, changedAt, clock.monotonic()),
    decide,
    async act({ objects }, { template }, action) {
      if (action.do === 'add-finalizer') return addFinalizer(objects, WorkspaceTemplate, template, TEMPLATE_FINALIZER)
      return removeFinalizer(objects, WorkspaceTemplate, template, TEMPLATE_FINALIZER)
    },
    status: statusOf,
  }
}

function templateKeys(changed: Projected<AnyObject>) {
  return templateValues(changed).map((text) => {
    const [namespace = '', name = ''] = text.split('/')
    return { namespace, name }
  })
}

/** Most of what an apply says of itself changes neither how many there are nor how many are behind. */
function isCountedAlike(now: Projected<AnyObject>, before: Projected<AnyObject>): boolean {
  const counted = (object: AnyObject) => {
    const { appliedHash, templateGeneration } = (object as WorkspaceTemplateApply).status ?? {}
    return [...templateValues(object), appliedHash !== undefined, templateGeneration]
  }
  return jsonEqual(counted(now), counted(before))
}

function observe(cache: Cache, template: WorkspaceTemplate, changedAt: Map<string, number>, nowMs: number): Observed {
  const value = refText(template.metadata, template.metadata.namespace)
  const counting = changedAt.get(value)
  // Each of a thousand applies that are made wakes us: they are gone through when the numbers are due, not each time.
  if (counting !== undefined && nowMs - counting < COUNTING_MS && isHeld(template))
    return { template, isCounting: true, users: [], updating: 0 }
  const applies = usersOfTemplate(cache, template)
  const updating = applies.filter((apply) => isBehind(apply, template)).length
  const { usedBy, updating: told } = template.status ?? {}
  const isTold = usedBy === applies.length && told === updating
  const since = counting ?? nowMs
  const isCounting = !isTold && applies.length > MANY && nowMs - since < COUNTING_MS
  if (isCounting) changedAt.set(value, since)
  else changedAt.delete(value)
  return {
    template,
    isCounting,
    users: applies.map(({ metadata: { name, namespace } }) => ({ name, ...(namespace ? { namespace } : {}) })),
    updating,
  }
}

/** In use, as far as is known, and meant to stay. */
function isHeld({ metadata }: WorkspaceTemplate): boolean {
  return metadata.deletionTimestamp === undefined && (metadata.finalizers?.includes(TEMPLATE_FINALIZER) ?? false)
}

/** Held only while it is used, so that a template nobody uses can go at once. */
export function decide({ template, users, isCounting }: Observed): Decision<Action> {
  const hasFinalizer = template.metadata.finalizers?.includes(TEMPLATE_FINALIZER) ?? false
  if (!template.metadata.deletionTimestamp) {
    if (users.length > 0 && !hasFinalizer) return act({ do: 'add-finalizer' })
    return isCounting ? waitingAMoment('Counting', 'Counts its users', COUNTING_MS / 1000) : done
  }
  if (users.length === 0) return hasFinalizer ? act({ do: 'remove-finalizer' }) : done
  const more = users.length > NAMED ? ` and ${users.length - NAMED} more` : ''
  return waiting('InUse', `It is deleted when nothing uses it any more: ${names(users.slice(0, NAMED))}${more}`)
}

function statusOf({ users, updating }: Observed): StatusReport {
  return { fields: { usedBy: users.length, updating } }
}
