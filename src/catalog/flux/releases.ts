// Flux releases that capt can deliver: which controllers they are made of, and their CRDs, generated from the released
// API modules (make flux-bundle) and loaded only when that version is needed.
import { CaptError, type JsonObject } from '#lib'
import releases from '../data/flux/releases.json' with { type: 'json' }

export interface FluxRelease {
  readonly flux: string
  readonly sourceController: string
  readonly helmController: string
  readonly released: string
}

export const fluxReleases: readonly FluxRelease[] = releases
export const fluxVersions: readonly string[] = releases.map((release) => release.flux)

export function fluxRelease(version: string): FluxRelease {
  const release = fluxReleases.find((one) => one.flux === version)
  if (release) return release
  throw new CaptError('CAPT_FLUX_UNKNOWN', `capt carries no bundle of Flux ${version}`, {
    hint: `Choose one of ${fluxVersions.join(', ')}, or give flux.manifest with an address and a checksum`,
  })
}

/** Literal paths, so that a bundler sees them. */
const DEFINITIONS: Readonly<Record<string, () => Promise<{ readonly default: unknown }>>> = {
  '2.6.4': () => import('../data/flux/2.6.4/crds.json', { with: { type: 'json' } }),
  '2.7.5': () => import('../data/flux/2.7.5/crds.json', { with: { type: 'json' } }),
  '2.8.8': () => import('../data/flux/2.8.8/crds.json', { with: { type: 'json' } }),
  '2.9.5': () => import('../data/flux/2.9.5/crds.json', { with: { type: 'json' } }),
}

/** The CustomResourceDefinitions of one release, as the generator wrote them. */
export async function loadFluxDefinitions(version: string): Promise<readonly JsonObject[]> {
  fluxRelease(version)
  const { default: definitions } = await DEFINITIONS[version]!()
  return definitions as readonly JsonObject[]
}
