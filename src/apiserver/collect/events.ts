// Events are news: an hour after the last time something happened they go, or they would fill the folder for ever.
import { parseJson } from '#lib'
import { type ApiObject, textAt } from '../object.ts'
import type { World } from '../write/context.ts'
import type { Steps } from './stored.ts'

const EVENTS = { group: '', resource: 'events' }
const KEEP_MS = 3_600_000

export function* forgetOldEvents({ store, clock }: World): Steps {
  const limit = clock.now() - KEEP_MS
  for (const row of store.scan(EVENTS)) {
    const event = parseJson(row.text) as ApiObject
    // The rows were read before the last pause: only what is still the same goes.
    const isCurrent = () => store.read(EVENTS, row.namespace, row.name)?.metadata.resourceVersion === `${row.version}`
    if (lastSeen(event) < limit && isCurrent()) store.remove(EVENTS, event)
    yield
  }
}

function lastSeen(event: ApiObject): number {
  const times = [
    event.metadata.creationTimestamp,
    textAt(event, 'lastTimestamp'),
    textAt(event, 'eventTime'),
    textAt(event, 'series', 'lastObservedTime'),
  ]
  return Math.max(...times.map((time) => Date.parse(time ?? '')).filter((epoch) => !Number.isNaN(epoch)))
}
