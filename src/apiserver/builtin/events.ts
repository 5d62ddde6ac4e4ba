// Events exist under two addresses, core v1 and events.k8s.io/v1, with other names for the same facts. They are stored
// once, in the core form, so that `kubectl describe` sees what a controller wrote through the newer API.
import type { ApiObject } from '../object.ts'

const RENAMED: readonly (readonly [core: string, newer: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
]

export function toCoreEvent(event: ApiObject): ApiObject {
  return rename(event, 'v1', (core, newer) => [newer, core])
}

export function toNewerEvent(event: ApiObject): ApiObject {
  return rename(event, 'events.k8s.io/v1', (core, newer) => [core, newer])
}

function rename(
  event: ApiObject,
  apiVersion: string,
  order: (core: string, newer: string) => [string, string],
): ApiObject {
  const names = new Map(RENAMED.map(([core, newer]) => order(core, newer)))
  const fields = Object.entries(event).map(([field, value]) => [names.get(field) ?? field, value])
  return { ...(Object.fromEntries(fields) as ApiObject), apiVersion, kind: 'Event' }
}
