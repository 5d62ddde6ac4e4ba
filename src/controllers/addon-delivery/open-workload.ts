// Opens a workload cluster. An API that does not answer is an observation, not an error.
import type { Key } from '#api'
import { isKubeError } from '#kube'
import type { Workload } from '../shared/workload.ts'
import type { ObservedWorkload } from './observed.ts'
import type { DeliveryPorts } from './ports.ts'

export interface OpenedWorkload {
  readonly workload: Workload | undefined
  readonly workloadState: ObservedWorkload
}

export async function openWorkload(ports: Pick<DeliveryPorts, 'workloads'>, cluster: Key): Promise<OpenedWorkload> {
  try {
    const workload = await ports.workloads.open(cluster)
    return { workload, workloadState: workload ? { is: 'open' } : { is: 'absent' } }
  } catch (error) {
    return { workload: undefined, workloadState: toObservedWorkload(error) }
  }
}

export function toObservedWorkload(error: unknown): ObservedWorkload {
  if (!isKubeError(error)) throw error
  const message = `The workload API answers: ${error.message}`
  if (error.reason === 'Unauthorized') return { is: 'unauthorized', message }
  if (error.reason === 'Forbidden') return { is: 'forbidden', message }
  return { is: 'unreachable', message }
}
