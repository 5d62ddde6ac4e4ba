// Who decided about a plan: the server writes the name of the user itself, whatever the request says.
import { APPROVED_BY_ANNOTATION, APPROVED_PLAN_ANNOTATION, DENIED_BY_ANNOTATION, DENIED_PLAN_ANNOTATION } from '#api'
import type { ApiObject } from '../object.ts'
import { ADMIN } from '../present/reviews.ts'

const STAMPS: readonly (readonly [plan: string, by: string])[] = [
  [APPROVED_PLAN_ANNOTATION, APPROVED_BY_ANNOTATION],
  [DENIED_PLAN_ANNOTATION, DENIED_BY_ANNOTATION],
]

/** Changes `next` in place. */
export function stampDecisions(old: ApiObject, next: ApiObject): void {
  for (const [plan, by] of STAMPS) {
    const { annotations = {} } = next.metadata
    const isSame = [plan, by].every((name) => annotations[name] === old.metadata.annotations?.[name])
    if (isSame || annotations[plan] === undefined) continue
    next.metadata.annotations = { ...annotations, [by]: ADMIN.username }
  }
}
