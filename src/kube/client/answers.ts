// Turns whatever a server answered into one error with a reason. Pure. A message names the object, the address and
// the next step; for Secrets the server's words are left out, because they may quote the value.
import type { KindRef } from '#api'
import { isPlainObject } from '#lib'
import { KubeError, type KubeErrorReason } from '../port.ts'

interface FailedAnswer {
  readonly status: number
  readonly contentType: string
  readonly retryAfter?: string | undefined
  readonly text: string
}

export interface Asked {
  /** What was tried: `get ConfigMap default/settings`. */
  readonly what: string
  readonly kind?: KindRef | undefined
  /** The server's address and where it was configured. */
  readonly address: string
  readonly origin: string
}

/** The parts of metav1.Status that we read. */
interface Status {
  readonly message: string
  readonly reason: string
  readonly details: { readonly name?: string; readonly kind?: string; readonly retryAfterSeconds?: number }
  readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[]
}

const BY_CODE: Readonly<Record<number, KubeErrorReason>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
}

const BAD_REQUESTS = new Set([400, 405, 406, 413, 415])

export function toKubeError(answer: FailedAnswer, asked: Asked): KubeError {
  const status = toStatus(answer.text)
  if (!status) return withoutStatus(answer, asked)
  const reason = reasonOf(answer.status, status)
  return new KubeError(reason, `${asked.what}: ${wordsOf(status, reason, asked)}`, {
    status: answer.status,
    at: asked.address,
    hint: hintFor(reason, asked),
    retryAfterSeconds: parseRetryAfter(answer.retryAfter) ?? status.details.retryAfterSeconds,
  })
}

/** A Status inside a watch (ERROR event) or in the body of a refusal. */
export function toStatus(body: unknown): Status | undefined {
  const value = typeof body === 'string' ? parseOrUndefined(body) : body
  if (!isPlainObject(value) || value['kind'] !== 'Status') return undefined
  const details = isPlainObject(value['details']) ? value['details'] : {}
  const causes = Array.isArray(details['causes']) ? details['causes'].filter(isPlainObject) : []
  return {
    message: textOf(value['message']),
    reason: textOf(value['reason']),
    details: {
      ...(typeof details['name'] === 'string' ? { name: details['name'] } : {}),
      ...(typeof details['kind'] === 'string' ? { kind: details['kind'] } : {}),
      ...(typeof details['retryAfterSeconds'] === 'number' ? { retryAfterSeconds: details['retryAfterSeconds'] } : {}),
    },
    causes: causes.map((cause) => ({
      reason: textOf(cause['reason']),
      message: textOf(cause['message']),
      field: textOf(cause['field']),
    })),
  }
}

/** Seconds, or an HTTP date seen from `nowMs`. */
function parseRetryAfter(header: string | undefined, nowMs = Date.now()): number | undefined {
  if (header === undefined || header === '') return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000))
}

export function badAnswer(asked: Asked, problem: string, status?: number, cause?: unknown): KubeError {
  return new KubeError('BadAnswer', `${asked.what}: ${asked.address} ${problem}`, {
    at: asked.address,
    hint: `check clusters[].cluster.server of ${asked.origin}: it must be the address of a Kubernetes API server`,
    ...(status === undefined ? {} : { status }),
    ...(cause === undefined ? {} : { cause }),
  })
}

function reasonOf(code: number, status: Status): KubeErrorReason {
  if (code === 404) return isAboutAnObject(status) ? 'NotFound' : 'KindNotServed'
  const hasCause = (reason: string) => status.causes.some((cause) => cause.reason === reason)
  if (code === 403 && hasCause('NamespaceTerminating')) return 'NamespaceTerminating'
  if (code === 429 && hasCause('DisruptionBudget')) return 'DisruptionBudget'
  if (code === 409 && status.reason === 'AlreadyExists') return 'AlreadyExists'
  if (code >= 500 && hasCause('ResourceVersionTooLarge')) return 'Expired'
  if (BAD_REQUESTS.has(code)) return 'Invalid'
  return BY_CODE[code] ?? 'ServerError'
}

function isAboutAnObject(status: Status): boolean {
  return status.details.name !== undefined && !status.message.includes('could not find the requested resource')
}

function wordsOf(status: Status, reason: KubeErrorReason, asked: Asked): string {
  const isSecret = asked.kind?.group === '' && asked.kind.kind === 'Secret'
  if (reason === 'KindNotServed') return `the server does not serve ${asked.kind?.kind ?? 'this path'}`
  if (isSecret && (reason === 'Invalid' || reason === 'ServerError')) {
    const fields = status.causes.map((cause) => [cause.field, cause.reason].filter(Boolean).join(': '))
    return `refused (${fields.length > 0 ? fields.join('; ') : status.reason})`
  }
  if (reason === 'Invalid' && status.causes.length > 0) {
    return status.causes.map((cause) => [cause.field, cause.message].filter(Boolean).join(': ')).join('; ')
  }
  return status.message || status.reason || 'refused without a word'
}

function hintFor(reason: KubeErrorReason, asked: Asked): string {
  const kind = asked.kind?.kind ?? 'the path'
  switch (reason) {
    case 'NotFound':
      return 'create it first, or check name and namespace'
    case 'KindNotServed':
      return `install the CustomResourceDefinition of ${kind}, or check that its version is served`
    case 'AlreadyExists':
      return 'choose another name, or change the object that is there'
    case 'Conflict':
      return 'somebody else changed the object: read it again and repeat'
    case 'Invalid':
      return 'correct the fields that the message names'
    case 'Unauthorized':
      return `the server does not know the credentials of ${asked.origin}: they are missing, expired or of another cluster`
    case 'Forbidden':
      return 'grant this verb to the user or service account in a Role and its binding'
    case 'NamespaceTerminating':
      return 'the namespace is being deleted: use another one, or wait until it is gone'
    case 'TooManyRequests':
      return 'the server is busy: repeat after the time it names'
    case 'DisruptionBudget':
      return 'wait until more pods are healthy, or change the PodDisruptionBudget'
    case 'Expired':
      return 'the version asked for is too old: list again'
    default:
      return 'repeat; when it stays, read the log of the API server'
  }
}

function withoutStatus(answer: FailedAnswer, asked: Asked): KubeError {
  const { status } = answer
  const options = { status, at: asked.address, retryAfterSeconds: parseRetryAfter(answer.retryAfter) }
  if (status === 429 || status >= 500) {
    const reason = status === 429 ? 'TooManyRequests' : 'ServerError'
    return new KubeError(reason, `${asked.what}: ${asked.address} answered ${status}`, {
      ...options,
      hint: hintFor(reason, asked),
    })
  }
  if (status >= 300 && status < 400)
    return badAnswer(asked, `answered ${status}, a redirect, which is not followed`, status)
  if (isHtml(answer)) return badAnswer(asked, `answered ${status} with an HTML page`, status)
  if (status === 404) {
    return new KubeError(
      'KindNotServed',
      `${asked.what}: the server does not serve ${asked.kind?.kind ?? 'this path'}`,
      {
        ...options,
        hint: hintFor('KindNotServed', asked),
      },
    )
  }
  const reason = BY_CODE[status]
  if (!reason) return badAnswer(asked, `answered ${status} without a Kubernetes Status`, status)
  return new KubeError(reason, `${asked.what}: ${asked.address} answered ${status}`, {
    ...options,
    hint: hintFor(reason, asked),
  })
}

export function isHtml(answer: { readonly contentType: string; readonly text: string }): boolean {
  return /\bhtml\b/i.test(answer.contentType) || /^\s*<(?:!doctype|html)\b/i.test(answer.text.slice(0, 200))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
