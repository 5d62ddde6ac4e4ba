// The controller for WorkspaceTemplate: holds the deletion of a template in use, and reports how many applies use it and
// how many have not taken its last change.
import { type AnyObject, TEMPLATE_FINALIZER, toKey, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
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
  waitingInGracePeriod,
} from '#runtime'
import { BY_TEMPLATE, refText, templateValues, usersOfTemplate } from '../workspace-apply/dependencies.ts'
import { isBehind } from '../workspace-apply/rollout.ts'

interface Observed {
  readonly template: WorkspaceTemplate
  readonly users: readonly { readonly name: string; readonly namespace?: string }[]
  readonly updating: number
  /** The counts changed within the last seconds; the status is not written yet. */
  readonly isCounting?: boolean
}

interface Action {
  readonly do: 'add-finalizer' | 'remove-finalizer'
}

/** Users that a message lists by name. */
const NAMED = 5
/** With more users than these the counts are written every few seconds only. */
const MANY = 10
const COUNTING_MS = 5000

export function workspaceTemplateController(): Controller<WorkspaceTemplate, Observed, Action> {
  const changedAt = new Map<string, number>()
  return {
    name: 'workspacetemplate',
    kind: WorkspaceTemplate,
    wakes: [{ kind: WorkspaceTemplateApply, toKeys: templateKeys, ignores: isCountedAlike }],
    indexes: [{ kind: WorkspaceTemplateApply, name: BY_TEMPLATE, values: templateValues }],
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
  return templateValues(changed).map(toKey)
}

/** Watch predicate: ignores changes of an apply that do not change the counts. */
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
  // Each of a thousand new applies triggers a reconcile: they are counted when the counts are due, not every time.
  if (counting !== undefined && nowMs - counting < COUNTING_MS && isHeld(template))
    return { template, isCounting: true, users: [], updating: 0 }
  const applies = usersOfTemplate(cache, template)
  const updating = applies.filter((apply) => isBehind(apply, template)).length
  const { usedBy, updating: reported } = template.status ?? {}
  const isReported = usedBy === applies.length && reported === updating
  const since = counting ?? nowMs
  const isCounting = !isReported && applies.length > MANY && nowMs - since < COUNTING_MS
  if (isCounting) changedAt.set(value, since)
  else changedAt.delete(value)
  return {
    template,
    isCounting,
    users: applies.map(({ name, namespace }) => ({ name, ...(namespace ? { namespace } : {}) })),
    updating,
  }
}

/** In use, and not being deleted. */
function isHeld({ metadata }: WorkspaceTemplate): boolean {
  return metadata.deletionTimestamp === undefined && (metadata.finalizers?.includes(TEMPLATE_FINALIZER) ?? false)
}

/** The finalizer is set only while the template is used, so that an unused one is deleted at once. */
export function decide({ template, users, isCounting }: Observed): Decision<Action> {
  const hasFinalizer = template.metadata.finalizers?.includes(TEMPLATE_FINALIZER) ?? false
  if (!template.metadata.deletionTimestamp) {
    if (users.length > 0 && !hasFinalizer) return act({ do: 'add-finalizer' })
    return isCounting ? waitingInGracePeriod('Counting', 'Counts its users', COUNTING_MS / 1000) : done
  }
  if (users.length === 0) return hasFinalizer ? act({ do: 'remove-finalizer' }) : done
  const more = users.length > NAMED ? ` and ${users.length - NAMED} more` : ''
  const todo = 'Let them, or the clusters they belong to, name another template, or delete them'
  return waiting('InUse', `These applies use it: ${names(users.slice(0, NAMED))}${more}. ${todo}`)
}

function statusOf({ users, updating }: Observed): StatusReport {
  return { fields: { usedBy: users.length, updating } }
}
