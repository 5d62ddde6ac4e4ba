// The step that removes what a stage delivered, in reverse order: objects of a CRD before the CRD, everything before its
// namespace.
import { keyOf } from '#api'
import type { Objects } from '#kube'
import { parseKindRef } from '../manifests/kind-ref.ts'
import { type Manifest, parseManifests } from '../manifests/manifests.ts'
import { payloadKind, readText } from '../resource-set/payloads.ts'
import type { StepDraft } from '../stages/stage-type.ts'
import { one, toObserved } from './objects.ts'
import type { TeardownContext } from './observe.ts'
import type { ObservedStep, Step } from './observed.ts'

export const deliveredObjects: StepDraft = { type: 'objects', observe: observeDelivered }

export async function observeDelivered(objects: Objects, step: Step, context: TeardownContext): Promise<ObservedStep> {
  const manifests = await deliveredBy(context, step.stage)
  const removable = [...manifests].reverse().filter((manifest) => !isShared(manifest))
  const found = (
    await Promise.all(removable.map((manifest) => one(objects, parseKindRef(manifest), keyOf(manifest))))
  ).flat()
  const left = found.filter((thing) => thing.kind.kind !== 'Namespace')
  const namespaces = found.filter((thing) => thing.kind.kind === 'Namespace')
  // An adopted installation was not delivered and stays.
  const adopted = context.delivery.status?.stages?.find((one) => one.name === step.stage)?.adopted
  const rest = left.length > 0 ? left : namespaces
  return toObserved(step, adopted ? [] : rest)
}

/** kube-system and default belong to the cluster, even when a manifest names them. */
function isShared(manifest: Manifest): boolean {
  return (
    manifest.kind === 'Namespace' &&
    ['kube-system', 'default', 'kube-public', 'kube-node-lease'].includes(manifest.metadata.name)
  )
}

/** From what would be delivered now, else from the payloads that are still there. */
async function deliveredBy(
  { observedStages, delivery, world, cluster }: TeardownContext,
  stage: string,
): Promise<readonly Manifest[]> {
  const rendered = observedStages.find((one) => one.stage.name === stage)?.rendered
  if (rendered?.is === 'ready') return rendered.parts.flatMap((part) => part.manifests)
  const rows = delivery.status?.stages?.find((one) => one.name === stage)?.delivered?.resources ?? []
  const texts = await Promise.all(
    rows.map(async (row) => {
      const live = await world.objects.get(payloadKind(row), { namespace: cluster.namespace, name: row.name })
      return live ? readText(live, row.kind) : []
    }),
  )
  return texts.flat().flatMap((text) => parseManifests(text, `payload of ${stage}`))
}
