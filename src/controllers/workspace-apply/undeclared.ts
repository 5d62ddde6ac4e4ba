// Reports values that reach no variable: a misspelt key of spec.values would otherwise be ignored silently.
import { conditionOf, fieldOfVariable } from '#api'
import { undeclaredValues } from '#engine'
import type { ConditionDraft } from '#runtime'
import { REQUEST_HASH_ANNOTATION } from '../shared/apply.ts'
import type { Observed } from './observe.ts'

const TYPE = 'UndeclaredValues'
/** Passed to every control plane template, whether it declares them or not. */
const OFFERED = new Set(['private_subnets', 'public_subnets'])

/** The condition, written only where it was ever true, and whether it says something new. */
export function undeclaredCondition(observed: Observed): { readonly draft?: ConditionDraft; readonly isNew: boolean } {
  const { apply } = observed
  const before = conditionOf(apply, TYPE)
  const sentences = undeclaredOf(observed)
  if (sentences === undefined) return { isNew: false }
  if (sentences.length === 0) {
    const draft: ConditionDraft = { type: TYPE, status: 'False', reason: 'AllDeclared', message: '' }
    return before ? { draft, isNew: false } : { isNew: false }
  }
  const message = `WorkspaceTemplate ${apply.spec.templateRef.name} declares no variable for ${sentences.join(', ')}: no effect`
  const draft: ConditionDraft = { type: TYPE, status: 'True', reason: 'VariableUndeclared', message }
  return { draft, isNew: before?.status !== 'True' || before.message !== message }
}

/** Undefined while it is unknown: the template is gone, or its module was not fetched yet. */
function undeclaredOf({ apply, template, view }: Observed): readonly string[] | undefined {
  if (!template) return undefined
  const isOffer = apply.metadata.annotations?.[REQUEST_HASH_ANNOTATION] !== undefined
  const names = Object.keys(apply.spec.values ?? {}).filter((name) => !(isOffer && OFFERED.has(name)))
  if (names.length === 0) return []
  const warned = view.record?.run?.undeclared ?? []
  const found =
    undeclaredValues(template, names) ??
    names.filter((name) => warned.includes(name)).map((name) => ({ name, meant: undefined }))
  return found.map(({ name, meant }) => {
    const field = fieldOfVariable(apply, name) ?? `spec.values.${name}`
    return meant === undefined ? field : `${field} (did you mean ${meant}?)`
  })
}
