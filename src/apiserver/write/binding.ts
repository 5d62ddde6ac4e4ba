// Binding: a Pod is assigned to a node, once.
import { toTimestamp } from '#lib'
import { cloneJson, recordAt, textAt } from '../object.ts'
import { badRequest, conflict, notFound } from '../status.ts'
import type { WriteRequest } from './context.ts'
import { readServed, update } from './update.ts'

export function bindPod(request: WriteRequest, name: string, binding: unknown): void {
  const node = textAt(binding, 'target', 'name')
  if (node === '') throw badRequest('Binding "" is invalid: target.name: Required value')
  const pod = readServed(request, name)
  if (!pod) throw notFound(request.type, name)
  const taken = textAt(pod, 'spec', 'nodeName')
  if (taken !== '')
    throw conflict({ group: '', plural: 'pods/binding' }, name, `pod ${name} is already assigned to node "${taken}"`)
  const bound = cloneJson(pod)
  bound['spec'] = { ...recordAt(bound, 'spec'), nodeName: node }
  // Where a Pod runs is no part of its desired state: its generation stays.
  const type = { ...request.type, rules: { ...request.type.rules, generation: false } }
  const placed = update({ ...request, type }, pod, bound)
  const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: toTimestamp(request.world.clock.now()) }
  const status = recordAt(placed, 'status')
  const others = (Array.isArray(status['conditions']) ? status['conditions'] : []).filter(
    (item) => textAt(item, 'type') !== scheduled.type,
  )
  const reported = { ...cloneJson(placed), status: { ...status, conditions: [...others, scheduled] } }
  update({ ...request, subresource: 'status' }, placed, reported)
}
