// An EKS cluster that Terraform made elsewhere becomes fully managed: its state goes to the apply that its control plane will ask
// for, upon the template that made it. What is refused, and what is written first. Pure.
import {
  apiVersionOf,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  type UnknownObject,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { type PlanText, readState } from '#engine'
import { CaptError, isPlainObject, parseJson } from '#lib'
import type { Mapped } from './map.ts'
import type { Assignment } from './states.ts'

interface AdoptionInput {
  /** Of the Cluster. */
  readonly name: string
  readonly namespace: string
  /** As EKS has it. */
  readonly eks: { readonly name: string; readonly endpoint: string }
  /** What the file with the configuration contains. */
  readonly manifests: readonly UnknownObject[]
  readonly state: { readonly text: string; readonly file: string }
}

export interface ManagedAdoption {
  readonly template: UnknownObject
  /** Template and apply: what a first plan needs. */
  readonly mapped: Mapped
  readonly assignment: Assignment
}

const refuse = (code: string, message: string, hint: string) =>
  new CaptError(code, message, { hint: `${hint}; nothing was changed` })

export function planManagedAdoption({ name, namespace, eks, manifests, state }: AdoptionInput): ManagedAdoption {
  const [template, ...more] = manifests
  if (!template || more.length > 0 || template.kind !== WorkspaceTemplate.kind)
    throw refuse(
      'CAPT_ADOPT_TEMPLATE',
      'the configuration must be one WorkspaceTemplate',
      'put the root module that made the cluster into spec.template.spec.forProvider of one',
    )
  const info = readState(state.text)
  if (!info)
    throw refuse(
      'CAPT_ADOPT_STATE',
      `${state.file} is not a whole Terraform state of format version 4`,
      'write the file again: terraform state pull > FILE',
    )
  if (!knowsCluster(state.text, eks))
    throw refuse(
      'CAPT_ADOPT_STATE',
      `${state.file} does not know EKS cluster ${eks.name}: it has no aws_eks_cluster of that name and no output with its endpoint`,
      'give the state that made this cluster',
    )
  const own = { ...template, metadata: { ...template.metadata, namespace: template.metadata.namespace ?? namespace } }
  const object: UnknownObject = {
    apiVersion: apiVersionOf(WorkspaceTemplateApply),
    kind: WorkspaceTemplateApply.kind,
    metadata: { name: `${name}-eks-controlplane-apply`, namespace, labels: { [CLUSTER_NAME_LABEL]: name } },
    spec: {
      templateRef: { name: own.metadata.name, namespace: own.metadata.namespace },
      variables: { cluster_name: eks.name },
      // Until a first plan was empty, nothing may destroy what the state names.
      retainWorkspaceOnDelete: true,
    },
  }
  const apply = { object, owner: `${CAPTControlPlane.kind} ${name}`, wasApplied: true }
  const { file: from, text } = state
  const found = { secret: '', workspace: '', suffix: '', lockedBy: undefined, text, info, from }
  return {
    template: own,
    mapped: { outcomes: [], objects: [own], applies: [apply] },
    assignment: { apply, state: found },
  }
}

/** By the resource itself, also in a module, or by an output. */
function knowsCluster(text: string, { name, endpoint }: AdoptionInput['eks']): boolean {
  const { resources, outputs } = parseJson(text) as { readonly resources?: unknown; readonly outputs?: unknown }
  const isNamed = (instance: unknown): boolean =>
    isPlainObject(instance) && isPlainObject(instance['attributes']) && instance['attributes']['name'] === name
  const isCluster = (resource: unknown): boolean =>
    isPlainObject(resource) &&
    resource['type'] === 'aws_eks_cluster' &&
    Array.isArray(resource['instances']) &&
    resource['instances'].some(isNamed)
  const isEndpoint = (output: unknown): boolean => isPlainObject(output) && output['value'] === endpoint
  return (
    (Array.isArray(resources) && resources.some(isCluster)) ||
    (isPlainObject(outputs) && Object.values(outputs).some(isEndpoint))
  )
}

/** Undefined when the plan changes no resource. Outputs that are added change nothing. */
export function refuseFirstPlan({ changes }: Pick<PlanText, 'changes'>): CaptError | undefined {
  if (changes.length === 0) return undefined
  const list = changes.map(({ action, address }) => `${action} ${address}`).sort()
  const shown = list.length > 10 ? `${list.slice(0, 10).join(', ')} and ${list.length - 10} more` : list.join(', ')
  return refuse(
    'CAPT_ADOPT_PLAN',
    `the first plan is not empty: Terraform would ${shown}`,
    'bring the template and the cluster together until terraform plan shows no changes, then run this again',
  )
}
