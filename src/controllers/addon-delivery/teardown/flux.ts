// The step that removes Flux: first the sources that capt delivered, while Flux runs, then Flux itself.
import type { AnyObject } from '#api'
import { FLUX_FINALIZER } from '#catalog'
import type { Objects } from '#kube'
import { HelmReleaseKind, HelmRepositoryKind, OCIRepositoryKind } from '../health/read.ts'
import { MANAGED_LABEL } from '../names.ts'
import type { StepDraft } from '../stages/stage-type.ts'
import { deliveredObjects, observeDelivered } from './delivered.ts'
import { isFluxAlive, things } from './objects.ts'
import type { TeardownContext } from './observe.ts'
import type { ObservedStep, Step, Thing } from './observed.ts'

export const fluxObjects: StepDraft = { ...deliveredObjects, finalizers: [FLUX_FINALIZER], observe: observeFlux }

async function observeFlux(objects: Objects, step: Step, context: TeardownContext): Promise<ObservedStep> {
  const sources = await ownSources(objects)
  // Flux removes its finalizers itself: what is of its kinds goes while it runs, or its CRDs would wait for ever.
  if (sources.length > 0) return { step, left: sources, inUse: [], isControllerAlive: await isFluxAlive(objects) }
  const delivered = await observeDelivered(objects, step, context)
  return { ...delivered, inUse: await foreignReleases(objects), isControllerAlive: false }
}

/** Also sources left by an earlier request that would not be delivered now. */
async function ownSources(objects: Objects): Promise<readonly Thing[]> {
  const isOurs = ({ metadata }: AnyObject) => metadata.labels?.[MANAGED_LABEL] === 'true'
  const kinds = [OCIRepositoryKind, HelmRepositoryKind]
  return (await Promise.all(kinds.map((kind) => things(objects, kind, isOurs)))).flat()
}

async function foreignReleases(objects: Objects): Promise<readonly string[]> {
  const found = await things(objects, HelmReleaseKind, (release) => release.metadata.labels?.[MANAGED_LABEL] !== 'true')
  return found.map((thing) => `HelmRelease ${thing.key.namespace}/${thing.key.name}`).sort()
}
