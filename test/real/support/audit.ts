// What a kube-apiserver wrote down about its requests: who, when, what, on which object, with which answer.
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import type { Kube } from './lab.ts'

export interface Request {
  readonly user: string
  readonly agent: string
  readonly verb: string
  readonly resource: string
  readonly group: string
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly path: string
  readonly code: number
  /** When the server received it, and when it had answered. */
  readonly at: number
  readonly until: number
}

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

export const isWrite = (request: Request): boolean => WRITES.has(request.verb)

/** Where the log ends now: pass it to `requestsSince` to hear only of what comes after. */
export function auditMark(kube: Kube): number {
  return kube.auditLog && existsSync(kube.auditLog) ? statSync(kube.auditLog).size : 0
}

/** Requests that were answered; of a long-running one (a watch) also its beginning counts, once. */
export function requestsSince(kube: Kube, mark = 0): Request[] {
  if (!kube.auditLog) throw new Error('this control plane was started without an audit log')
  const size = statSync(kube.auditLog).size
  const bytes = Buffer.alloc(Math.max(0, size - mark))
  const file = openSync(kube.auditLog, 'r')
  readSync(file, bytes, 0, bytes.length, mark)
  closeSync(file)
  const text = bytes.toString('utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => toRequest(JSON.parse(line)))
}

// biome-ignore lint/suspicious/noExplicitAny: an audit event as the server writes it
function toRequest(event: any): Request[] {
  const isLong = event.verb === 'watch'
  if (event.stage !== (isLong ? 'ResponseStarted' : 'ResponseComplete')) return []
  const { objectRef = {} } = event
  return [
    {
      user: event.user?.username ?? '',
      agent: event.userAgent ?? '',
      verb: event.verb,
      resource: objectRef.resource ?? '',
      group: objectRef.apiGroup ?? '',
      namespace: objectRef.namespace ?? '',
      name: objectRef.name ?? '',
      subresource: objectRef.subresource ?? '',
      path: event.requestURI ?? '',
      code: event.responseStatus?.code ?? 0,
      at: Date.parse(event.requestReceivedTimestamp),
      until: Date.parse(event.stageTimestamp),
    },
  ]
}

/** `3 patch secrets default/demo-kubeconfig by capt`, most frequent first; for messages. */
export function describeRequests(requests: readonly Request[]): string {
  const counts = new Map<string, number>()
  for (const { verb, resource, subresource, namespace, name, user, code } of requests) {
    const what = `${verb} ${resource}${subresource ? `/${subresource}` : ''} ${namespace}/${name} by ${user}: ${code}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return [...counts]
    .sort((one, other) => other[1] - one[1])
    .slice(0, 40)
    .map(([what, count]) => `${count} ${what}`)
    .join('\n')
}
