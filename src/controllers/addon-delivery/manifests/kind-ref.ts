// The address of a manifest's kind, guessed from its names: exact for what capt ships, good enough for the rest.

import { type KindRef, kindRef } from '#api'
import type { Manifest } from './manifests.ts'
import { resolveScope } from './scope.ts'

export function parseKindRef({
  apiVersion,
  kind,
  metadata,
}: Pick<Manifest, 'apiVersion' | 'kind' | 'metadata'>): KindRef {
  const scope = resolveScope(apiVersion, kind)
  return kindRef(apiVersion, kind, scope === undefined ? metadata.namespace !== undefined : scope === 'Namespaced')
}
