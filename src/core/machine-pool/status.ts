// Status of a MachinePool, with the phases and condition types of core Cluster API.
import { findCondition } from '#api'
import type { StatusReport } from '#runtime'
import { draft } from '../condition.ts'
import { statusFieldsOf } from '../referenced-objects.ts'
import { type Observed, pausedBy } from './decide.ts'

export function statusOfMachinePool(observed: Observed): StatusReport {
  const cause = pausedBy(observed)
  if (cause !== undefined) return { conditions: [draft('Paused', 'True', 'Paused', cause)] }
  const { object, facts, infrastructure, bootstrap } = observed
  const infra = statusFieldsOf(infrastructure)
  const isProvisioned = infra['ready'] === true
  const hasData = facts.dataSecretName !== undefined || statusFieldsOf(bootstrap)['ready'] === true
  const replicas = numberOf(infra['replicas'])
  const ready = numberOf(infra['readyReplicas'])
  const isAvailable = isProvisioned && ready >= facts.replicas
  const reported = findCondition(infra['conditions'], 'Ready')
  const message = isAvailable ? '' : reported?.message || `${ready} of ${facts.replicas} nodes are ready`
  return {
    fields: {
      phase: phaseOf(observed, isProvisioned, replicas),
      observedGeneration: object.metadata.generation,
      replicas,
      readyReplicas: ready,
      availableReplicas: ready,
      initialization:
        isProvisioned || hasData
          ? {
              ...(isProvisioned ? { infrastructureProvisioned: true } : {}),
              ...(hasData ? { bootstrapDataSecretCreated: true } : {}),
            }
          : undefined,
    },
    conditions: [
      draft('Paused', 'False', 'NotPaused'),
      facts.deleting ? draft('Deleting', 'True', 'Deleting', message) : draft('Deleting', 'False', 'NotDeleting'),
      draft(
        'Available',
        isAvailable && !facts.deleting ? 'True' : 'False',
        isAvailable ? 'Available' : 'NotAvailable',
        message,
      ),
    ],
  }
}

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)

function phaseOf({ facts, infrastructure }: Observed, isProvisioned: boolean, replicas: number): string {
  if (facts.deleting) return 'Deleting'
  if (!infrastructure?.object) return 'Pending'
  if (!isProvisioned) return 'Provisioning'
  if (replicas < facts.replicas) return 'ScalingUp'
  return replicas > facts.replicas ? 'ScalingDown' : 'Running'
}
