// The page in the browser beside an embedded home, with what the home gave its user. Whatever happens to it, the home goes
// on; a home that is started again serves the page under the same link, until the token in it is due.
import { readFileSync, statSync } from 'node:fs'
import { startDashboard } from '#app'
import type { ServerAccess } from '#kube'
import {
  checkEveryMs,
  DEFAULT_TOKEN_LIFETIME_MS,
  issueToken,
  messageOf,
  newToken,
  rotateTokens,
  type Timer,
  type TokenSet,
  validTokens,
  writeSecret,
} from '#lib'
import type { Io } from './command.ts'

interface HomePageOptions {
  readonly access: ServerAccess
  /** Port 0: the one of the link in `file`, else a free one. */
  readonly at: { readonly host: string; readonly port: number }
  /** Where the link is kept, readable by its owner alone. */
  readonly file?: string
  readonly tokenLifetimeMs?: number
}

export interface HomePage {
  /** With its token; undefined when the page is not served. */
  readonly link?: string
  close(): Promise<void>
}

export async function openHomePage(options: HomePageOptions, io: Io): Promise<HomePage> {
  const { access, at, file, tokenLifetimeMs: lifetimeMs = DEFAULT_TOKEN_LIFETIME_MS } = options
  const { clock } = io
  const before = file === undefined ? undefined : readLink(file)
  let tokens = before?.tokens ?? issueToken(newToken(24), clock.now())
  const serve = (port: number) =>
    startDashboard({ host: at.host, port, allowWrites: false, access, tokens: () => validTokens(tokens, clock.now()) })
  try {
    const kept = at.port === 0 && before ? before.port : at.port
    const page = await serve(kept).catch((error: unknown) => {
      if (kept === at.port || !isTaken(error)) throw error
      return serve(at.port)
    })
    const link = () => `${page.address}#token=${tokens.current}`
    if (file !== undefined && link() !== before?.url) writeSecret(file, `${link()}\n`)
    // What is not a terminal may be kept as a log, where the token does not belong.
    const isForPeople = file === undefined || io.stdout.isTerminal
    io.stdout.write(isForPeople ? `Dashboard: ${link()}\n` : `Dashboard: ${page.address} (the link is in ${file})\n`)
    const endRotation = file === undefined ? () => {} : keepRotated(file)
    return {
      link: link(),
      close() {
        endRotation()
        return page.close()
      },
    }

    /** A link that cannot be written is not replaced: the next check tries again. */
    function keepRotated(to: string): () => void {
      let timer: Timer
      const check = (): void => {
        timer = clock.after(checkEveryMs(lifetimeMs), check)
        const next = rotateTokens(tokens, clock.now(), lifetimeMs, () => newToken(24))
        try {
          if (next.current !== tokens.current) writeSecret(to, `${page.address}#token=${next.current}\n`)
          tokens = next
        } catch (error) {
          io.stderr.write(`The new link of the dashboard is not written: ${messageOf(error)}\n`)
        }
      }
      check()
      return () => timer.cancel()
    }
  } catch (error) {
    io.stderr.write(`The dashboard is not served: ${messageOf(error)}\n`)
    return { close: async () => undefined }
  }
}

interface Link {
  readonly url: string
  readonly port: number
  readonly tokens: TokenSet
}

/** The file is written when its token is made: its age is the token's. */
function readLink(file: string): Link | undefined {
  try {
    const url = readFileSync(file, 'utf8').trim()
    const [, port, token] = /:(\d+)\/#token=([\w-]{32})$/.exec(url) ?? []
    if (port === undefined || token === undefined) return undefined
    return { url, port: Number(port), tokens: issueToken(token, statSync(file).mtimeMs) }
  } catch {
    return undefined
  }
}

const isTaken = (error: unknown): boolean => (error as { readonly code?: unknown }).code === 'EADDRINUSE'
