// One request on its way through a realm, with what every handler needs to know about it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RealmState } from '../realm.ts'
import type { Form } from './negotiate.ts'

export interface Exchange {
  readonly realm: RealmState
  readonly method: string
  /** Decoded parts of the path below the realm. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
  readonly form: Form
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly warnings: string[]
}
