// The page in the browser beside an embedded home, under the kubeconfig that the home gave its user. Whatever happens to
// it, the home goes on; a home that is started again serves the page under the same link.
import { readFileSync, writeFileSync } from 'node:fs'
import { startDashboard } from '#app'
import { messageOf } from '#lib'
import type { Io } from './command.ts'

interface HomePageOptions {
  readonly kubeconfig: string
  /** Port 0: the one of the link in `file`, else a free one. */
  readonly at: { readonly host: string; readonly port: number }
  /** Where the link is kept, readable by its owner alone. */
  readonly file?: string
}

/** Returns what ends it. */
export async function openHomePage({ kubeconfig, at, file }: HomePageOptions, io: Io): Promise<() => Promise<void>> {
  const before = file === undefined ? undefined : readLink(file)
  const serve = (port: number) =>
    startDashboard({
      host: at.host,
      port,
      allowWrites: false,
      access: { kubeconfig },
      ...(before ? { token: before.token } : {}),
    })
  try {
    const kept = at.port === 0 && before ? before.port : at.port
    const page = await serve(kept).catch((error: unknown) => {
      if (kept === at.port || !isTaken(error)) throw error
      return serve(at.port)
    })
    if (file !== undefined && page.url !== before?.url) writeFileSync(file, `${page.url}\n`, { mode: 0o600 })
    // What is not a terminal may be kept as a log, where the token does not belong.
    const isForPeople = file === undefined || io.stdout.isTerminal
    io.stdout.write(isForPeople ? `Dashboard: ${page.url}\n` : `Dashboard: ${page.address} (the link is in ${file})\n`)
    return () => page.close()
  } catch (error) {
    io.stderr.write(`The dashboard is not served: ${messageOf(error)}\n`)
    return async () => undefined
  }
}

function readLink(file: string): { readonly url: string; readonly port: number; readonly token: string } | undefined {
  try {
    const url = readFileSync(file, 'utf8').trim()
    const [, port, token] = /:(\d+)\/#token=([\w-]{32})$/.exec(url) ?? []
    return port === undefined || token === undefined ? undefined : { url, port: Number(port), token }
  } catch {
    return undefined
  }
}

const isTaken = (error: unknown): boolean => (error as { readonly code?: unknown }).code === 'EADDRINUSE'
