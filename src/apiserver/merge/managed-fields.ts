// Who set which field. (First form: filled in below.)
import type { ApiObject } from '../object.ts'
import type { WriteRequest } from '../write/context.ts'

export function trackUpdate(_request: WriteRequest, _old: ApiObject | undefined, _next: ApiObject): void {}
