// The node group that a machine is like: it supplies subnets, node role, image and labels.
import { type AnyObject, allowsNamespace, type CAPTMachine, CAPTMachinePool, WorkspaceTemplateApply } from '#api'
import type { Cache } from '#kube'
import { isPlainObject } from '#lib'
import { readApply } from '../shared/apply.ts'

export type NodeGroup =
  | { readonly is: 'none' }
  | { readonly is: 'missing'; readonly ref: string }
  | { readonly is: 'waiting'; readonly apply: string }
  /** The apply ran, and its template has no output node_group_name. */
  | { readonly is: 'unnamed'; readonly apply: string }
  | { readonly is: 'found'; readonly name: string; readonly labels: Readonly<Record<string, string>> }

/**
 * A pool's apply is called `<pool>-node-group`; any other apply is found by its own name. A pool that waits for its
 * control plane has no apply yet.
 */
export function nodeGroupOf(
  cache: Pick<Cache, 'get'>,
  { spec, metadata }: Pick<CAPTMachine, 'spec' | 'metadata'>,
): NodeGroup {
  if (!spec.nodeGroupRef) return { is: 'none' }
  const { name, namespace = metadata.namespace ?? '' } = spec.nodeGroupRef
  const isAllowed = (one: AnyObject | undefined) => one !== undefined && allowsNamespace(one, metadata.namespace ?? '')
  const [apply] = [`${name}-node-group`, name]
    .map((one) => cache.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name: one }))
    .filter(isAllowed)
  if (!apply)
    return isAllowed(cache.get<CAPTMachinePool>(CAPTMachinePool, { namespace, name }))
      ? { is: 'waiting', apply: `CAPTMachinePool ${name}` }
      : { is: 'missing', ref: `${namespace}/${name}` }
  const { outputs, state } = readApply(apply)
  const group = outputs['node_group_name']
  if (typeof group === 'string' && group !== '') return { is: 'found', name: group, labels: labelsOf(apply) }
  return { is: state.is === 'applied' ? 'unnamed' : 'waiting', apply: apply.metadata.name }
}

/** Labels that the nodes of a pool get. */
function labelsOf({ spec }: WorkspaceTemplateApply): Readonly<Record<string, string>> {
  const labels = spec.values?.['labels']
  if (!isPlainObject(labels)) return {}
  return Object.fromEntries(
    Object.entries(labels).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  )
}
