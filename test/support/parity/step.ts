// One request to both servers, and what is compared of the two answers. Requests that depend on what a server chose itself
// (a version, a continue token) name it in braces: it is filled in from what that server said before.
import type { Loose, RawAnswer } from '#testing'
import { MERGE } from '#testing'

/** What one server said earlier in the script, by the name a step gave it. */
export type Memory = Record<string, string>

export interface Ask {
  readonly method: string
  readonly path: string
  /** A function when it needs something the server chose itself. */
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
  readonly token?: string
}

export interface Step extends Ask {
  readonly title: string
  /** Asked again until this holds: background work takes its time. */
  readonly until?: (answer: RawAnswer) => boolean
  readonly remember?: (answer: RawAnswer) => Readonly<Memory>
  /** Narrows both answers to what can be compared. */
  readonly narrow?: (ours: Loose, real: Loose) => readonly [unknown, unknown]
  /** Asked of the real server alone and not compared: what it must have done by itself before the script goes on. */
  readonly realOnly?: boolean
  /** Opens a watch on the path, then asks these, and compares the events that came. */
  readonly meanwhile?: readonly Ask[]
  readonly events?: number
}

export interface Section {
  readonly title: string
  readonly steps: readonly Step[]
}

/** How the list of differences names a step. */
export const nameOf = (section: Pick<Section, 'title'>, step: Step): string =>
  `${section.title}: ${step.method} ${step.title}`

export const get = (title: string, path: string): Step => ({ title, method: 'GET', path })
export const post = (title: string, path: string, body: unknown): Step => ({ title, method: 'POST', path, body })
export const put = (title: string, path: string, body: unknown): Step => ({ title, method: 'PUT', path, body })
export const patch = (title: string, path: string, body: unknown, type = MERGE): Step => ({
  ...post(title, path, body),
  method: 'PATCH',
  type,
})
export const drop = (title: string, path: string, body?: unknown): Step => ({
  title,
  method: 'DELETE',
  path,
  ...(body === undefined ? {} : { body }),
})
/** Asked until it holds. */
export const settle = (title: string, path: string, until: (answer: RawAnswer) => boolean): Step => ({
  ...get(title, path),
  until,
})
export const watch = (title: string, path: string, events: number, meanwhile: readonly Ask[] = []): Step => ({
  ...get(title, path),
  events,
  meanwhile,
})
