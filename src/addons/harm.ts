// Looks for what would make a delivery do harm: a second Karpenter in another namespace, or objects stored in an API
// version that the new CRDs no longer have. Asked only before content changes.
import {
  type AddonStage,
  CustomResourceDefinitionKind,
  DeploymentKind,
  type StageStatus,
  type UnknownObject,
} from '#api'
import type { Objects } from '#kube'
import { isPlainObject } from '#lib'
import type { Existing } from './delivery-seen.ts'
import type { Manifest } from './manifests.ts'
import type { StageContext } from './observe-stages.ts'
import type { Rendered } from './render-stage.ts'

export async function findHarm(
  { workload }: StageContext,
  stage: AddonStage,
  rendered: Extract<Rendered, { is: 'ready' }>,
  existing: Existing,
  before: StageStatus | undefined,
): Promise<Existing | undefined> {
  if (!workload || before?.contentHash === rendered.hash) return undefined
  if (stage.karpenter) return await findSecondKarpenter(workload.objects, stage.karpenter.namespace)
  if (stage.flux && existing.is === 'ours')
    return await findStoredVersions(
      workload.objects,
      rendered.parts.flatMap((part) => part.manifests),
    )
  return undefined
}

/** Two controllers would fight over the same pods, and moving a release uninstalls it first. */
async function findSecondKarpenter(objects: Objects, namespace: string): Promise<Existing | undefined> {
  for await (const one of objects.list<UnknownObject>(DeploymentKind, {
    labelSelector: 'app.kubernetes.io/name=karpenter',
  })) {
    if (one.metadata.namespace === namespace) continue
    const message = `Karpenter already runs in namespace ${one.metadata.namespace}`
    const hint = `Set karpenter.namespace to ${one.metadata.namespace}, or take that installation away first`
    return { is: 'blocked', code: 'CAPT_KARPENTER_ELSEWHERE', message, hint }
  }
  return undefined
}

/** The API server refuses a CRD that lacks a version in which objects are still stored. */
async function findStoredVersions(objects: Objects, manifests: readonly Manifest[]): Promise<Existing | undefined> {
  for (const manifest of manifests) {
    if (manifest.kind !== 'CustomResourceDefinition') continue
    const live = await objects.get<UnknownObject>(CustomResourceDefinitionKind, { name: manifest.metadata.name })
    const stored: unknown = isPlainObject(live?.['status']) ? live['status']['storedVersions'] : undefined
    const kept = versionsOf(manifest)
    const lost = (Array.isArray(stored) ? stored : []).filter((version) => !kept.includes(String(version)))
    if (lost.length === 0) continue
    const message = `Objects of ${manifest.metadata.name} are still stored as ${lost.join(', ')}, which the new version does not have`
    const hint = 'Run flux migrate on the workload cluster, then capt retry'
    return { is: 'blocked', code: 'CAPT_FLUX_STORED_VERSIONS', message, hint }
  }
  return undefined
}

function versionsOf({ spec }: Manifest): readonly string[] {
  const versions: unknown = isPlainObject(spec) ? spec['versions'] : undefined
  return Array.isArray(versions) ? versions.flatMap((one) => (isPlainObject(one) ? [String(one['name'])] : [])) : []
}
