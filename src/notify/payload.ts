// The one format of a notification: a text that Slack and its like show, and the same as fields. Signed with the time, so
// that a receiver can refuse what it has seen before. Pure.
import { createHmac } from 'node:crypto'
import { toTimestamp } from '#lib'
import type { Notice } from './notice.ts'

export interface Payload {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

const TITLES: Readonly<Record<Notice['type'], string>> = {
  StageFailed: 'An add-on is failing',
  RunFailed: 'A Terraform run failed',
  ApprovalNeeded: 'A plan waits for approval',
  DriftDetected: 'Drift was found',
  DeletionStuck: 'A deletion needs a person',
  Recovered: 'Recovered',
}

/** `id` stays the same over retries. */
export function toPayload(notice: Notice, id: string, nowMs: number, signingKey: string | undefined): Payload {
  const { type, namespace, cluster, object, reason, message } = notice
  const where = cluster === undefined ? `${object.kind} ${object.name}` : `cluster ${cluster}`
  const text = `${TITLES[type]}: ${where} in namespace ${namespace}\n${object.kind} ${object.name}: ${message}`
  const { uid: _uid, ...reference } = object
  const time = toTimestamp(nowMs)
  const body = JSON.stringify({
    text,
    capt: {
      version: 1,
      id,
      type,
      time,
      namespace,
      ...(cluster ? { cluster } : {}),
      object: reference,
      reason,
      message,
    },
  })
  const headers = { 'content-type': 'application/json', 'user-agent': 'capt', 'x-capt-id': id, 'x-capt-time': time }
  if (signingKey === undefined) return { body, headers }
  const signature = createHmac('sha256', signingKey).update(`${time}.${body}`).digest('hex')
  return { body, headers: { ...headers, 'x-capt-signature': `sha256=${signature}` } }
}
