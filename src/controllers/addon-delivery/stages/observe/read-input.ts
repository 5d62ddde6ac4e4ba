// Reads what rendering each stage needs beyond the pipeline itself. A source that is refused is an answer, not an error.
import type { AddonStage } from '#api'
import { isKubeError } from '#kube'
import { isCaptError } from '#lib'
import { type ChosenVersions, chartToProbe, overrideOf, type StageFacts } from '../choose-versions.ts'
import { typeOf } from '../registry.ts'
import { readAccess } from '../registry-access.ts'
import { toRefused } from '../render/render-stage.ts'
import type { ListedStage } from '../render/render-stages.ts'
import type { ChartProbe, Rendered, StageInput } from '../render/rendered.ts'
import type { Chart } from '../stage-type.ts'
import type { StageContext } from './observe-stages.ts'

type Known = Pick<
  StageInput,
  'variables' | 'secretVariables' | 'versions' | 'probe' | 'isFluxAdopted' | 'fluxNamespace' | 'isAutoMode'
>

/** By stage name. Empty while versions are unknown or do not fit. */
export async function readInputs(
  context: StageContext,
  facts: StageFacts,
  { versions, faults, installed }: ChosenVersions,
  listed: readonly ListedStage[],
): Promise<ReadonlyMap<string, StageInput | Rendered>> {
  const inputs = new Map<string, StageInput | Rendered>()
  if (!versions || faults.length > 0) return inputs
  const { sources, variables } = facts
  const missing: Rendered = { is: 'missing', variables: [], sources: sources.missing }
  const known: Known = {
    variables,
    secretVariables: sources.secret,
    versions,
    isFluxAdopted: installed.existing.is === 'foreign',
    fluxNamespace: installed.namespace,
    isAutoMode: facts.isAutoMode,
    probe: await readProbe(context, chartToProbe(facts, versions)),
  }
  for (const { stage, isRendered } of listed)
    if (isRendered)
      inputs.set(stage.name, sources.missing.length > 0 ? missing : await readInput(context, stage, known))
  return inputs
}

/** Without its Secrets the chart is not probed: the stage that needs them reports what is missing. */
async function readProbe(context: StageContext, chart: Chart | undefined): Promise<ChartProbe | undefined> {
  if (!chart) return undefined
  const { url, tag, source } = chart
  try {
    const access = await readAccess(source, sourcesOf(context))
    return access && access.missing.length > 0 ? undefined : { url, tag, access }
  } catch (error) {
    if (!isCaptError(error) || isKubeError(error)) throw error
    return undefined
  }
}

const sourcesOf = ({ world, pipeline, cluster }: StageContext) => ({
  management: world.objects,
  namespace: pipeline.metadata.namespace!,
  clusterNamespace: cluster.namespace,
})

async function readInput(context: StageContext, stage: AddonStage, known: Known): Promise<StageInput | Rendered> {
  const { cluster, delivery, ports, workload } = context
  const override = overrideOf(delivery, stage)
  try {
    const read = await typeOf(stage).readInput?.(stage, {
      ports,
      ...sourcesOf(context),
      override,
      workload: workload?.objects,
      known,
    })
    return {
      stage,
      cluster: cluster.name,
      ...known,
      override,
      definitions: [],
      installFile: undefined,
      sources: [],
      nodes: undefined,
      liveReplicas: undefined,
      ...read,
    }
  } catch (error) {
    if (!isCaptError(error) || isKubeError(error)) throw error
    return toRefused(error)
  }
}
