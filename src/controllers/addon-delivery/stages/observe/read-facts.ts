// Reads what versions and rendering of all stages depend on: requests, variables, sources, and what is installed.
import { CAPTControlPlane, type ClusterFacts, type UnknownObject } from '#api'
import type { Cache, Projected } from '#kube'
import { outputsOf, type ReadSources, readSources } from '../../manifests/variable-sources.ts'
import { collectVariables } from '../../manifests/variables.ts'
import { GATES_ANNOTATION } from '../../names.ts'
import type { ObservedWorkload } from '../../observed.ts'
import { toObservedWorkload } from '../../open-workload.ts'
import { isAutoMode } from '../auto-mode.ts'
import type { StageFacts } from '../choose-versions.ts'
import { typeOf } from '../registry.ts'
import { parseGates, readRequests } from '../request.ts'
import type { StageContext } from './observe-stages.ts'

const NO_SOURCES: ReadSources = { values: [], secret: new Set(), missing: [] }

export async function readFacts(context: StageContext): Promise<StageFacts> {
  const { world, delivery, cluster, pipeline, stages, workload } = context
  const gates = parseGates(delivery.metadata.annotations?.[GATES_ANNOTATION])
  const requests = readRequests(stages, cluster.labels, gates)
  const controlPlane = controlPlaneOf(world.cache, cluster)
  const kubernetes =
    controlPlane?.status?.version ?? controlPlane?.spec.version ?? pipeline.spec.variables?.['KUBERNETES_VERSION']
  const sources = context.isQuiet
    ? NO_SOURCES
    : await readSources(world.objects, cluster.namespace, cluster.name, pipeline.spec.variablesFrom)
  const variables = collectVariables({
    cluster,
    kubernetes,
    outputs: controlPlane ? outputsOf(controlPlane) : {},
    sources: sources.values,
    pipeline: pipeline.spec.variables ?? {},
    delivery: delivery.spec.variables ?? {},
  })
  const adoptable = stages.find((stage) => typeOf(stage).existing)
  let installed: readonly UnknownObject[] | undefined
  let trouble: ObservedWorkload | undefined
  if (adoptable && requests.wanted.has(adoptable.name) && workload) {
    try {
      installed = await typeOf(adoptable).existing!.read(workload.objects)
    } catch (error) {
      trouble = toObservedWorkload(error)
    }
  }
  return {
    delivery,
    cluster,
    stages,
    gates,
    requests,
    kubernetes,
    sources,
    variables,
    adoptable,
    installed,
    trouble,
    isAutoMode: isAutoMode(controlPlane),
  }
}

export function controlPlaneOf(cache: Cache, cluster: ClusterFacts): Projected<CAPTControlPlane> | undefined {
  const ref = cluster.controlPlaneRef
  if (!ref || ref.kind !== CAPTControlPlane.kind) return undefined
  return cache.get<CAPTControlPlane>(CAPTControlPlane, { namespace: cluster.namespace, name: ref.name })
}
