// A path into an object as people write it in a health check: status.phase, status.conditions[type=Ready].status.
import { CaptError, isPlainObject, ownValue } from '#lib'

type Step = { readonly field: string } | { readonly where: string; readonly is: string } | { readonly index: number }

const STEP = /\.?([A-Za-z0-9_/-]+)|\[(\d+)\]|\[([A-Za-z0-9_]+)=([^\]]*)\]/y

export function parsePath(path: string): readonly Step[] {
  const steps: Step[] = []
  let at = 0
  while (at < path.length) {
    STEP.lastIndex = at
    const match = STEP.exec(path)
    if (!match || match[0] === '') throw invalid(path, at)
    const [, field, index, where, is] = match
    if (field !== undefined && steps.length > 0 && !match[0].startsWith('.')) throw invalid(path, at)
    steps.push(
      field !== undefined ? { field } : index !== undefined ? { index: Number(index) } : { where: where!, is: is! },
    )
    at = STEP.lastIndex
  }
  if (steps.length === 0) throw invalid(path, 0)
  return steps
}

/** Undefined when there is nothing at the path. */
export function readPath(object: unknown, path: string): unknown {
  return parsePath(path).reduce<unknown>((value, step) => {
    if ('field' in step) return isPlainObject(value) ? ownValue(value, step.field) : undefined
    if (!Array.isArray(value)) return undefined
    if ('index' in step) return value[step.index]
    return value.find((item) => isPlainObject(item) && String(ownValue(item, step.where)) === step.is)
  }, object)
}

const invalid = (path: string, at: number) =>
  new CaptError('CAPT_HEALTH_PATH_INVALID', `"${path}" is not a path: it ends making sense at character ${at + 1}`, {
    hint: 'Write it like status.phase or status.conditions[type=Ready].status',
  })
