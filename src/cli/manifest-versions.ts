// Finds the Kubernetes, Flux and Karpenter versions that manifests name, wherever each kind keeps them.
import { parseVersion } from '#catalog'
import type { Manifest } from '#karpenter'
import { ownValueAt } from '#lib'

interface Found {
  readonly from: string
  readonly kubernetes: string
  readonly flux?: string | undefined
  readonly karpenter?: string | undefined
}

interface Given {
  readonly kubernetes?: string | undefined
  readonly flux?: string | undefined
  readonly karpenter?: string | undefined
}

/** One question per cluster version found; flags win over what the manifests say. */
export function versionsIn(manifests: readonly Manifest[], given: Given): Found[] {
  const flux = given.flux ?? first(manifests, fluxOf)
  const karpenter = given.karpenter ?? first(manifests, karpenterOf)
  if (given.kubernetes) return [{ from: 'flags', kubernetes: given.kubernetes, flux, karpenter }]
  return manifests.flatMap((manifest) => {
    const kubernetes = kubernetesOf(manifest)
    return kubernetes ? [{ from: `${manifest.kind}/${manifest.name}`, kubernetes, flux, karpenter }] : []
  })
}

function first<T>(items: readonly T[], read: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const version = read(item)
    if (version) return version
  }
  return undefined
}

function kubernetesOf({ kind, body }: Manifest): string | undefined {
  if (kind === 'Cluster') return text(body, 'spec', 'topology', 'version')
  return /ControlPlane$/.test(kind) ? text(body, 'spec', 'version') : undefined
}

function fluxOf({ kind, body }: Manifest): string | undefined {
  return kind === 'AddonPipeline' ? stageVersion(body, 'flux') : undefined
}

function karpenterOf({ kind, body }: Manifest): string | undefined {
  if (kind === 'AddonPipeline') return stageVersion(body, 'karpenter')
  if (kind === 'HelmRelease' && text(body, 'spec', 'chart', 'spec', 'chart') === 'karpenter')
    return text(body, 'spec', 'chart', 'spec', 'version')
  if (kind === 'OCIRepository' && /\/karpenter\/karpenter$/.test(text(body, 'spec', 'url') ?? ''))
    return text(body, 'spec', 'ref', 'tag')
  return undefined
}

function stageVersion(body: Readonly<Record<string, unknown>>, component: string): string | undefined {
  const stages = at(body, 'spec', 'stages')
  return Array.isArray(stages) ? first(stages, (stage) => text(stage, component, 'version')) : undefined
}

const at = (value: unknown, ...path: string[]): unknown => ownValueAt(value, path)

function text(value: unknown, ...path: string[]): string | undefined {
  const found = at(value, ...path)
  const version = typeof found === 'number' ? String(found) : found
  if (typeof version !== 'string') return undefined
  return path.at(-1) === 'version' || path.at(-1) === 'tag' ? (parseVersion(version) ? version : undefined) : version
}
