// The instance that a run made, from the outputs of its template.
import type { Json } from '#lib'

export interface Instance {
  readonly id: string
  readonly providerId: string
  readonly privateIp: string | undefined
  readonly zone: string | undefined
  /** Name of its Node, which is its private DNS name with EKS. */
  readonly nodeName: string | undefined
}

/** Outputs that a machine template must have. */
export const NEEDED_OUTPUTS = ['instance_id', 'provider_id'] as const

export function toInstance(outputs: { readonly [name: string]: Json }): Instance | undefined {
  const read = (name: string): string | undefined => {
    const value = outputs[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const id = read('instance_id')
  const providerId = read('provider_id')
  if (id === undefined || providerId === undefined) return undefined
  return { id, providerId, privateIp: read('private_ip'), zone: read('zone'), nodeName: read('node_name') }
}

export function toAddresses({ privateIp, nodeName }: Instance): readonly { type: string; address: string }[] {
  return [
    ...(privateIp === undefined ? [] : [{ type: 'InternalIP', address: privateIp }]),
    ...(nodeName === undefined ? [] : [{ type: 'InternalDNS', address: nodeName }]),
  ]
}
