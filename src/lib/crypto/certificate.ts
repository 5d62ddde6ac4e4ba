// Certificates for our own loopback and in-cluster servers, made without openssl: a private authority and leaves signed
// by it (EC P-256, ECDSA with SHA-256). Only what TLS peers check is written; everything else is left out.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import { CaptError } from '../errors.ts'
import * as der from './der.ts'

/** Both parts in PEM. The key is PKCS#8 and secret. */
export interface KeyedCertificate {
  readonly certificate: string
  readonly key: string
}

export interface Authority extends KeyedCertificate {
  readonly name: string
}

interface AuthorityOptions {
  readonly name?: string
  readonly days?: number
  readonly now?: number
}

interface CertificateRequest {
  /** DNS names. The first one (or the first address) is the common name by default. */
  readonly names?: readonly string[]
  readonly ips?: readonly string[]
  readonly days: number
  readonly commonName?: string
  readonly now?: number
}

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
}
const SIGNATURE = der.sequence(der.oid(OID.ecdsaWithSha256))
const DAY_MS = 86_400_000
/** Clocks differ between machines: a certificate is already an hour old when it is born. */
const BACKDATE_MS = 3_600_000

export function createAuthority(options: AuthorityOptions = {}): Authority {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return selfSignedAuthority(options.name ?? 'capt authority', privateKey, options)
}

/** The same key and name with a new period: a client that trusts one certificate also trusts what the other signs. */
export function renewAuthority({ name, key }: Authority, options: Omit<AuthorityOptions, 'name'> = {}): Authority {
  return selfSignedAuthority(name, createPrivateKey(key), options)
}

function selfSignedAuthority(name: string, privateKey: KeyObject, options: AuthorityOptions): Authority {
  const { days = 3650, now = Date.now() } = options
  const publicKey = createPublicKey(privateKey)
  const subject = distinguishedName(name)
  const extensions = [
    extension(OID.basicConstraints, der.sequence(der.boolean(true), der.integer(0)), true),
    extension(OID.keyUsage, der.namedBits('keyCertSign', 'cRLSign'), true),
    extension(OID.subjectKeyId, der.octets(keyId(publicKey))),
  ]
  const certificate = signed({ subject, issuer: subject, publicKey, extensions, days, now }, privateKey)
  return { name, certificate, key: pemOf(privateKey) }
}

export function issueCertificate(authority: Authority, request: CertificateRequest): KeyedCertificate {
  const { names = [], ips = [], days, now = Date.now() } = request
  const commonName = request.commonName ?? names[0] ?? ips[0]
  if (commonName === undefined) {
    throw new CaptError('CAPT_INVALID', 'A certificate needs at least one name or address', {
      hint: 'give names, ips or commonName',
    })
  }
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const authorityId = der.contextPrimitive(0, keyId(createPublicKey(authority.certificate)))
  const alternatives = [
    ...names.map((name) => der.contextPrimitive(2, Buffer.from(name, 'ascii'))),
    ...ips.map((ip) => der.contextPrimitive(7, addressBytes(ip))),
  ]
  const extensions = [
    extension(OID.basicConstraints, der.sequence(), true),
    extension(OID.keyUsage, der.namedBits('digitalSignature'), true),
    extension(OID.extendedKeyUsage, der.sequence(der.oid(OID.serverAuth), der.oid(OID.clientAuth))),
    extension(OID.subjectKeyId, der.octets(keyId(publicKey))),
    extension(OID.authorityKeyId, der.sequence(authorityId)),
    ...(alternatives.length > 0 ? [extension(OID.subjectAltName, der.sequence(...alternatives))] : []),
  ]
  const certificate = signed(
    {
      subject: distinguishedName(commonName),
      issuer: distinguishedName(authority.name),
      publicKey,
      extensions,
      days,
      now,
    },
    authority.key,
  )
  return { certificate, key: pemOf(privateKey) }
}

interface Draft {
  readonly subject: Buffer
  readonly issuer: Buffer
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
  readonly days: number
  readonly now: number
}

function signed(draft: Draft, key: KeyObject | string): string {
  const version3 = der.context(0, der.integer(2))
  const body = der.sequence(
    version3,
    der.integer(serialNumber()),
    SIGNATURE,
    draft.issuer,
    der.sequence(der.time(draft.now - BACKDATE_MS), der.time(draft.now + draft.days * DAY_MS)),
    draft.subject,
    draft.publicKey.export({ type: 'spki', format: 'der' }),
    der.context(3, der.sequence(...draft.extensions)),
  )
  const signature = sign('sha256', body, key)
  const whole = der.sequence(body, SIGNATURE, der.bits(signature))
  const lines = whole.toString('base64').match(/.{1,64}/g)!
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function distinguishedName(commonName: string): Buffer {
  return der.sequence(der.set(der.sequence(der.oid(OID.commonName), der.utf8(commonName))))
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octets(value))
}

/** Sixteen random bytes, positive and never short. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes
}

function keyId(publicKey: KeyObject): Buffer {
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(spki).digest().subarray(0, 20)
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function addressBytes(ip: string): Buffer {
  if (isIPv4(ip)) return Buffer.from(ip.split('.').map(Number))
  if (isIP(ip) === 0 || ip.includes('.')) {
    throw new CaptError('CAPT_INVALID', `"${ip}" is not an IP address`, { hint: 'write it like 127.0.0.1 or ::1' })
  }
  const [head = '', tail] = ip.split('::')
  const words = (text: string) => (text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16)))
  const left = words(head)
  const right = tail === undefined ? [] : words(tail)
  const all = [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]))
}
