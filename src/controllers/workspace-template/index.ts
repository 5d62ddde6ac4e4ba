// The controller for WorkspaceTemplate: a template in use is not deleted from under its applies, and it says how many
// there are and how many a change of it has not reached yet.
import { type AnyObject, TEMPLATE_FINALIZER, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import type { Cache, Projected } from '#kube'
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
} from '#runtime'
import { BY_TEMPLATE, refText, templateValues } from '../workspace-apply/dependencies.ts'
import { isBehind } from '../workspace-apply/rollout.ts'

export interface Observed {
  readonly template: WorkspaceTemplate
  readonly users: readonly { readonly name: string; readonly namespace?: string }[]
  readonly updating: number
}

export interface Action {
  readonly do: 'add-finalizer' | 'remove-finalizer'
}

/** As many users as a message names; the count says the rest. */
const NAMED = 5

export function workspaceTemplateController(): Controller<WorkspaceTemplate, Observed, Action> {
  return {
    name: 'workspacetemplate',
    kind: WorkspaceTemplate,
    wakes: [{ kind: WorkspaceTemplateApply, toKeys: templateKeys }],
    indexes: [{ kind: WorkspaceTemplateApply, name: BY_TEMPLATE, values: templateValues }],
    observe: async ({ cache }, template) => observe(cache, template),
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

function observe(cache: Cache, template: WorkspaceTemplate): Observed {
  const value = refText(template.metadata, template.metadata.namespace)
  const applies = cache.list<WorkspaceTemplateApply>(WorkspaceTemplateApply, { index: BY_TEMPLATE, value })
  return {
    template,
    users: applies.map(({ metadata: { name, namespace } }) => ({ name, ...(namespace ? { namespace } : {}) })),
    updating: applies.filter((apply) => isBehind(apply, template)).length,
  }
}

/** Held only while it is used, so that a template nobody uses can go at once. */
export function decide({ template, users }: Observed): Decision<Action> {
  const isHeld = template.metadata.finalizers?.includes(TEMPLATE_FINALIZER) ?? false
  if (!template.metadata.deletionTimestamp) return users.length > 0 && !isHeld ? act({ do: 'add-finalizer' }) : done
  if (users.length === 0) return isHeld ? act({ do: 'remove-finalizer' }) : done
  const more = users.length > NAMED ? ` and ${users.length - NAMED} more` : ''
  return waiting('InUse', `It is deleted when nothing uses it any more: ${names(users.slice(0, NAMED))}${more}`)
}

function statusOf({ users, updating }: Observed): StatusReport {
  return { fields: { usedBy: users.length, updating } }
}
