// The stage type resources: manifests that people keep in ConfigMaps and Secrets of the pipeline's namespace.
import { type ConfigMap, ConfigMapKind, decodeData, type Secret, SecretKind } from '#api'
import type { Objects } from '#kube'
import { CaptError, type Json } from '#lib'
import { expand } from '../manifests/expand.ts'
import { lintManifests } from '../manifests/lint.ts'
import { type Manifest, parseManifests } from '../manifests/manifests.ts'
import { renderPart } from '../resource-set/render-part.ts'
import { deliveredObjects } from '../teardown/delivered.ts'
import { type Rendered, ready, type SourceText, type StageInput } from './render/rendered.ts'
import type { SourceRef, StageType } from './stage-type.ts'

export const resourcesStage: StageType = {
  sources: ({ resources = [] }) => resources,
  readInput: async ({ resources = [] }, { management, namespace }) => ({
    sources: await readTexts(resources, management, namespace),
  }),
  render,
  removal: () => [deliveredObjects],
}

function render(input: StageInput): Rendered {
  const resources = input.stage.resources ?? []
  const absent = resources.filter(
    (one) => !input.sources.some((source) => source.kind === one.kind && source.name === one.name && source.values),
  )
  if (absent.length > 0)
    return { is: 'missing', variables: [], sources: absent.map((one) => `${one.kind} ${one.name}`).sort() }
  const manifests = resources.flatMap((one) => {
    const source = input.sources.find((other) => other.kind === one.kind && other.name === one.name)!
    return Object.keys(source.values!)
      .sort()
      .flatMap((key) => parseManifests(source.values![key]!, `${one.kind} ${one.name}, key ${key}`))
  })
  const expanded = expand(manifests as unknown as Json, input.variables)
  if (expanded.missing.length > 0) return { is: 'missing', variables: expanded.missing, sources: [] }
  const isSecret =
    resources.some(({ kind }) => kind === 'Secret') ||
    [...expanded.used].some((name) => input.secretVariables.has(name))
  const final = expanded.value as unknown as readonly Manifest[]
  const [finding] = lintManifests(final, `Stage ${input.stage.name}`)
  if (finding)
    throw new CaptError('CAPT_MANIFEST_TRAP', finding.message, {
      hint: 'ClusterResourceSet would go wrong with it; change the manifest',
    })
  if (final.length === 0)
    throw new CaptError('CAPT_MANIFEST_INVALID', `Stage ${input.stage.name} delivers nothing`, {
      hint: 'Put manifests into its sources',
    })
  return ready(undefined, [renderPart(input, '', final, input.stage.checks, { secret: isSecret })])
}

async function readTexts(
  refs: readonly SourceRef[],
  objects: Objects,
  namespace: string,
): Promise<readonly SourceText[]> {
  return await Promise.all(
    refs.map(async ({ kind, name }): Promise<SourceText> => {
      const key = { namespace, name }
      if (kind === 'ConfigMap') return { kind, name, values: (await objects.get<ConfigMap>(ConfigMapKind, key))?.data }
      const data = (await objects.get<Secret>(SecretKind, key))?.data
      return { kind, name, values: data && decodeData(data) }
    }),
  )
}
