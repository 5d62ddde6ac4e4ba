// Gathers what rendering a stage needs beyond the pipeline itself: bundles, files, sources, room for replicas.
import {
  type AddonStage,
  type AnyObject,
  type ConfigMap,
  ConfigMapKind,
  NodeKind,
  type Secret,
  SecretKind,
  type UnknownObject,
} from '#api'
import { fluxVersions, loadFluxDefinitions } from '#catalog'
import { isKubeError, type Objects } from '#kube'
import { CaptError, isCaptError, type JsonObject, sha256 } from '#lib'
import type { DeliveryPorts } from './delivery-ports.ts'
import { HelmReleaseKind } from './health-read.ts'
import type { StageContext } from './observe-stages.ts'
import { type Rendered, renderStage, type SourceText, type StageInput } from './render-stage.ts'

type Known = Pick<StageInput, 'variables' | 'secretVariables' | 'versions' | 'probe' | 'isFluxAdopted'>

export async function renderFrom(context: StageContext, stage: AddonStage, known: Known): Promise<Rendered> {
  try {
    return renderStage(await stageInput(context, stage, known))
  } catch (error) {
    if (!isCaptError(error) || isKubeError(error)) throw error
    return { is: 'refused', code: error.code, message: error.message, hint: error.hint ?? 'Correct the AddonPipeline' }
  }
}

async function stageInput(context: StageContext, stage: AddonStage, known: Known): Promise<StageInput> {
  const { cluster, delivery, workload } = context
  const isBundled =
    stage.flux !== undefined &&
    !known.isFluxAdopted &&
    !stage.flux.manifest &&
    fluxVersions.includes(known.versions.flux)
  const needsNodes = stage.karpenter !== undefined && stage.karpenter.replicas === undefined && workload !== undefined
  return {
    stage,
    cluster: cluster.name,
    ...known,
    override: delivery.spec.overrides.find((one) => one.stage === stage.name),
    definitions: isBundled ? await loadFluxDefinitions(known.versions.flux) : ([] as readonly JsonObject[]),
    installFile: stage.flux?.manifest ? await installFile(context.ports, stage.flux.manifest) : undefined,
    sources: await readTexts(context, stage),
    ...(needsNodes
      ? await readPlaces(workload.objects, stage.karpenter!.namespace)
      : { nodes: undefined, liveReplicas: undefined }),
  }
}

const files = new Map<string, string>()

async function installFile(
  ports: DeliveryPorts,
  manifest: { readonly url: string; readonly sha256: string },
): Promise<string> {
  const known = files.get(manifest.sha256)
  if (known !== undefined) return known
  if (!ports.fetchText)
    throw new CaptError('CAPT_FLUX_MANIFEST', 'This capt cannot fetch install files', {
      hint: 'Leave flux.manifest out',
    })
  const text = await ports.fetchText(manifest.url)
  const actual = sha256(text)
  if (actual !== manifest.sha256)
    throw new CaptError('CAPT_FLUX_MANIFEST', `${manifest.url} has checksum ${actual}, not the one that is pinned`, {
      hint: 'Check the file, then pin its checksum in flux.manifest.sha256',
    })
  files.set(manifest.sha256, text)
  return text
}

async function readTexts({ world, pipeline }: StageContext, stage: AddonStage): Promise<readonly SourceText[]> {
  return await Promise.all(
    (stage.resources ?? []).map(async ({ kind, name }): Promise<SourceText> => {
      const key = { namespace: pipeline.metadata.namespace!, name }
      if (kind === 'ConfigMap')
        return { kind, name, values: (await world.objects.get<ConfigMap>(ConfigMapKind, key))?.data }
      const data = (await world.objects.get<Secret>(SecretKind, key))?.data
      return {
        kind,
        name,
        values:
          data &&
          Object.fromEntries(
            Object.entries(data).map(([field, value]) => [field, Buffer.from(value, 'base64').toString('utf8')]),
          ),
      }
    }),
  )
}

/** Where the controller could run: nodes that Karpenter did not make, and how many replicas it has now. */
async function readPlaces(
  objects: Objects,
  namespace: string,
): Promise<{ nodes: number | undefined; liveReplicas: number | undefined }> {
  try {
    let nodes = 0
    for await (const node of objects.list<AnyObject>(NodeKind, { labelSelector: '!karpenter.sh/nodepool' }))
      nodes += node.metadata.deletionTimestamp ? 0 : 1
    const release = await objects
      .get<UnknownObject>(HelmReleaseKind, { namespace, name: 'karpenter' })
      .catch((error: unknown) => {
        if (isKubeError(error, 'KindNotServed')) return undefined
        throw error
      })
    const { spec } = (release ?? {}) as { spec?: { values?: { replicas?: number } } }
    return { nodes: nodes === 0 ? undefined : nodes, liveReplicas: spec?.values?.replicas }
  } catch (error) {
    if (isKubeError(error)) return { nodes: undefined, liveReplicas: undefined }
    throw error
  }
}
