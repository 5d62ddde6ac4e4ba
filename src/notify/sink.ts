// Where the notifications of a namespace go: the Secret capt-notification in it, else the one that the manager was started
// with. The address is a secret too (it holds the token of a Slack webhook): it is never logged.
import { type Key, keyText, type Secret, SecretKind } from '#api'
import { isKubeError, type Objects } from '#kube'
import type { Clock } from '#lib'

const NOTIFICATION_SECRET = 'capt-notification'

export interface Sink {
  readonly url: string
  readonly signingKey: string | undefined
  /** The sink may be in a private network: its address was chosen by who runs the manager. */
  readonly allowsPrivate: boolean
}

/** Why a Secret is no sink. */
interface NoSink {
  readonly fault: string
}

export interface SinkOptions {
  readonly objects: Objects
  readonly clock: Clock
  /** For namespaces without a Secret of their own. */
  readonly fallback?: Key | undefined
  /** Tenants may name addresses of private networks: where there are none but oneself. */
  readonly trustsTenants: boolean
}

/** A Secret is read again after this time. */
const FRESH_MS = 60_000
const MAX_KNOWN = 1_000

export function createSinks({ objects, clock, fallback, trustsTenants }: SinkOptions) {
  const known = new Map<string, { readonly sink: Sink | NoSink | undefined; readonly atMs: number }>()

  async function read(key: Key, allowsPrivate: boolean): Promise<Sink | NoSink | undefined> {
    const name = keyText(key)
    const cached = known.get(name)
    if (cached && clock.now() - cached.atMs < FRESH_MS) return cached.sink
    const secret = await objects.get<Secret>(SecretKind, key).catch((error: unknown) => {
      if (isKubeError(error, 'NotFound', 'Forbidden')) return undefined
      throw error
    })
    const sink = secret && toSink(secret, allowsPrivate)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(name, { sink, atMs: clock.now() })
    return sink
  }

  return async (namespace: string): Promise<Sink | NoSink | undefined> =>
    (await read({ namespace, name: NOTIFICATION_SECRET }, trustsTenants)) ?? (fallback && (await read(fallback, true)))
}

function toSink({ data = {}, metadata }: Secret, allowsPrivate: boolean): Sink | NoSink {
  const text = (key: string) => (data[key] ? Buffer.from(data[key], 'base64').toString('utf8').trim() : undefined)
  const name = `Secret ${metadata.namespace}/${metadata.name}`
  const url = text('url')
  if (url === undefined) return { fault: `${name} has no value url` }
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined
  const allowed = allowsPrivate ? ['https:', 'http:'] : ['https:']
  if (protocol === undefined || !allowed.includes(protocol))
    return { fault: `the url in ${name} is not an ${allowed.map((one) => one.slice(0, -1)).join(' or ')} address` }
  return { url, signingKey: text('signingKey'), allowsPrivate }
}
