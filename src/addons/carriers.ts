// ConfigMaps and Secrets that carry manifests to core's ClusterResourceSet controller. What is in one is compared by
// content; a carrier that was checked lately is not fetched again.

import {
  CLUSTER_NAME_LABEL,
  type ClusterApiVersion,
  type ConfigMap,
  ConfigMapKind,
  type KindRef,
  MOVE_LABEL,
  type OwnerReference,
  type Secret,
  SecretKind,
} from '#api'
import type { Objects } from '#kube'
import { keyedHash } from '#lib'
import { CONTENT_ANNOTATION, MANAGED_LABEL, RESOURCE_SET_SECRET_TYPE, STAGE_LABEL } from './names.ts'
import type { Carrier } from './render-part.ts'

export const carrierKind = (carrier: Pick<Carrier, 'kind'>): KindRef =>
  carrier.kind === 'Secret' ? SecretKind : ConfigMapKind

export interface CarrierSight {
  /** Hash of what was rendered for it. */
  readonly content: string | undefined
  /** Hash of what is in it, as core computes it. */
  readonly hash: string
}

export interface CarrierMemory {
  look(objects: Objects, namespace: string, carrier: Carrier, nowMs: number): Promise<CarrierSight | undefined>
  forget(namespace: string, name: string): void
}

/** How long a carrier is trusted to be what it was. */
const TRUST_MS = 480_000

export function createCarrierMemory(): CarrierMemory {
  const known = new Map<string, { readonly sight: CarrierSight; readonly untilMs: number }>()
  return {
    async look(objects, namespace, carrier, nowMs) {
      const id = `${namespace}/${carrier.kind}/${carrier.name}`
      const remembered = known.get(id)
      if (remembered && remembered.untilMs > nowMs && remembered.sight.content === carrier.hash) return remembered.sight
      const live = await objects.get<ConfigMap & Secret>(carrierKind(carrier), { namespace, name: carrier.name })
      const sight = live ? readCarrier(live, carrier.kind) : undefined
      if (sight) known.set(id, { sight, untilMs: nowMs + TRUST_MS })
      else known.delete(id)
      return sight
    },
    forget(namespace, name) {
      known.delete(`${namespace}/ConfigMap/${name}`)
      known.delete(`${namespace}/Secret/${name}`)
    },
  }
}

export function readCarrier(live: ConfigMap & Secret, kind: Carrier['kind']): CarrierSight {
  const entries = Object.entries(live.data ?? {})
  const values =
    kind === 'Secret' ? entries.map(([key, value]) => [key, Buffer.from(value, 'base64')] as const) : entries
  return { content: live.metadata.annotations?.[CONTENT_ANNOTATION], hash: keyedHash(Object.fromEntries(values)) }
}

/** The texts in a carrier, whatever its kind. */
export function readText(live: object, kind: Carrier['kind']): readonly string[] {
  const { data = {} } = live as ConfigMap
  return Object.keys(data)
    .sort()
    .map((key) => (kind === 'Secret' ? Buffer.from(data[key]!, 'base64').toString('utf8') : data[key]!))
}

export interface CarrierWish {
  readonly namespace: string
  readonly cluster: string
  readonly stage: string
  readonly owner: OwnerReference
  readonly carrier: Carrier
  /** What goes in, when it is more than the carrier's own text. */
  readonly text: string
  readonly clusterApi: ClusterApiVersion
}

/** The parts of a carrier that capt owns; written by server-side apply, so what core adds (its owner references) stays. */
export function renderCarrier(wish: CarrierWish): ConfigMap & Secret {
  const { carrier } = wish
  const data = { [carrier.key]: carrier.kind === 'Secret' ? Buffer.from(wish.text).toString('base64') : wish.text }
  return {
    apiVersion: 'v1',
    kind: carrier.kind,
    metadata: {
      name: carrier.name,
      namespace: wish.namespace,
      annotations: { [CONTENT_ANNOTATION]: carrier.hash },
      labels: {
        [STAGE_LABEL]: wish.stage,
        [MANAGED_LABEL]: 'true',
        [MOVE_LABEL]: '',
        ...(carrier.shared ? {} : { [CLUSTER_NAME_LABEL]: wish.cluster }),
      },
      // A carrier with core's set as its only owner would go when the set goes.
      ...(carrier.shared ? {} : { ownerReferences: [wish.owner] }),
    },
    ...(carrier.kind === 'Secret' ? { type: RESOURCE_SET_SECRET_TYPE } : {}),
    data,
  }
}
