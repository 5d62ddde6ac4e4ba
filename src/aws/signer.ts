// Signatures (AWS Signature Version 4) by the SDK's own signer, which is loaded on first use: a manager that talks to no
// AWS never pays for it.
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import type { AwsKeys } from './port.ts'

/** The hash the signer wants, on node:crypto. */
class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', toBytes(secret))
  }

  update(data: Uint8Array | string): void {
    this.#hash.update(data)
  }

  reset(): void {
    throw new Error('A hash is used once')
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}

function toBytes(secret: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof secret === 'string') return Buffer.from(secret, 'utf8')
  if (ArrayBuffer.isView(secret)) return Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength)
  return Buffer.from(secret)
}

interface SignableRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly host: string
  /** Encoded, `/` unless given. */
  readonly path?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface SigningPlace {
  readonly keys: AwsKeys
  readonly service: string
  readonly region: string
  readonly nowMs: number
}

/** The headers of the request with the signature among them. */
export async function signRequest(request: SignableRequest, place: SigningPlace): Promise<Record<string, string>> {
  const signer = await signerFor(place)
  const signed = await signer.sign(toHttp(request), { signingDate: new Date(place.nowMs) })
  return signed.headers
}

/** The whole URL with the signature in its query. */
export async function presignUrl(request: SignableRequest, place: SigningPlace, seconds: number): Promise<string> {
  const signer = await signerFor(place)
  const signed = await signer.presign(toHttp(request), { signingDate: new Date(place.nowMs), expiresIn: seconds })
  const query = Object.entries(signed.query ?? {})
    .map(([name, value]) => `${toQuery(name)}=${toQuery(String(value))}`)
    .join('&')
  return `https://${request.host}/?${query}`
}

async function signerFor({ keys, service, region }: SigningPlace) {
  const { SignatureV4 } = await import('@smithy/signature-v4')
  return new SignatureV4({ credentials: keys, region, service, sha256: Sha256 })
}

function toHttp({ method, host, path = '/', query = {}, headers = {}, body }: SignableRequest) {
  return {
    method,
    protocol: 'https:',
    hostname: host,
    path,
    query: { ...query },
    headers: { host, ...headers },
    ...(body === undefined ? {} : { body }),
  }
}

const toQuery = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
