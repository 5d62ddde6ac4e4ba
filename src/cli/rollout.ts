// What `capt rollout` reads and changes: a CAPTMachineDeployment and the sets of its earlier templates.
import {
  type AnyObject,
  CAPTMachineDeployment,
  CAPTMachineSet,
  conditionOf,
  notFound,
  REVISION_ANNOTATION,
  TEMPLATE_HASH_LABEL,
} from '#api'
import type { Connected } from '#kube'
import { CaptError } from '#lib'

export interface DeploymentKey {
  readonly namespace: string
  readonly name: string
}

interface Revision {
  readonly revision: number
  readonly set: CAPTMachineSet
}

export async function readDeployment({ objects }: Connected, key: DeploymentKey): Promise<CAPTMachineDeployment> {
  const found = await objects.get<CAPTMachineDeployment>(CAPTMachineDeployment, key)
  if (!found) throw notFound(CAPTMachineDeployment, key)
  return found
}

/** The sets of a deployment, newest template first. */
export async function readRevisions(
  { objects, namespace }: Connected,
  deployment: CAPTMachineDeployment,
): Promise<readonly Revision[]> {
  const all = await Array.fromAsync(objects.list<CAPTMachineSet>(CAPTMachineSet, { namespace }))
  return all
    .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === deployment.metadata.uid))
    .map((set) => ({ revision: revisionOf(set), set }))
    .sort((a, b) => b.revision - a.revision)
}

export const revisionOf = ({ metadata }: AnyObject): number => Number(metadata.annotations?.[REVISION_ANNOTATION] ?? 0)

/** The revision to go back to: the one before the current, or the one that was asked for. */
export function chooseRevision(revisions: readonly Revision[], current: number, wanted: number | undefined): Revision {
  const found =
    wanted === undefined
      ? revisions.find(({ revision }) => revision < current)
      : revisions.find(({ revision }) => revision === wanted)
  const known = revisions.map(({ revision }) => revision).join(', ') || 'none'
  if (!found)
    throw new CaptError(
      'CAPT_ROLLOUT_NO_REVISION',
      wanted === undefined ? 'There is no earlier revision' : `There is no revision ${wanted}`,
      { hint: `known revisions: ${known}; spec.revisionHistoryLimit says how many are kept` },
    )
  if (found.revision === current)
    throw new CaptError('CAPT_ROLLOUT_NO_REVISION', `Revision ${current} is the current one`, {
      hint: `known revisions: ${known}`,
    })
  return found
}

/** The template of a set as the deployment had it. */
export function toTemplate({ spec }: CAPTMachineSet): CAPTMachineDeployment['spec']['template'] {
  const { [TEMPLATE_HASH_LABEL]: _hash, ...labels } = spec.template.metadata?.labels ?? {}
  return { ...spec.template, metadata: { ...spec.template.metadata, labels } }
}

type Progress = { readonly is: 'complete' | 'working' | 'failed'; readonly message: string }

/** Where the update of the current generation is. */
export function progressOf(deployment: CAPTMachineDeployment): Progress {
  const { status, metadata } = deployment
  if (status?.observedGeneration !== metadata.generation)
    return { is: 'working', message: 'Waiting for the change to be observed' }
  const ready = conditionOf(deployment, 'Ready')
  if (ready?.status === 'True')
    return { is: 'complete', message: conditionOf(deployment, 'Progressing')?.message ?? '' }
  const stalled = conditionOf(deployment, 'Stalled')
  if (stalled?.status === 'True') return { is: 'failed', message: stalled.message }
  return { is: 'working', message: ready?.message ?? 'Waiting for its first report' }
}
