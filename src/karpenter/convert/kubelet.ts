// Kubelet settings moved from the pool to the node class in v1; left in the pool they vanish without an error.
import { canonicalJson } from '#lib'
import { type Fields, mapAt, pick } from './fields.ts'
import type { Note } from './finding.ts'

const COPIED = [
  'clusterDNS',
  'maxPods',
  'podsPerCore',
  'systemReserved',
  'kubeReserved',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMaxPodGracePeriod',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'cpuCFSQuota',
]

/** The settings as v1 wants them; undefined when there are none. */
export function readKubelet(spec: Fields, key: string, note: Note, path: string): Fields | undefined {
  const given = mapAt(spec, key, note, path)
  if (!given) return undefined
  const runtime = given['containerRuntime']
  if (runtime !== undefined && runtime !== 'containerd')
    note(
      'refused',
      'CAPT_CONVERT_UNSUPPORTED',
      `${path}.containerRuntime`,
      `${String(runtime)} is gone; nodes run containerd`,
      'remove the field and check what depends on the old runtime',
    )
  const soft = keysOf(given['evictionSoft'])
  if (soft !== keysOf(given['evictionSoftGracePeriod']))
    note(
      'refused',
      'CAPT_CONVERT_CONTRADICTION',
      `${path}.evictionSoft`,
      'evictionSoft and evictionSoftGracePeriod must have the same keys',
    )
  const high = given['imageGCHighThresholdPercent']
  const low = given['imageGCLowThresholdPercent']
  if (typeof high === 'number' && typeof low === 'number' && high <= low)
    note(
      'refused',
      'CAPT_CONVERT_CONTRADICTION',
      `${path}.imageGCHighThresholdPercent`,
      'must be greater than imageGCLowThresholdPercent',
    )
  const kubelet = pick(given, COPIED, ['containerRuntime'], note, path)
  return Object.keys(kubelet).length > 0 ? kubelet : undefined
}

const keysOf = (value: unknown) =>
  Object.keys((value ?? {}) as object)
    .sort()
    .join()

export const sameKubelet = (a: Fields | undefined, b: Fields | undefined) =>
  canonicalJson(a ?? {}) === canonicalJson(b ?? {})
