// The authority that signs the certificates of a data folder: made once and kept, so that a kubeconfig stays valid over
// restarts. In its last year its certificate is renewed for the same key, so kubeconfigs from before and after are both valid.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Authority, CaptError, type Clock, createAuthority, messageOf, renewAuthority, writeSecret } from '#lib'

const DAY_MS = 86_400_000
const RENEW_BEFORE_MS = 365 * DAY_MS

export interface KeptAuthority {
  current(): Authority
  /** Looks every day, and calls the listener after each renewal; returns how to end it. */
  keepValid(clock: Clock, onRenewed: () => void, log: (message: string, error: unknown) => void): () => void
}

export function openAuthority(file: string, now: number): KeptAuthority {
  let authority = readAuthority(file, now)
  return {
    current: () => authority,
    keepValid(clock, onRenewed, log) {
      const check = () => {
        timer = clock.after(DAY_MS, check)
        if (!isEnding(authority, clock.now())) return
        try {
          authority = readAuthority(file, clock.now())
          onRenewed()
        } catch (error) {
          // The certificate of before is valid for months; the next look tries again.
          log('The authority of the API was not renewed', error)
        }
      }
      let timer = clock.after(DAY_MS, check)
      return () => timer.cancel()
    },
  }
}

function readAuthority(file: string, now: number): Authority {
  const known = readKnownAuthority(file)
  if (known && !isEnding(known, now)) return known
  const authority = known ? renewAuthority(known, { now }) : createAuthority({ name: 'capt embedded authority', now })
  writeSecret(file, JSON.stringify(authority))
  return authority
}

const endOf = ({ certificate }: Authority): number => new X509Certificate(certificate).validToDate.getTime()
const isEnding = (authority: Authority, now: number): boolean => endOf(authority) - now <= RENEW_BEFORE_MS

function readKnownAuthority(file: string): Authority | undefined {
  try {
    const authority = JSON.parse(readFileSync(file, 'utf8')) as Authority
    endOf(authority)
    return authority
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw new CaptError('CAPT_DATA_CORRUPT', `${file} is damaged: ${messageOf(error)}`, {
      hint: 'remove the file: a new authority is made, and kubeconfigs written before must be written again',
      cause: error,
    })
  }
}
