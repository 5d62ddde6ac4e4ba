// Revisions of a pipeline: what a delivery renders, named by its content. With a rollout a delivery keeps its revision until its wave;
// the status of the pipeline holds the content of those that are in use, because only capt writes it. Pure.
import type { AddonDelivery, AddonPipeline, PipelineRevision } from '#api'
import type { Projected } from '#kube'
import { hashOf } from '#lib'

type Content = Pick<AddonPipeline['spec'], 'variables' | 'variablesFrom' | 'stages' | 'teardown'>

/** What reaches clusters. Who is selected and how the change is rolled out are no part of it. */
function contentOf({ spec }: AddonPipeline): Content {
  const { variables, variablesFrom, stages, teardown } = spec
  return { ...(variables ? { variables } : {}), variablesFrom, stages, teardown }
}

/** By the spec that they were computed from: every reconcile of a delivery asks for one. */
const computed = new WeakMap<AddonPipeline['spec'], string>()

export function revisionOf(pipeline: AddonPipeline): string {
  const known = computed.get(pipeline.spec)
  if (known !== undefined) return known
  const revision = hashOf(contentOf(pipeline)).slice(0, 16)
  computed.set(pipeline.spec, revision)
  return revision
}

/** The revision that a delivery has; before the first wave that is the one it was last rendered from. */
export function assignedRevision({ spec, status }: Pick<AddonDelivery, 'spec' | 'status'>): string | undefined {
  return spec.revision ?? status?.revision
}

export type Followed =
  | { readonly is: 'newest' | 'earlier'; readonly revision: string; readonly pipeline: Projected<AddonPipeline> }
  /** Its content is not known any more, after a move for instance. */
  | { readonly is: 'unknown'; readonly revision: string }

/** The pipeline as one delivery is to render it. */
export function followRevision(
  pipeline: Projected<AddonPipeline>,
  delivery: Pick<AddonDelivery, 'spec' | 'status'>,
): Followed {
  const newest = revisionOf(pipeline)
  const own = pipeline.spec.rollout ? (assignedRevision(delivery) ?? newest) : newest
  if (own === newest) return { is: 'newest', revision: newest, pipeline }
  const kept = pipeline.status?.revisions?.find(({ name }) => name === own)
  if (!kept) return { is: 'unknown', revision: own }
  const { variables: _newer, ...rest } = pipeline.spec
  const spec = { ...rest, ...(kept.content as unknown as Content) }
  return { is: 'earlier', revision: own, pipeline: { ...pipeline, spec } }
}

/** Revisions to keep: the newest, and those that deliveries still have. None without a rollout. */
export function keptRevisions(
  pipeline: AddonPipeline,
  inUse: ReadonlySet<string | undefined>,
  now: string,
): readonly PipelineRevision[] | undefined {
  if (!pipeline.spec.rollout) return undefined
  const newest = revisionOf(pipeline)
  const known = pipeline.status?.revisions ?? []
  const own = known.find(({ name }) => name === newest) ?? {
    name: newest,
    since: now,
    content: contentOf(pipeline) as unknown as PipelineRevision['content'],
  }
  return [own, ...known.filter(({ name }) => name !== newest && inUse.has(name))]
}
