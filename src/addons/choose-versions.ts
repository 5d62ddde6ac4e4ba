// Which Flux and which Karpenter a Cluster gets. The matrix is asked before anything is written, for everything wanted.
import type { AddonDelivery, AddonStage } from '#api'
import { checkPair, defaultVersionsFor, fluxVersions, type MatrixFault } from '#catalog'
import type { Projected } from '#kube'
import { isCaptError } from '#lib'

export interface Versions {
  readonly flux: string
  readonly karpenter: string
}

export function chooseVersions(
  stages: readonly AddonStage[],
  delivery: Projected<AddonDelivery>,
  kubernetes: string,
  wanted: ReadonlySet<string>,
  adopted: string | undefined,
): { readonly versions: Versions | undefined; readonly faults: readonly MatrixFault[] } {
  const flux = stages.find((stage) => stage.flux)
  const karpenter = stages.find((stage) => stage.karpenter)
  const overrideOf = (stage: AddonStage | undefined) =>
    delivery.spec.overrides.find((one) => one.stage === stage?.name)?.version
  const defaults = safeDefaults(kubernetes)
  const fluxVersion = adopted ?? overrideOf(flux) ?? flux?.flux?.version ?? defaults?.flux
  const karpenterVersion = (overrideOf(karpenter) ?? karpenter?.karpenter?.version ?? defaults?.karpenter)?.replace(
    /^v/,
    '',
  )
  const faults = checkPair({
    kubernetes,
    // What a person runs already is judged by what it serves, not by the matrix.
    ...(flux && wanted.has(flux.name) && fluxVersion && !adopted ? { flux: fluxVersion } : {}),
    ...(karpenter && wanted.has(karpenter.name) && karpenterVersion ? { karpenter: karpenterVersion } : {}),
  })
  if (faults.length > 0) return { versions: undefined, faults }
  return { versions: { flux: fluxVersion ?? '0.0.0', karpenter: karpenterVersion ?? '0.0.0' }, faults }
}

function safeDefaults(kubernetes: string): Versions | undefined {
  try {
    return defaultVersionsFor(kubernetes, { fluxBundles: fluxVersions })
  } catch (error) {
    if (isCaptError(error)) return undefined
    throw error
  }
}
