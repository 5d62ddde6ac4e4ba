// The observed state and the status of a simulated HelmRelease, with the conditions and reasons of the real one.
import { type AnyObject, isTrue } from '#api'
import type { Projected } from '#kube'
import { parseDuration, toTimestamp } from '#lib'
import type { StatusReport } from '#runtime'
import { conditionList, secondsLeft } from '../actor.ts'
import type { Fault } from '../faults.ts'

export interface Release extends AnyObject {
  readonly spec?: {
    readonly suspend?: boolean
    readonly timeout?: string
    readonly releaseName?: string
    readonly chartRef?: { readonly kind: string; readonly name: string; readonly namespace?: string }
    readonly chart?: {
      readonly spec: {
        readonly chart: string
        readonly version?: string
        readonly sourceRef: { readonly kind: string; readonly name: string; readonly namespace?: string }
      }
    }
    readonly install?: {
      readonly remediation?: { readonly retries?: number }
      readonly strategy?: { readonly name?: string }
    }
    readonly values?: Readonly<Record<string, unknown>>
  }
  readonly status?: {
    readonly conditions?: unknown
    readonly observedGeneration?: number
    readonly history?: readonly { readonly chartVersion: string; readonly digest?: string; readonly status?: string }[]
    readonly lastAttemptedAt?: string
    readonly lastHandledResetAt?: string
    readonly installFailures?: number
  }
}

export interface Chart {
  readonly name: string
  readonly version: string
  readonly isReady: boolean
  readonly problem: string
}

export interface Observed {
  readonly release: Projected<Release>
  readonly isAlive: boolean
  readonly chart: Chart | undefined
  readonly digest: string
  readonly deployment: AnyObject | undefined
  readonly fault: Fault
  readonly problem: { message?: string }
  readonly nowMs: number
}
export type Action = { readonly do: 'hold' | 'install' | 'uninstall' | 'let-go' }

export const DIGEST_ANNOTATION = 'capt.appthrust.com/simulated-digest'
const RESET = 'reconcile.fluxcd.io/resetAt'

/** Of the release that Helm makes. */
export const nameOf = ({ spec, metadata }: Release): string => spec?.releaseName ?? metadata.name

export const isInstalled = ({ deployment, digest }: Observed) =>
  deployment?.metadata.annotations?.[DIGEST_ANNOTATION] === digest
export const isAvailable = ({ deployment }: Observed) => deployment !== undefined && isTrue(deployment, 'Available')

export function timeoutIn({ release, nowMs }: Observed): number {
  return secondsLeft(release.status?.lastAttemptedAt, parseDuration(release.spec?.timeout ?? '5m'), nowMs)
}

export function report(observed: Observed): StatusReport {
  const { release, isAlive, chart, nowMs, digest } = observed
  const { generation, annotations } = release.metadata
  if (!isAlive || release.metadata.deletionTimestamp || release.spec?.suspend) return {}
  const previous = release.status?.conditions
  const resetAt = annotations?.[RESET]
  const wasReset = resetAt !== undefined && resetAt !== release.status?.lastHandledResetAt
  const report = (ready: 'True' | 'False' | 'Unknown', reason: string, message: string, stalled?: string) => {
    const drafts = [
      { type: 'Ready', status: ready, reason, message } as const,
      ...(stalled ? [{ type: 'Stalled', status: 'True', reason: stalled, message } as const] : []),
    ]
    return {
      // As helm-controller does: only success or a terminal error raises the generation of the whole status.
      ...(ready === 'True' || stalled ? { observedGeneration: generation } : {}),
      conditions: conditionList(previous, drafts, nowMs, generation),
      ...(resetAt ? { lastHandledResetAt: resetAt } : {}),
    }
  }
  if (!chart?.isReady) return { fields: report('False', 'SourceNotReady', chart?.problem ?? 'no chart is given') }
  if (observed.problem.message)
    return {
      fields: report('False', 'InstallFailed', `Helm install failed: ${observed.problem.message}`, 'RetriesExceeded'),
    }
  const lastAttemptedAt =
    isInstalled(observed) && !wasReset ? (release.status?.lastAttemptedAt ?? toTimestamp(nowMs)) : toTimestamp(nowMs)
  if (isInstalled(observed) && isAvailable(observed)) {
    const known = release.status?.history?.[0]
    const history =
      known?.digest === digest
        ? release.status!.history
        : [
            deployed(release, chart, digest, nowMs, (release.status?.history?.length ?? 0) + 1),
            ...(release.status?.history ?? []),
          ].slice(0, 5)
    const reason = (history?.length ?? 1) > 1 ? 'UpgradeSucceeded' : 'InstallSucceeded'
    return {
      fields: {
        ...report(
          'True',
          reason,
          `Helm ${reason === 'InstallSucceeded' ? 'install' : 'upgrade'} succeeded for release ${nameOf(release)} with chart ${chart.name}@${chart.version} (simulated)`,
        ),
        history,
        lastAttemptedAt,
        installFailures: 0,
      },
    }
  }
  const isOver =
    isInstalled(observed) && !wasReset && release.status?.lastAttemptedAt !== undefined && timeoutIn(observed) === 0
  if (!isOver)
    return {
      fields: {
        ...report('Unknown', 'Progressing', 'Running install action with timeout (simulated)'),
        lastAttemptedAt,
      },
    }
  const retries = release.spec?.install?.remediation?.retries ?? 0
  const isRetried = release.spec?.install?.strategy?.name === 'RetryOnFailure' || retries !== 0
  const message = 'Helm install failed: context deadline exceeded (simulated)'
  return {
    fields: {
      ...report('False', 'InstallFailed', message, isRetried ? undefined : 'RetriesExceeded'),
      lastAttemptedAt,
      installFailures: 1,
    },
  }
}

/** One entry of status.history, with everything that the real definition asks for. */
function deployed(release: Release, chart: Chart, digest: string, nowMs: number, version: number) {
  const at = toTimestamp(nowMs)
  return {
    name: nameOf(release),
    namespace: release.metadata.namespace ?? '',
    version,
    chartName: chart.name,
    chartVersion: chart.version,
    digest,
    configDigest: digest,
    firstDeployed: at,
    lastDeployed: at,
    status: 'deployed',
  }
}
