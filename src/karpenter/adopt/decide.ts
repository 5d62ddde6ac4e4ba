// Decides what an adoption does with the Flux and Karpenter that run in a cluster: taken over as they are, left alone, or refused. Pure.
import type { EksCluster } from '#aws'
import { CaptError } from '#lib'
import type { ReleaseFacts } from '../migrate/read-state.ts'
import type { ClusterSurvey } from '../survey/survey.ts'

interface AdoptionRequest {
  /** Flux is asked for, or comes with Karpenter. */
  readonly flux: boolean
  readonly karpenter: boolean
}

interface Adoption {
  /** What was found and what becomes of it, for people. */
  readonly notes: readonly string[]
  /** The release that is taken over. */
  readonly release?: ReleaseFacts
}

type Found = Pick<ClusterSurvey, 'flux' | 'karpenter' | 'journal'>

/** Throws where Karpenter is asked for and cannot be taken over. */
export function decideAdoption(
  { name, isAutoMode }: Pick<EksCluster, 'name' | 'isAutoMode'>,
  { flux, karpenter, journal }: Found,
  release: ReleaseFacts | undefined,
  wanted: AdoptionRequest,
): Adoption {
  const notes = [
    flux ? `Flux ${flux.version} runs and is left as it is` : wanted.flux ? 'Flux is delivered' : 'no Flux runs',
    ...(isAutoMode ? ['EKS Auto Mode is on: it runs a Karpenter of its own'] : []),
    ...karpenter.map((one) => `Karpenter ${one.version ?? 'of an unknown version'} runs in namespace ${one.namespace}`),
  ]
  if (!wanted.karpenter)
    return { notes: karpenter.length > 0 ? [...notes, 'Karpenter is left as it is; --karpenter takes it over'] : notes }
  const refuse = (message: string, hint: string) =>
    new CaptError('CAPT_ADOPT_KARPENTER', message, { hint: `${hint}; nothing was changed` })
  if (isAutoMode) throw refuse(`EKS Auto Mode is on in ${name}`, 'leave --karpenter out')
  const [only, ...more] = karpenter
  if (!only)
    throw refuse(
      `no Karpenter runs in ${name}`,
      `install it first (capt karpenter install ${name}), or leave --karpenter out`,
    )
  if (more.length > 0)
    throw refuse(
      `two Karpenters run in ${name}: ${karpenter.map(({ namespace }) => namespace).join(', ')}`,
      'remove one of them',
    )
  if (journal)
    throw refuse(`capt karpenter install keeps the Karpenter of ${name}`, `go on with capt karpenter upgrade ${name}`)
  if (only.fluxOwner !== undefined)
    throw refuse(`Flux keeps Karpenter as ${only.fluxOwner} says`, 'leave it there: two owners would undo each other')
  if (!release || release.name === undefined)
    throw refuse(
      `the Karpenter in namespace ${only.namespace} is no Helm release with the name karpenter`,
      'helm-controller adopts by release name and namespace only: leave --karpenter out',
    )
  return {
    notes: [...notes, `the Helm release karpenter ${release.version ?? ''} is taken over with its values`],
    release,
  }
}
