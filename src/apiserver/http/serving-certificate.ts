// The certificate that the API serves with: issued by the authority of the data folder at every start, and again before it
// ends, so that a home which is never restarted goes on. New connections get the new one; open ones go on.
import { X509Certificate } from 'node:crypto'
import type { Server } from 'node:https'
import { type Authority, type Clock, issueCertificate, type KeyedCertificate } from '#lib'

const CERTIFICATE_DAYS = 825
const DAY_MS = 86_400_000
const RENEW_BEFORE_MS = 30 * DAY_MS

interface ServingCertificate {
  /** For the TLS server. */
  context(): { readonly key: string; readonly cert: string; readonly minVersion: 'TLSv1.2' }
  /** Looks every day; returns how to end it. */
  keepValid(server: Pick<Server, 'setSecureContext'>): () => void
}

export function servingCertificate(
  authority: () => Authority,
  ips: readonly string[],
  clock: Clock,
): ServingCertificate {
  const issue = () =>
    issueCertificate(authority(), {
      names: ['localhost'],
      ips,
      days: CERTIFICATE_DAYS,
      commonName: 'capt embedded API',
      now: clock.now(),
    })
  let leaf = issue()
  const context = () => ({ key: leaf.key, cert: leaf.certificate, minVersion: 'TLSv1.2' }) as const
  return {
    context,
    keepValid(server) {
      const check = () => {
        if (endOf(leaf) - clock.now() <= RENEW_BEFORE_MS) {
          leaf = issue()
          server.setSecureContext(context())
        }
        timer = clock.after(DAY_MS, check)
      }
      let timer = clock.after(DAY_MS, check)
      return () => timer.cancel()
    },
  }
}

const endOf = ({ certificate }: KeyedCertificate): number => new X509Certificate(certificate).validToDate.getTime()
