// Handing over from the Cluster Autoscaler: its Deployment is scaled to zero, and the node groups of the controller shrink to
// what the controller needs. Done after Karpenter was verified; what was before is kept in the journal. Pure.
import type { NodeGroupSize } from '#aws'
import { idOf } from '../journal.ts'
import type { FoundDeployment, Survey } from '../survey/survey.ts'
import type { Choices } from './choose.ts'
import type { Options, Refusal } from './options.ts'
import type { Resource } from './resources.ts'

export interface HandOverStep {
  /** Its value is what was there before. */
  readonly resource: Resource
  readonly do: 'change' | 'keep'
  readonly reason: string
  readonly isOurs: boolean
}

interface HandOver {
  readonly steps: readonly HandOverStep[]
  readonly refusals: readonly Refusal[]
}

export function planHandOver(survey: Survey, choices: Choices, { replaceAutoscaler }: Options): HandOver {
  if (!replaceAutoscaler) return { steps: [], refusals: [] }
  const { autoscalers } = survey.kubernetes
  const field = '--replace-cluster-autoscaler'
  if (autoscalers.length === 0)
    return {
      steps: [],
      refusals: [
        {
          code: 'CAPT_KARPENTER_AUTOSCALER',
          field,
          message: 'the cluster has no Deployment of the Cluster Autoscaler',
          hint: `leave ${field} out`,
        },
      ],
    }
  const owned = autoscalers.filter((one) => one.fluxOwner !== undefined && one.replicas > 0)
  return {
    steps: [
      ...autoscalers.map((one) => stopAutoscaler(one, survey)),
      ...choices.placement.value.flatMap((name) => shrinkGroup(name, survey, choices)),
    ],
    refusals: owned.map(({ namespace, name, fluxOwner }) => ({
      code: 'CAPT_KARPENTER_AUTOSCALER',
      field,
      message: `Flux keeps Deployment ${namespace}/${name} as ${fluxOwner} says, and would start it again`,
      hint: `set its replicas to 0 in ${fluxOwner} once Karpenter works, and leave ${field} out`,
    })),
  }
}

function stopAutoscaler({ namespace, name, replicas }: FoundDeployment, survey: Survey): HandOverStep {
  const resource: Resource = {
    type: 'autoscaler',
    name: `${namespace}/${name}`,
    value: String(replicas),
    about: `${replicas} → 0 replicas`,
  }
  const isOurs = isInJournal(resource, survey)
  if (replicas > 0) return { resource, do: 'change', reason: 'Karpenter takes its place', isOurs: true }
  return { resource: { ...resource, about: '0 replicas' }, do: 'keep', reason: 'it does not run', isOurs }
}

/** One group needs a node for each replica; with more groups, often one for each zone, one node each does. */
function shrinkGroup(name: string, survey: Survey, { placement, replicas }: Choices): readonly HandOverStep[] {
  const size = survey.nodeGroups.find((group) => group.name === name)?.size
  if (!size) return []
  const nodes = placement.value.length === 1 ? replicas : 1
  const desired = { min: Math.min(size.min, nodes), max: size.max, desired: nodes }
  const resource: Resource = {
    type: 'node-group-size',
    name,
    value: formatSize(size),
    desired,
    about: `${size.desired} → ${nodes} nodes`,
  }
  if (size.desired > nodes)
    return [{ resource, do: 'change', reason: 'Karpenter makes the nodes of its pods', isOurs: true }]
  const about = `${size.desired} nodes`
  return [
    { resource: { ...resource, about }, do: 'keep', reason: 'small enough', isOurs: isInJournal(resource, survey) },
  ]
}

const isInJournal = (resource: Resource, { kubernetes }: Survey): boolean =>
  kubernetes.journal?.made.some((one) => idOf(one) === idOf(resource)) ?? false

const formatSize = ({ min, max, desired }: NodeGroupSize): string => `${min}/${max}/${desired}`

export function parseSize(text: string): NodeGroupSize {
  const [min = 0, max = 0, desired = 0] = text.split('/').map(Number)
  return { min, max, desired }
}
