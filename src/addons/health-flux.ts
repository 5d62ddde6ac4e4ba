// Reads HelmReleases and sources in the order that Flux's own conditions ask for: an answer to an older spec is no
// answer, Stalled is final until somebody acts, Ready comes last.
import { findCondition, type UnknownObject } from '#api'
import { isPlainObject } from '#lib'
import { type Finding, failed, healthy, progressing } from './health-finding.ts'

const statusOf = (object: UnknownObject): Record<string, unknown> =>
  isPlainObject(object['status']) ? object['status'] : {}

function isStale(object: UnknownObject, status: Record<string, unknown>): boolean {
  const { observedGeneration } = status
  return typeof observedGeneration !== 'number' || observedGeneration < (object.metadata.generation ?? 0)
}

export function judgeHelmRelease(name: string, object: UnknownObject, version?: string): Finding {
  const status = statusOf(object)
  if (isPlainObject(object['spec']) && object['spec']['suspend'] === true) return progressing(`${name} is suspended`)
  const stalled = findCondition(status['conditions'], 'Stalled')
  const ready = findCondition(status['conditions'], 'Ready')
  if (isStale(object, status))
    return progressing(ready ? `${name}: not looked at since it changed` : `${name} has no status yet`)
  if (stalled?.status === 'True') return failed(`${name}: ${stalled.reason}: ${stalled.message}`)
  if (ready?.status === 'True') {
    const running = chartVersion(status)
    if (version && running && !sameVersion(running, version))
      return progressing(`${name}: runs chart ${running}, not ${version} yet`)
    return healthy(`${name} ready: ${ready.reason}${running ? `, chart ${running}` : ''}`)
  }
  if (!ready) return progressing(`${name} has no status yet`)
  return progressing(`${name}: ${ready.reason}: ${ready.message}`)
}

function chartVersion(status: Record<string, unknown>): string | undefined {
  const history: unknown = Array.isArray(status['history']) ? status['history'][0] : undefined
  return isPlainObject(history) && typeof history['chartVersion'] === 'string' ? history['chartVersion'] : undefined
}

/** The chart may carry a digest suffix (`1.14.1+sha`) and older tags a `v`. */
function sameVersion(running: string, wanted: string): boolean {
  return running.replace(/^v/, '').split('+')[0] === wanted.replace(/^v/, '')
}

export function judgeSource(name: string, object: UnknownObject): Finding {
  const spec = isPlainObject(object['spec']) ? object['spec'] : {}
  // An OCI HelmRepository is only an address: Flux writes no status for it.
  if (object.kind === 'HelmRepository' && spec['type'] === 'oci') return healthy(`${name} is an address only`)
  const status = statusOf(object)
  if (isStale(object, status)) return progressing(`${name} has no status yet`)
  const { conditions } = status
  for (const type of ['Stalled', 'FetchFailed', 'StorageOperationFailed']) {
    const fault = findCondition(conditions, type)
    if (fault?.status === 'True') return failed(`${name}: ${fault.reason}: ${fault.message}`)
  }
  const ready = findCondition(conditions, 'Ready')
  if (ready?.status === 'True') return healthy(`${name} fetched`)
  return progressing(ready ? `${name}: ${ready.reason}: ${ready.message}` : `${name} has no status yet`)
}
