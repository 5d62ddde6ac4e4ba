// The address of a manifest's kind, guessed from its names: exact for what capt ships, good enough for the rest.

import type { KindRef } from '#api'
import { pluralOf } from '#lib'
import type { Manifest } from './manifests.ts'
import { resolveScope } from './scope.ts'

export function parseKindRef(manifest: Pick<Manifest, 'apiVersion' | 'kind' | 'metadata'>): KindRef {
  const { apiVersion, kind } = manifest
  const slash = apiVersion.indexOf('/')
  const scope = resolveScope(apiVersion, kind)
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind,
    plural: pluralOf(kind),
    namespaced: scope === undefined ? manifest.metadata.namespace !== undefined : scope === 'Namespaced',
  }
}
