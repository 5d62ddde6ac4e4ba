// The error about an object that does not exist: which one, and how to find those that do.
import { CaptError } from '#lib'
import type { KindRef } from './object.ts'

export function notFound(
  { kind, plural }: Pick<KindRef, 'kind' | 'plural'>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): CaptError {
  return new CaptError('CAPT_KUBE_NOT_FOUND', `There is no ${kind} "${name}" in namespace ${namespace}`, {
    hint: `capt get ${plural} -A shows where there are some`,
  })
}
