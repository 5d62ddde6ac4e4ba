// Reads HelmReleases and sources as Flux writes them. Flux raises status.observedGeneration only after success or a
// terminal error, and gives each condition an observedGeneration of its own. So Ready=True counts only when the whole
// status is about the present spec, and a failure counts as soon as its own condition is.
import { findCondition, type UnknownObject } from '#api'
import { fieldsOf } from '#lib'
import { degraded, type Finding, failed, healthy, progressing, troubled } from './finding.ts'

type Condition = NonNullable<ReturnType<typeof findCondition>>

/** Conditions of a Flux object that speak of its present spec. */
function currentConditions(object: UnknownObject) {
  const { conditions, observedGeneration } = fieldsOf(object['status'])
  const generation = object.metadata.generation ?? 0
  const isCurrent = typeof observedGeneration === 'number' && observedGeneration >= generation
  return {
    /** The controller has finished with the present spec. */
    isCurrent,
    isReported: findCondition(conditions, 'Ready') !== undefined,
    find(type: string): Condition | undefined {
      const found = findCondition(conditions, type)
      if (!found) return undefined
      const isOwn = found.observedGeneration === undefined ? isCurrent : found.observedGeneration >= generation
      return isOwn ? found : undefined
    },
  }
}

const textOf = (name: string, { reason, message }: Condition) => `${name}: ${reason}: ${message}`

/** Reasons of Ready=False that pass by themselves: something else has to happen first. */
const WAITING_REASONS = new Set(['Progressing', 'DependencyNotReady', 'SourceNotReady', 'HealthCheckCanceled'])

/** Reasons of Ready=False that speak of the source alone. */
const SOURCE_REASONS = new Set(['SourceNotReady', 'ArtifactFailed'])

export function decideHelmRelease(name: string, object: UnknownObject, version?: string): Finding {
  if (fieldsOf(object['spec'])['suspend'] === true) return progressing(`${name} is suspended`)
  const { find, isCurrent, isReported } = currentConditions(object)
  const stalled = find('Stalled')
  if (stalled?.status === 'True') return failed(textOf(name, stalled))
  const ready = find('Ready')
  if (!ready || (ready.status === 'True' && !isCurrent))
    return progressing(isReported ? `${name}: not looked at since it changed` : `${name} has no status yet`)
  const running = deployedChart(fieldsOf(object['status']))
  if (ready.status === 'True') {
    if (version && running && !sameVersion(running, version))
      return progressing(`${name}: runs chart ${running}, not ${version} yet`)
    return healthy(`${name} ready: ${ready.reason}${running ? `, chart ${running}` : ''}`)
  }
  // The source cannot be refreshed: what was released from it before goes on running.
  const isDeployed = running !== undefined && (version === undefined || sameVersion(running, version))
  if (isCurrent && isDeployed && SOURCE_REASONS.has(ready.reason))
    return degraded(`${textOf(name, ready)} (chart ${running} stays deployed)`)
  const isFailing = ready.status === 'False' && !WAITING_REASONS.has(ready.reason)
  return (isFailing ? troubled : progressing)(textOf(name, ready))
}

/** Chart version of the newest release, unless that release is known not to be deployed. */
function deployedChart(status: Record<string, unknown>): string | undefined {
  const newest: unknown = Array.isArray(status['history']) ? status['history'][0] : undefined
  const { chartVersion, status: state = 'deployed' } = fieldsOf(newest)
  return typeof chartVersion === 'string' && state === 'deployed' ? chartVersion : undefined
}

/** The chart may have a digest suffix (`1.14.1+sha`) and older tags a `v`. */
function sameVersion(running: string, wanted: string): boolean {
  return running.replace(/^v/, '').split('+')[0] === wanted.replace(/^v/, '')
}

export function decideSource(name: string, object: UnknownObject): Finding {
  // An OCI HelmRepository is only an address: Flux writes no status for it.
  if (object.kind === 'HelmRepository' && fieldsOf(object['spec'])['type'] === 'oci')
    return healthy(`${name} is an address only`)
  const { find, isCurrent } = currentConditions(object)
  // The artifact of the present spec is in storage: releases go on with it while a refresh fails.
  const isStored = isCurrent && find('ArtifactInStorage')?.status === 'True'
  for (const type of ['Stalled', 'FetchFailed', 'StorageOperationFailed']) {
    const fault = find(type)
    if (fault?.status !== 'True') continue
    const text = textOf(name, fault)
    return isStored && type !== 'Stalled' ? degraded(`${text} (the artifact fetched before is used)`) : failed(text)
  }
  const ready = find('Ready')
  if (ready?.status === 'True' && isCurrent) return healthy(`${name} fetched`)
  return progressing(ready && ready.status !== 'True' ? textOf(name, ready) : `${name} has no status yet`)
}
