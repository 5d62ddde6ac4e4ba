// Identities that change while we run: tokens and certificates in files are read again every minute, and at once when
// the server refuses them.
import { readFile } from 'node:fs/promises'
import { CaptError, type Clock } from '#lib'
import { type Credentials, type Identity, isSameIdentity, type ServerAccess } from './access.ts'

const REREAD_MS = 60_000

interface CredentialFiles {
  readonly token?: string | undefined
  readonly certificate?: string | undefined
  readonly key?: string | undefined
}

/** `fixed` holds what does not come from a file. */
export function fileCredentials(files: CredentialFiles, fixed: Identity, clock: Clock): Credentials {
  let held: { readonly identity: Identity; readonly at: number } | undefined

  async function read(): Promise<Identity> {
    const token = files.token === undefined ? undefined : (await readSecret(files.token, 'token')).trim()
    if (token === '') {
      throw new CaptError('CAPT_KUBECONFIG_INVALID', `The token file ${files.token} is empty`, {
        hint: 'wait until it is written, or name another file in users[].user.tokenFile',
        at: files.token!,
      })
    }
    const certificate = files.certificate && (await readSecret(files.certificate, 'client certificate'))
    const key = files.key && (await readSecret(files.key, 'client key'))
    return { ...fixed, ...(token ? { token } : {}), ...(certificate ? { certificate } : {}), ...(key ? { key } : {}) }
  }

  return {
    async current() {
      if (held && clock.monotonic() - held.at < REREAD_MS) return held.identity
      try {
        held = { identity: await read(), at: clock.monotonic() }
      } catch (error) {
        // A file that is being replaced may be missing briefly: the last identity stays in use.
        if (!held) throw error
        held = { identity: held.identity, at: clock.monotonic() }
      }
      return held.identity
    },
    async renew(refused) {
      const identity = await read().catch(() => undefined)
      if (!identity) return false
      held = { identity, at: clock.monotonic() }
      return !isSameIdentity(identity, refused)
    },
  }
}

/**
 * Credentials from a file that may be written again: when the server refuses them, they are read once more. A file that cannot
 * be read then leaves what there is.
 */
export function rereadCredentials(first: Credentials, read: () => Promise<Credentials>): Credentials {
  let held = first
  return {
    current: () => held.current(),
    async renew(refused) {
      if (await held.renew(refused)) return true
      const next = await read().catch(() => undefined)
      const identity = await next?.current().catch(() => undefined)
      if (!next || !identity || isSameIdentity(identity, refused)) return false
      held = next
      return true
    },
  }
}

/** Calls the listener when other credentials were found after a refusal. */
export function whenRenewed(access: ServerAccess, listener: () => void): ServerAccess {
  const { credentials } = access
  return {
    ...access,
    credentials: {
      current: () => credentials.current(),
      async renew(refused) {
        const isRenewed = await credentials.renew(refused)
        if (isRenewed) listener()
        return isRenewed
      },
    },
  }
}

async function readSecret(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const code = (cause as { code?: string }).code
    throw new CaptError('CAPT_KUBECONFIG_UNREADABLE', `The ${what} file ${path} cannot be read (${code})`, {
      hint: 'check the path in the kubeconfig and that you may read the file',
      at: path,
      cause,
    })
  }
}
