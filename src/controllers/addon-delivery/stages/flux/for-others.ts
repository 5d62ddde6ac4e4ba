// Flux for clusters that no delivery looks after: the same manifests, without the label that says that one does.
import type { UnknownObject } from '#api'
import { loadFluxDefinitions } from '#catalog'
import { MANAGED_LABEL } from '../../names.ts'
import { renderFlux } from './install.ts'

/** Nodes that take only critical add-ons take Karpenter, so they have to take what brings it. */
const TOLERATIONS = [{ key: 'CriticalAddonsOnly', operator: 'Exists' }]

export async function fluxManifests(version: string): Promise<readonly UnknownObject[]> {
  const definitions = await loadFluxDefinitions(version)
  const manifests = renderFlux(version, definitions, { networkPolicy: true, tolerations: TOLERATIONS })
  return manifests.map((manifest) => {
    const { [MANAGED_LABEL]: _managed, ...labels } = manifest.metadata['labels'] as Record<string, string>
    return { ...manifest, metadata: { ...manifest.metadata, labels } } as unknown as UnknownObject
  })
}
