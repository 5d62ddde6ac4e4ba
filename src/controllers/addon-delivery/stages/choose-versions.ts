// Chooses the Flux and Karpenter versions of a Cluster, after an installation that is adopted. The matrix checks all
// requested stages before anything is written. Pure.
import type { AddonDelivery, AddonStage, ClusterFacts, UnknownObject } from '#api'
import { checkPair, defaultVersionsFor, fluxVersions, type MatrixFault } from '#catalog'
import type { Projected } from '#kube'
import { isCaptError } from '#lib'
import type { ReadSources } from '../manifests/variable-sources.ts'
import type { Variables } from '../manifests/variables.ts'
import { FLUX_NAMESPACE } from '../names.ts'
import type { ObservedWorkload } from '../observed.ts'
import { typeOf } from './registry.ts'
import type { Gates, StageRequests } from './request.ts'
import type { Chart, Installed, Override } from './stage-type.ts'

interface Versions {
  readonly flux: string
  readonly karpenter: string
}

type Component = keyof Versions

export interface StageFacts {
  readonly delivery: Projected<AddonDelivery>
  readonly cluster: ClusterFacts
  /** In order. */
  readonly stages: readonly AddonStage[]
  readonly gates: Gates
  readonly requests: StageRequests
  readonly kubernetes: string | undefined
  readonly sources: ReadSources
  readonly variables: Variables
  /** The stage that may find itself installed already. */
  readonly adoptable: AddonStage | undefined
  /** Objects of that installation; undefined when they were not read. */
  readonly installed: readonly UnknownObject[] | undefined
  /** The workload API failed while it was read. */
  readonly trouble: ObservedWorkload | undefined
  readonly isAutoMode?: boolean
}

export interface ChosenVersions {
  readonly versions: Versions | undefined
  readonly faults: readonly MatrixFault[]
  readonly installed: Installed
}

const UNKNOWN: Installed = { existing: { is: 'unknown' }, namespace: FLUX_NAMESPACE }

export function chooseForStages(facts: StageFacts): ChosenVersions {
  const { stages, delivery, kubernetes, requests, adoptable } = facts
  if (kubernetes === undefined) return { versions: undefined, faults: [], installed: findInstalled(facts, undefined) }
  const fresh = chooseVersions(stages, delivery, kubernetes, requests.wanted, undefined)
  const installed = findInstalled(facts, adoptable && fresh.versions?.[typeOf(adoptable).component!])
  const adopted = installed.existing.is === 'foreign' ? installed.existing.version : undefined
  return { ...chooseVersions(stages, delivery, kubernetes, requests.wanted, adopted), installed }
}

function findInstalled({ adoptable, installed }: StageFacts, version: string | undefined): Installed {
  return adoptable && installed ? typeOf(adoptable).existing!.find(installed, version) : UNKNOWN
}

/** The first requested chart: a fetch that fails is reported before the gate of its stage opens. */
export function chartToProbe({ stages, requests, delivery }: StageFacts, versions: Versions): Chart | undefined {
  const next = stages.find((stage) => typeOf(stage).chart && requests.wanted.has(stage.name))
  const { chart, component } = next ? typeOf(next) : {}
  return next && chart && component ? chart(next, versions[component], overrideOf(delivery, next)) : undefined
}

/** What the delivery changes about a stage for its Cluster. */
export function overrideOf({ spec }: Projected<AddonDelivery>, { name }: AddonStage): Override | undefined {
  return spec.overrides.find((one) => one.stage === name)
}

function chooseVersions(
  stages: readonly AddonStage[],
  delivery: Projected<AddonDelivery>,
  kubernetes: string,
  wanted: ReadonlySet<string>,
  adopted: string | undefined,
): { readonly versions: Versions | undefined; readonly faults: readonly MatrixFault[] } {
  const defaults = safeDefaults(kubernetes)
  const stageOf = (component: Component) => stages.find((stage) => typeOf(stage).component === component)
  const requested = (component: Component): string | undefined => {
    const stage = stageOf(component)
    const override = stage && overrideOf(delivery, stage)?.version
    return override ?? stage?.[component]?.version ?? defaults?.[component]
  }
  const isWanted = (component: Component) => wanted.has(stageOf(component)?.name ?? '')
  const flux = adopted ?? requested('flux')
  const karpenter = requested('karpenter')?.replace(/^v/, '')
  const faults = checkPair({
    kubernetes,
    // An adopted version is checked by what it serves, not by the matrix.
    ...(isWanted('flux') && flux && !adopted ? { flux } : {}),
    ...(isWanted('karpenter') && karpenter ? { karpenter } : {}),
  })
  if (faults.length > 0) return { versions: undefined, faults }
  return { versions: { flux: flux ?? '0.0.0', karpenter: karpenter ?? '0.0.0' }, faults }
}

function safeDefaults(kubernetes: string): Versions | undefined {
  try {
    return defaultVersionsFor(kubernetes, { fluxBundles: fluxVersions })
  } catch (error) {
    if (isCaptError(error)) return undefined
    throw error
  }
}
