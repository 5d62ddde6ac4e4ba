// Where an installation is made: one account, one cluster, and the tools to reach them.
import type { UnknownObject } from '#api'
import type { AwsRequests, EksCluster } from '#aws'
import type { Values } from '#catalog'
import type { Objects } from '#kube'
import { CaptError, type Clock, pause } from '#lib'

export interface Site {
  readonly aws: AwsRequests
  readonly objects: Objects
  readonly cluster: EksCluster
  readonly helm: Helm | undefined
  /** The manifests of a Flux release that capt carries: source-controller and helm-controller. */
  fluxManifests(version: string): Promise<readonly UnknownObject[]>
  readonly clock: Clock
  readonly signal: AbortSignal
  /** How long to wait for what the cluster does by itself. */
  readonly waitMs: number
  /** One line of progress. */
  report(text: string): void
}

/** The helm of the person, with access to the cluster. */
export interface Helm {
  readonly path: string
  upgrade(release: {
    readonly name: string
    readonly chart: string
    readonly version: string
    readonly namespace: string
    readonly values?: Values
  }): Promise<void>
  uninstall(name: string, namespace: string): Promise<void>
}

const POLL_MS = 500
const SPEAK_MS = 10_000

/** Asks again until there is nothing to wait for. The question answers with what is missing. */
export async function waitFor(
  site: Site,
  what: string,
  code: string,
  hint: string,
  missing: () => Promise<string | undefined>,
): Promise<void> {
  const left = await missingAfterWait(site, what, missing)
  if (left !== undefined) throw new CaptError(code, `${what} did not happen in time: ${left}`, { hint })
}

/** Answers what is still missing when the time is over. */
export async function missingAfterWait(
  site: Site,
  what: string,
  missing: () => Promise<string | undefined>,
  waitMs = site.waitMs,
): Promise<string | undefined> {
  const started = site.clock.monotonic()
  let spokenAt = started
  for (;;) {
    const left = await missing()
    const now = site.clock.monotonic()
    if (left === undefined || now - started > waitMs) return left
    if (now - spokenAt >= SPEAK_MS) {
      site.report(`waiting for ${what}: ${left}`)
      spokenAt = now
    }
    await pause(site.clock, POLL_MS, site.signal)
  }
}
