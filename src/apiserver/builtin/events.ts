// Events exist under two addresses, core v1 and events.k8s.io/v1, with other names for the same facts. They are stored
// once, in the core form, so that `kubectl describe` sees what a controller wrote through the newer API.
import { type ApiObject, textAt } from '../object.ts'

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

/**
 * Events of the newer API have no timestamps under the old names, and `kubectl get events --sort-by=.lastTimestamp` finds
 * nothing to sort by. They are served with the times that are known.
 */
export function toServedCoreEvent(event: ApiObject): ApiObject {
  if (event['lastTimestamp'] || !event['eventTime']) return event
  const first = textAt(event, 'firstTimestamp') || inSeconds(textAt(event, 'eventTime'))
  const last = textAt(event, 'lastTimestamp') || inSeconds(textAt(event, 'series', 'lastObservedTime')) || first
  return { ...event, firstTimestamp: first, lastTimestamp: last }
}

const inSeconds = (time: string): string => time.replace(/\.\d+Z$/, 'Z')

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
