// One picture of one thing: the tree of a cluster or the story of an apply, and what to do when it stopped.
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  clusterKind,
  conditionOf,
  type KindRef,
  readCluster,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { CaptError } from '#lib'
import {
  applyBranch,
  type Branch,
  type ClusterObjects,
  clusterTree,
  DELIVERY_HEAD,
  deliveryBranch,
  deliveryRows,
  renderStops,
  renderTable,
  renderTree,
  stateOf,
  stopOf,
} from '#view'
import { CONNECTION_OPTIONS, type Command, type Connected, connectionOf, EXIT, type Io } from './command.ts'
import { renderOptions } from './output.ts'
import { findKind, OUR_KINDS, servedKind } from './resources.ts'

export const command: Command = {
  name: 'describe',
  summary: 'Show a cluster as a tree, or one object with its conditions, and what to do when it stopped',
  positionals: 'KIND NAME',
  examples: [
    { run: 'describe cluster demo', about: 'The whole of one cluster' },
    { run: 'describe wtapply demo-vpc', about: 'One Terraform workspace' },
  ],
  options: { ...CONNECTION_OPTIONS },
  async run(args, io) {
    const [word, name] = args.positionals
    if (word === undefined || name === undefined)
      throw new CaptError('CAPT_USAGE', 'describe needs a kind and a name', { hint: 'capt describe cluster demo' })
    const connected = await io.connect(connectionOf(args))
    try {
      const kind = await findKind(word, connected)
      const text =
        kind.kind === 'Cluster'
          ? await describeCluster(name, connected, io)
          : await describeObject(kind, name, connected, io)
      io.stdout.write(text)
      return EXIT.fine
    } finally {
      await connected.close()
    }
  },
}

export async function describeCluster(name: string, connected: Connected, io: Io): Promise<string> {
  const objects = await readClusterObjects(name, connected)
  const tree = clusterTree(objects)
  const rows = objects.deliveries.flatMap(deliveryRows)
  const templates = await describeTemplates(objects, connected)
  return [
    renderTree(tree, renderOptions(io)),
    renderStops(tree, renderOptions(io)),
    rows.length > 0 ? `\n${renderTable(DELIVERY_HEAD, rows)}` : '',
    templates.length > 0 ? `\n${renderTable(['TEMPLATE', 'VERSION', 'TAGS', 'DESCRIPTION'], templates)}` : '',
  ].join('')
}

export async function readClusterObjects(name: string, connected: Connected): Promise<ClusterObjects> {
  const { objects, namespace } = connected
  const kind = await servedKind(connected, clusterKind)
  const cluster = await objects.get<AnyObject>(kind, { namespace, name })
  if (!cluster) throw missing(kind, namespace, name)
  const facts = readCluster(cluster)
  const related = async <T extends AnyObject>(of: KindRef): Promise<T[]> => {
    const found: T[] = []
    for await (const object of objects.list<T>(of, { namespace, labelSelector: `${CLUSTER_NAME_LABEL}=${name}` }))
      found.push(object)
    return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }
  const infrastructure = facts.infrastructureRef?.kind === CAPTCluster.kind ? facts.infrastructureRef.name : undefined
  const controlPlane = facts.controlPlaneRef?.kind === CAPTControlPlane.kind ? facts.controlPlaneRef.name : undefined
  return {
    cluster,
    ...(infrastructure
      ? { infrastructure: await objects.get<CAPTCluster>(CAPTCluster, { namespace, name: infrastructure }) }
      : {}),
    ...(controlPlane
      ? { controlPlane: await objects.get<CAPTControlPlane>(CAPTControlPlane, { namespace, name: controlPlane }) }
      : {}),
    applies: await related<WorkspaceTemplateApply>(WorkspaceTemplateApply),
    deliveries: await related<AddonDelivery>(AddonDelivery),
  }
}

/** Description, version and tags of the templates that a cluster is made from. */
async function describeTemplates(found: ClusterObjects, connected: Connected): Promise<string[][]> {
  const rows = new Map<string, string[]>()
  for (const apply of found.applies) {
    const { name, namespace = connected.namespace } = apply.spec.templateRef
    const template = await connected.objects.get<WorkspaceTemplate>(WorkspaceTemplate, { namespace, name })
    const about = template?.spec.template.metadata
    const tags = Object.entries(about?.tags ?? {}).map(([key, value]) => `${key}=${value}`)
    rows.set(`${namespace}/${name}`, [
      name,
      about?.version ?? '',
      tags.join(','),
      template ? (about?.description ?? '') : 'does not exist',
    ])
  }
  return [...rows.values()]
}

async function describeObject(kind: KindRef, name: string, connected: Connected, io: Io): Promise<string> {
  const { objects, namespace } = connected
  const object = await objects.get<AnyObject>(kind, { namespace, name })
  if (!object) throw missing(kind, namespace, name)
  const branch = branchOf(object)
  const { status } = object as AnyObject & {
    status?: { conditions?: readonly { type: string; status: string; reason: string; message: string }[] }
  }
  const rows = (status?.conditions ?? []).map(({ type, status: holds, reason, message }) => [
    type,
    holds,
    reason,
    message.replace(/\s+/g, ' ').trim(),
  ])
  return [
    renderTree(branch, renderOptions(io)),
    renderStops(branch, renderOptions(io)),
    rows.length > 0 ? `\n${renderTable(['CONDITION', 'STATUS', 'REASON', 'MESSAGE'], rows)}` : '',
    object.kind === AddonDelivery.kind ? `\n${renderTable(DELIVERY_HEAD, deliveryRows(object as AddonDelivery))}` : '',
  ].join('')
}

function branchOf(object: AnyObject): Branch {
  if (object.kind === WorkspaceTemplateApply.kind) return applyBranch(object as WorkspaceTemplateApply)
  if (object.kind === AddonDelivery.kind) return deliveryBranch(object as AddonDelivery)
  const state = stateOf(object)
  const ready = conditionOf(object, 'Ready')
  const stop = hasConditions(object) ? stopOf(object, state) : undefined
  return {
    name: `${object.kind}/${object.metadata.name}`,
    state,
    word: state,
    fact: ready?.message ?? '',
    ...(stop ? { stop } : {}),
    children: [],
  }
}

/** A template without a status has nothing to wait for. */
function hasConditions({ kind }: AnyObject): boolean {
  const ours = OUR_KINDS.find((one) => one.kind === kind)
  return ours?.status !== undefined
}

function missing(kind: KindRef, namespace: string, name: string): CaptError {
  return new CaptError('CAPT_KUBE_NOT_FOUND', `There is no ${kind.kind} "${name}" in namespace ${namespace}`, {
    hint: `capt get ${kind.plural} -A shows where there are some`,
  })
}
