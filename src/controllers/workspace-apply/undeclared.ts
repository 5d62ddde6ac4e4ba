// Values that reach no variable: a misspelt key of spec.values would otherwise be ignored in silence.
import { conditionOf } from '#api'
import { undeclaredValues } from '#engine'
import type { ConditionDraft } from '#runtime'
import { WANTED_ANNOTATION } from '../cluster/apply.ts'
import type { Observed } from './observe.ts'

const TYPE = 'UndeclaredValues'
/** Facts that a cluster offers to whichever template needs them. */
const OFFERED = new Set(['private_subnets', 'public_subnets'])

/** The condition, written only where it was ever true, and whether it says something new. */
export function undeclaredCondition(seen: Observed): { readonly draft?: ConditionDraft; readonly isNew: boolean } {
  const { apply } = seen
  const before = conditionOf(apply, TYPE)
  const sentences = undeclaredOf(seen)
  if (sentences === undefined) return { isNew: false }
  if (sentences.length === 0) {
    const draft: ConditionDraft = { type: TYPE, status: 'False', reason: 'AllDeclared', message: '' }
    return before ? { draft, isNew: false } : { isNew: false }
  }
  const message = `WorkspaceTemplate ${apply.spec.templateRef.name} declares no variable for ${sentences.join(', ')}: no effect`
  const draft: ConditionDraft = { type: TYPE, status: 'True', reason: 'VariableUndeclared', message }
  return { draft, isNew: before?.status !== 'True' || before.message !== message }
}

/** Undefined while nobody can tell: the template is gone, or its module was not fetched yet. */
function undeclaredOf({ apply, template, view }: Observed): readonly string[] | undefined {
  if (!template) return undefined
  const isOffer = apply.metadata.annotations?.[WANTED_ANNOTATION] !== undefined
  const names = Object.keys(apply.spec.values ?? {}).filter((name) => !(isOffer && OFFERED.has(name)))
  if (names.length === 0) return []
  const warned = view.record?.run?.undeclared ?? []
  const found =
    undeclaredValues(template, names) ??
    names.filter((name) => warned.includes(name)).map((name) => ({ name, meant: undefined }))
  return found.map(({ name, meant }) => `spec.values.${name}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`)
}
