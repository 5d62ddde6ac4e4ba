// Reads what an examination needs: the objects that were asked for, what is kept beside each apply, and what AWS knows of
// it. What cannot be asked is part of the sight, so that the rest is still shown.
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  clusterKind,
  type KindRef,
  WorkspaceTemplateApply,
} from '#api'
import { examineWorkspace, isUnreadable, type WorkspaceExam } from '#engine'
import { CaptError, isCaptError, messageOf, redact } from '#lib'
import type { Connected } from './command.ts'
import { readClusterObjects } from './describe.ts'
import { type CloudSight, isInAws, type WorkspaceSeen } from './doctor-diagnose.ts'
import { findKind } from './resources.ts'
import { notFound } from './retry.ts'

/** What the doctor asks of AWS. Throws CaptError when it cannot be asked at all. */
export interface Cloud {
  /** Where the apply says that it makes things. */
  regionOf(apply: WorkspaceTemplateApply): string | undefined
  /** What carries the tag of a workspace, in the region of the apply, in these, and where global things are. */
  findTagged(
    apply: WorkspaceTemplateApply,
    workspaceId: string,
    regions: readonly string[],
  ): Promise<Omit<CloudSight & { readonly is: 'asked' }, 'is'>>
}

export interface Scope {
  readonly applies: readonly WorkspaceTemplateApply[]
  /** The other objects of ours that may have stopped. */
  readonly others: readonly AnyObject[]
}

/** `demo`, `cluster demo`, `wtapply demo-vpc`, or nothing for the whole namespace. */
export async function readScope(words: readonly string[], connected: Connected): Promise<Scope> {
  const { objects, namespace } = connected
  const [first, name] = words
  if (first === undefined) {
    const kinds = [CAPTCluster, CAPTControlPlane, AddonDelivery]
    const others = (await Promise.all(kinds.map((kind) => listed(connected, kind)))).flat()
    return { applies: await listed<WorkspaceTemplateApply>(connected, WorkspaceTemplateApply), others }
  }
  const kind = name === undefined ? undefined : await findKind(first, connected)
  if (kind === undefined || kind.kind === clusterKind('v1beta2').kind) {
    const found = await readClusterObjects(name ?? first, connected)
    const { applies, infrastructure, controlPlane, deliveries } = found
    return { applies, others: [infrastructure, controlPlane, ...deliveries].flatMap((one) => one ?? []) }
  }
  if (kind.kind !== WorkspaceTemplateApply.kind)
    throw new CaptError('CAPT_USAGE', `doctor looks at clusters and applies, not at ${kind.plural}`, {
      hint: 'capt doctor CLUSTER, or: capt doctor wtapply NAME',
    })
  const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name: name! })
  if (!apply) throw notFound(name!, namespace)
  return { applies: [apply], others: [] }
}

async function listed<T extends AnyObject>({ objects, namespace }: Connected, kind: KindRef): Promise<readonly T[]> {
  const found: T[] = []
  for await (const object of objects.list<T>(kind, { namespace })) found.push(object)
  return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
}

export async function observeWorkspace(
  { objects, namespace }: Connected,
  apply: WorkspaceTemplateApply,
  cloud: Cloud | undefined,
  nowMs: number,
): Promise<WorkspaceSeen> {
  const exam = await examineWorkspace(objects, { namespace, name: apply.metadata.name })
  return { apply, exam, cloud: await observeCloud(apply, exam, cloud), nowMs }
}

async function observeCloud(
  apply: WorkspaceTemplateApply,
  exam: WorkspaceExam,
  cloud: Cloud | undefined,
): Promise<CloudSight> {
  if (!cloud) return { is: 'skipped' }
  const record = exam.record && !isUnreadable(exam.record) ? exam.record : undefined
  if (!record || !isInAws(exam, cloud.regionOf(apply))) return { is: 'elsewhere' }
  const regions = exam.state.is === 'whole' ? exam.state.identities.regions : []
  try {
    return { is: 'asked', ...(await cloud.findTagged(apply, record.workspaceId, regions)) }
  } catch (error) {
    if (!isCaptError(error)) throw error
    return { is: 'unknown', message: redact(messageOf(error)), hint: error.hint ?? '' }
  }
}
