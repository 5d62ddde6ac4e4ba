// What a deletion takes away and in which order, and what remains, before anybody is asked.
import {
  AddonDelivery,
  AddonPipeline,
  type AnyObject,
  CLUSTER_NAME_LABEL,
  isAdopted,
  type KindRef,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import type { Connected } from '#kube'
import { counted } from '#lib'
import { type ClusterObjects, readClusterObjects } from '#view'
import { listIn, unseen } from './list.ts'

interface Target {
  readonly kind: KindRef
  readonly namespace: string
  readonly name: string
}

export async function deletionOutline({ kind, namespace, name }: Target, connected: Connected): Promise<string> {
  const title = `${kind.kind} ${namespace}/${name}`
  if (kind.kind === 'Cluster') {
    const objects = await readClusterObjects(kind, name, { ...connected, namespace })
    return outline(title, clusterSteps(objects), clusterRemains(objects))
  }
  const users = await usersOf({ kind, namespace, name }, connected)
  if (users.length > 0) return `${title} goes when nothing uses it any more\n  What uses it:\n${indented(users)}`
  if (kind.kind === AddonDelivery.kind) {
    const delivery = await connected.objects.get<AddonDelivery>(AddonDelivery, { namespace, name })
    return delivery ? deliveryOutline(title, delivery, connected) : outline(title, [], [])
  }
  if (kind.kind !== WorkspaceTemplateApply.kind) return outline(title, [], [])
  const apply = await connected.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  const owner = apply?.metadata.labels?.[CLUSTER_NAME_LABEL]
  return outline(title, apply ? applySteps([apply]) : [], [
    ...(apply ? keptResources([apply]) : []),
    ...(owner === undefined ? [] : [`Cluster ${owner}, which makes this apply again: delete the cluster instead`]),
  ])
}

/** The cluster lives on; a pipeline that still selects it brings the add-ons again. */
async function deliveryOutline(title: string, delivery: AddonDelivery, { objects }: Connected): Promise<string> {
  const { clusterName, pipelineRef } = delivery.spec
  const delivered = (delivery.status?.stages ?? []).filter(
    ({ state, adopted }) => state !== 'NotWanted' && adopted === undefined,
  )
  const names = delivered.map((stage) => stage.name).reverse()
  const nodes = delivered.some(({ component }) => component === 'karpenter')
    ? ', with the nodes that Karpenter made'
    : ''
  const key = { name: pipelineRef.name, namespace: pipelineRef.namespace ?? delivery.metadata.namespace! }
  const pipeline = await objects.get<AddonPipeline>(AddonPipeline, key).catch(unseen)
  const isFollowed = pipeline !== undefined && pipeline.metadata.deletionTimestamp === undefined
  return outline(title, names.length > 0 ? [`add-ons that capt delivered: ${names.join(', ')}${nodes}`] : [], [
    `Cluster ${clusterName}`,
    ...(isFollowed ? [`AddonPipeline ${key.name}, which makes this delivery again while it selects the Cluster`] : []),
  ])
}

const indented = (lines: readonly string[]): string => lines.map((line) => `     ${line}\n`).join('')

/** What a pipeline or a template is held by. */
async function usersOf({ kind, namespace, name }: Target, { objects }: Connected): Promise<readonly string[]> {
  const names = ({ metadata }: AnyObject, ref: { readonly name: string; readonly namespace?: string }) =>
    ref.name === name && (ref.namespace ?? metadata.namespace) === namespace
  const nameOf = (object: AnyObject) => `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`
  if (kind.kind === AddonPipeline.kind)
    return (await listIn<AddonDelivery>(objects, AddonDelivery, undefined))
      .filter((one) => names(one, one.spec.pipelineRef))
      .map(nameOf)
  if (kind.kind === WorkspaceTemplate.kind)
    return (await listIn<WorkspaceTemplateApply>(objects, WorkspaceTemplateApply, undefined))
      .filter((one) => names(one, one.spec.templateRef))
      .map(nameOf)
  return []
}

function outline(title: string, steps: readonly string[], remains: readonly string[]): string {
  const lines = steps.map((step, i) => `  ${i + 1}. ${step}\n`)
  return [
    `${title} goes${steps.length > 0 ? ', in this order:' : ''}\n`,
    ...lines,
    ...(remains.length > 0 ? ['  What remains:\n', indented(remains)] : []),
  ].join('')
}

/** The order of a teardown: add-ons, control plane, network. */
function clusterSteps({ applies, deliveries, infrastructure, controlPlane }: ClusterObjects): readonly string[] {
  const ofOwner = (owner: AnyObject | undefined) =>
    applies.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner?.metadata.uid))
  const stages = deliveries
    .flatMap(({ status }) => status?.stages ?? [])
    .filter(({ state }) => state !== 'NotWanted')
    .map(({ name }) => name)
    .reverse()
  const others = applies.filter((one) => !ofOwner(infrastructure).includes(one) && !ofOwner(controlPlane).includes(one))
  if (controlPlane && isAdopted(controlPlane)) {
    const found = deliveries
      .flatMap(({ status }) => status?.stages ?? [])
      .filter(({ adopted }) => adopted !== undefined)
    const delivered = stages.filter((stage) => !found.some(({ name }) => name === stage))
    return [
      ...(delivered.length > 0 ? [`add-ons that capt delivered: ${delivered.join(', ')}`] : []),
      ...applySteps(others),
      'control plane: detached',
    ]
  }
  return [
    ...(stages.length > 0 ? [`add-ons: load balancers and volumes of workloads, then ${stages.join(', ')}`] : []),
    ...applySteps(others),
    ...(controlPlane ? withWord('control plane', applySteps(ofOwner(controlPlane))) : []),
    ...(infrastructure ? withWord('network', applySteps(ofOwner(infrastructure))) : []),
  ]
}

const withWord = (word: string, steps: readonly string[]): readonly string[] =>
  steps.length === 0 ? [`${word}: nothing was made by Terraform`] : steps.map((step) => `${word}: ${step}`)

function applySteps(applies: readonly WorkspaceTemplateApply[]): readonly string[] {
  return applies.map((apply) => {
    if (apply.spec.retainWorkspaceOnDelete) return `${apply.metadata.name} is released and destroys nothing`
    const count = apply.status?.state?.resources
    return `terraform destroy of ${apply.metadata.name}${count === undefined ? '' : `, ${counted(count, 'resource')}`}`
  })
}

function clusterRemains({ applies, infrastructure, controlPlane }: ClusterObjects): readonly string[] {
  const vpc = infrastructure?.spec.existingVpcId
  const name = infrastructure?.spec.clusterName ?? controlPlane?.metadata.name
  return [
    ...(controlPlane && isAdopted(controlPlane)
      ? [`EKS cluster ${name} and its workloads, which capt did not make`]
      : []),
    ...(vpc === undefined ? [] : [`VPC ${vpc}, which capt did not make`]),
    ...keptResources(applies),
    'WorkspaceTemplates, AddonPipelines and credentials, which other clusters may use',
  ]
}

function keptResources(applies: readonly WorkspaceTemplateApply[]): readonly string[] {
  return applies
    .filter(({ spec }) => spec.retainWorkspaceOnDelete)
    .map(
      ({ metadata, status }) =>
        `${counted(status?.state?.resources ?? 0, 'resource')} of ${metadata.name} and their state`,
    )
}
