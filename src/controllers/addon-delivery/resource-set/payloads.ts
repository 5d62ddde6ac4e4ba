// ConfigMaps and Secrets with the manifests that core's ClusterResourceSet controller applies. Payloads are compared by
// content; one that was read lately is not fetched again.

import {
  CLUSTER_NAME_LABEL,
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
import { CONTENT_ANNOTATION, MANAGED_LABEL, RESOURCE_SET_SECRET_TYPE, STAGE_LABEL } from '../names.ts'
import type { Payload } from './render-part.ts'

/** `kind` is Secret or ConfigMap. */
export const payloadKind = ({ kind }: { readonly kind: string }): KindRef =>
  kind === 'Secret' ? SecretKind : ConfigMapKind

interface ObservedPayload {
  /** Hash of what was rendered for it. */
  readonly content: string | undefined
  /** Hash of what is in it, as core computes it. */
  readonly hash: string
}

export interface PayloadCache {
  read(objects: Objects, namespace: string, payload: Payload, nowMs: number): Promise<ObservedPayload | undefined>
  forget(namespace: string, name: string): void
}

/** Lifetime of a cached payload. */
const TRUST_MS = 480_000

export function createPayloadCache(): PayloadCache {
  const known = new Map<string, { readonly observed: ObservedPayload; readonly untilMs: number }>()
  return {
    async read(objects, namespace, payload, nowMs) {
      const id = `${namespace}/${payload.kind}/${payload.name}`
      const remembered = known.get(id)
      if (remembered && remembered.untilMs > nowMs && remembered.observed.content === payload.hash)
        return remembered.observed
      const live = await objects.get<ConfigMap & Secret>(payloadKind(payload), { namespace, name: payload.name })
      const observed = live ? readPayload(live, payload.kind) : undefined
      if (observed) known.set(id, { observed, untilMs: nowMs + TRUST_MS })
      else known.delete(id)
      return observed
    },
    forget(namespace, name) {
      known.delete(`${namespace}/ConfigMap/${name}`)
      known.delete(`${namespace}/Secret/${name}`)
    },
  }
}

function readPayload(live: ConfigMap & Secret, kind: Payload['kind']): ObservedPayload {
  const entries = Object.entries(live.data ?? {})
  const values =
    kind === 'Secret' ? entries.map(([key, value]) => [key, Buffer.from(value, 'base64')] as const) : entries
  return { content: live.metadata.annotations?.[CONTENT_ANNOTATION], hash: keyedHash(Object.fromEntries(values)) }
}

/** The texts in a payload, whatever its kind. */
export function readText(live: object, kind: string): readonly string[] {
  const { data = {} } = live as ConfigMap
  return Object.keys(data)
    .sort()
    .map((key) => (kind === 'Secret' ? Buffer.from(data[key]!, 'base64').toString('utf8') : data[key]!))
}

interface PayloadOptions {
  readonly namespace: string
  readonly cluster: string
  readonly stage: string
  readonly owner: OwnerReference
  readonly payload: Payload
  /** What goes in, when it is more than the payload's own text. */
  readonly text: string
}

/** The parts of a payload that capt owns; written by server-side apply, so what core adds (its owner references) stays. */
export function renderPayload(options: PayloadOptions): ConfigMap & Secret {
  const { payload } = options
  const data = {
    [payload.key]: payload.kind === 'Secret' ? Buffer.from(options.text).toString('base64') : options.text,
  }
  return {
    apiVersion: 'v1',
    kind: payload.kind,
    metadata: {
      name: payload.name,
      namespace: options.namespace,
      annotations: { [CONTENT_ANNOTATION]: payload.hash },
      labels: {
        [STAGE_LABEL]: options.stage,
        [MANAGED_LABEL]: 'true',
        [MOVE_LABEL]: '',
        ...(payload.shared ? {} : { [CLUSTER_NAME_LABEL]: options.cluster }),
      },
      // A payload with core's set as its only owner would go when the set goes.
      ...(payload.shared ? {} : { ownerReferences: [options.owner] }),
    },
    ...(payload.kind === 'Secret' ? { type: RESOURCE_SET_SECRET_TYPE } : {}),
    data,
  }
}
