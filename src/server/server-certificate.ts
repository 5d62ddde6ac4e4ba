// Where a TLS server gets its certificate: files that are mounted and replaced while we run, or one we make
// ourselves and renew before it ends.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:https'
import { isIP } from 'node:net'
import {
  CaptError,
  type Clock,
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
  messageOf,
  type Timer,
} from '#lib'

/** Undefined as long as there is nothing new since the last call. The first call always gives a certificate or throws. */
export type CertificateSource = () => KeyedCertificate | undefined

/** An address that only this machine reaches; a server on any other one needs a certificate. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

const SELF_SIGNED_DAYS = 365
const RENEW_BEFORE_MS = 30 * 86_400_000

export function selfSigned(names: readonly string[], ips: readonly string[], clock: Clock): CertificateSource {
  let validTo = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock.now()
    if (validTo - now > RENEW_BEFORE_MS) return undefined
    const authority = createAuthority({ now, days: SELF_SIGNED_DAYS })
    const leaf = issueCertificate(authority, { names, ips, days: SELF_SIGNED_DAYS, now })
    validTo = new Date(new X509Certificate(leaf.certificate).validTo).getTime()
    return { certificate: leaf.certificate + authority.certificate, key: leaf.key }
  }
}

/** Files that are half replaced (a key that does not fit) are not taken; the next call looks again. */
export function fromFiles(certificateFile: string, keyFile: string): CertificateSource {
  let last: string | undefined
  return () => {
    try {
      const certificate = readFileSync(certificateFile, 'utf8')
      const key = readFileSync(keyFile, 'utf8')
      if (certificate + key === last) return undefined
      assertPair(certificate, key)
      last = certificate + key
      return { certificate, key }
    } catch (cause) {
      if (last !== undefined) return undefined
      throw new CaptError('CAPT_CERTIFICATE_UNREADABLE', `Cannot use ${certificateFile}: ${messageOf(cause)}`, {
        cause,
        hint: 'Mount a PEM certificate and its unencrypted private key, or leave both out for a self-signed one',
      })
    }
  }
}

const REFRESH_MS = 60_000

/** What a TLS server begins with. */
export function firstOf(source: CertificateSource): { readonly cert: string; readonly key: string } {
  const first = source()
  if (first) return { cert: first.certificate, key: first.key }
  throw new CaptError('CAPT_CERTIFICATE_UNREADABLE', 'The server has no certificate')
}

/** New connections get the new certificate within a minute; open ones go on. Returns what ends it. */
export function keepServing(
  server: Pick<Server, 'setSecureContext'>,
  source: CertificateSource,
  clock: Clock,
  onNew: () => void = () => {},
): () => void {
  let timer: Timer
  const check = (): void => {
    timer = clock.after(REFRESH_MS, check)
    const next = source()
    if (!next) return
    server.setSecureContext({ cert: next.certificate, key: next.key })
    onNew()
  }
  timer = clock.after(REFRESH_MS, check)
  return () => timer.cancel()
}

function assertPair(certificate: string, key: string): void {
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) {
    throw new Error('the private key belongs to another certificate')
  }
}
