// The plan of an installation: for each resource create, change or keep with the reason, or refusals. Capt changes only
// what it made; a difference in something foreign is refused.
import type { Survey } from '../survey/survey.ts'
import { type Choices, choose } from './choose.ts'
import { foundRelease } from './controller-role.ts'
import { type HandOverStep, planHandOver } from './hand-over.ts'
import { observeResource } from './observe.ts'
import type { Options, Refusal } from './options.ts'
import { type Resource, resourcesFor } from './resources.ts'

export interface Step {
  readonly resource: Resource
  readonly do: 'create' | 'change' | 'keep'
  readonly reason: string
  /** Capt made it, or is about to. */
  readonly isOurs: boolean
}

export interface Plan {
  readonly cluster: string
  readonly choices: Choices
  readonly steps: readonly Step[]
  /** After Karpenter was verified. */
  readonly handOver: readonly HandOverStep[]
  readonly refusals: readonly Refusal[]
}

export function planInstall(survey: Survey, options: Options = {}): Plan {
  const { choices, refusals } = choose(survey, options)
  const cluster = survey.cluster.name
  const handOver = planHandOver(survey, choices, options)
  if (refusals.length > 0 || handOver.refusals.length > 0)
    return { cluster, choices, steps: [], handOver: [], refusals: [...refusals, ...handOver.refusals] }
  const resources = resourcesFor(survey, choices, options)
  const decided = resources.map((resource) => decideStep(resource, survey, options))
  return {
    cluster,
    choices,
    steps: decided.flatMap((one) => ('do' in one ? [one] : [])),
    handOver: handOver.steps,
    refusals: decided.flatMap((one) => ('do' in one ? [] : [one])),
  }
}

export const isNothingToDo = ({ steps, handOver }: Plan): boolean =>
  [...steps, ...handOver].every((step) => step.do === 'keep')

function decideStep(resource: Resource, survey: Survey, { isUpgrade }: Options): Step | Refusal {
  const { is, what, isOurs } = observeResource(resource, survey)
  const found = foundRelease(survey)
  if (is === 'absent' && found)
    return {
      code: 'CAPT_KARPENTER_FOREIGN',
      field: `${resource.type} ${resource.name}`,
      message: `it does not exist, and capt did not install the Karpenter in namespace ${found.namespace}`,
      hint: `let what installed Karpenter make it; modules/karpenter: terraform apply`,
    }
  if (is === 'absent') return { resource, do: 'create', reason: 'not there', isOurs: true }
  const kept = (reason: string): Step => ({ resource, do: 'keep', reason, isOurs })
  if (is === 'same') return kept(isOurs ? 'made by capt' : 'found, and stays when capt uninstalls')
  // People may edit pools and classes; the image is capt's to change, at an upgrade.
  if (resource.type === 'node-class' && !(isOurs && isUpgrade)) return kept(`${what}; left as it is`)
  if (isOurs) return { resource, do: 'change', reason: what, isOurs }
  return {
    code: 'CAPT_KARPENTER_FOREIGN',
    field: `${resource.type} ${resource.name}`,
    message: `it exists, capt did not make it, and ${what}`,
    hint: found
      ? 'let what installed Karpenter change it; modules/karpenter: set helm_chart_version and run terraform apply'
      : 'bring it in order or remove it, then run the command again; capt changes only what it made',
  }
}
