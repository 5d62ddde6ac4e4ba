// A MachinePool of Cluster API as plain facts, whichever version the server gave it in.
import { fieldsOf } from '#lib'
import { type ContractRef, REPLICAS_MANAGED_BY_ANNOTATION, readRef } from './contract.ts'
import type { AnyObject } from './object.ts'

export interface MachinePoolFacts {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly deleting: boolean
  readonly clusterName: string
  /** One when left out, as core defaults it. */
  readonly replicas: number
  /** An autoscaler owns the replicas: they are reported to the MachinePool, not taken from it. */
  readonly isAutoscaled: boolean
  /** Kubernetes version of the nodes; that of the control plane when left out. */
  readonly version: string | undefined
  readonly infrastructureRef: ContractRef | undefined
  readonly bootstrapRef: ContractRef | undefined
  readonly dataSecretName: string | undefined
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export function readMachinePool(object: AnyObject): MachinePoolFacts {
  const { metadata } = object
  const spec = fieldsOf((object as { readonly spec?: unknown }).spec)
  const template = fieldsOf(fieldsOf(spec['template'])['spec'])
  const bootstrap = fieldsOf(template['bootstrap'])
  const { replicas } = spec
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    deleting: metadata.deletionTimestamp !== undefined,
    clusterName: textOf(spec['clusterName']) ?? '',
    replicas: typeof replicas === 'number' ? replicas : 1,
    isAutoscaled: REPLICAS_MANAGED_BY_ANNOTATION in (metadata.annotations ?? {}),
    version: textOf(template['version']),
    infrastructureRef: readRef(template['infrastructureRef']),
    bootstrapRef: readRef(bootstrap['configRef']),
    dataSecretName: typeof bootstrap['dataSecretName'] === 'string' ? bootstrap['dataSecretName'] : undefined,
  }
}
