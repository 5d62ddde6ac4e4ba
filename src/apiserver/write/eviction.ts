// Eviction: a Pod goes when its PodDisruptionBudget allows it. What a budget allows is in its status, which the disruption
// controller writes; each eviction is subtracted there at once, so that the next one does not count the same Pod.
import { matchesSelector, parseJson, toTimestamp } from '#lib'
import { type ApiObject, cloneJson, listAt, recordAt, textAt, valueAt } from '../object.ts'
import { notFound, StatusError } from '../status.ts'
import type { WriteRequest } from './context.ts'
import { readDeleteOptions, remove } from './delete.ts'
import { readServed, update } from './update.ts'

export function evictPod(asked: WriteRequest, name: string, eviction: unknown): void {
  const { dryRun, ...options } = recordAt(eviction, 'deleteOptions')
  const request = { ...asked, dryRun: asked.dryRun || (Array.isArray(dryRun) && dryRun.length > 0) }
  const pod = readServed(request, name)
  if (!pod) throw notFound(request.type, name)
  const spent = spentBudget(pod, budgetsIn(request), request.world.clock.now())
  const deletion = readDeleteOptions(options, new URLSearchParams())
  // What a precondition refuses takes nothing from the budget.
  remove({ ...request, dryRun: true }, name, deletion)
  if (spent) writeBudget(request, spent)
  remove(request, name, deletion)
}

/** The budget that this eviction takes from, with its new status; undefined when no budget has a say. Throws a refusal. */
export function spentBudget(pod: ApiObject, budgets: readonly ApiObject[], nowMs: number): ApiObject | undefined {
  const isIdle = ['Succeeded', 'Failed', 'Pending'].includes(textAt(pod, 'status', 'phase'))
  if (isIdle || pod.metadata.deletionTimestamp) return undefined
  const [budget, another] = budgets.filter((one) => covers(one, pod))
  if (!budget) return undefined
  if (another) throw new StatusError(500, '', TWO_BUDGETS)
  if (!isReady(pod) && mayGoUnready(budget)) return undefined
  const { name, generation = 0 } = budget.metadata
  if (numberAt(budget, 'observedGeneration') < generation)
    throw heldBack(`The disruption budget ${name} is still being processed by the server.`, 10)
  const allowed = numberAt(budget, 'disruptionsAllowed')
  if (allowed <= 0) {
    const [needed, healthy] = [numberAt(budget, 'desiredHealthy'), numberAt(budget, 'currentHealthy')]
    throw heldBack(`The disruption budget ${name} needs ${needed} healthy pods and has ${healthy} currently`)
  }
  const status = recordAt(budget, 'status')
  const disruptedPods = { ...recordAt(status, 'disruptedPods'), [pod.metadata.name]: toTimestamp(nowMs) }
  return { ...cloneJson(budget), status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } }
}

const TWO_BUDGETS =
  'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.' as const

function heldBack(cause: string, retryAfterSeconds?: number): StatusError {
  const causes = [{ reason: 'DisruptionBudget', message: cause }]
  const details = { causes, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) }
  const message = "Cannot evict pod as it would violate the pod's disruption budget."
  return new StatusError(429, 'TooManyRequests', message, details)
}

/** A budget without a selector covers nothing, one with an empty selector its namespace. */
function covers(budget: ApiObject, { metadata }: ApiObject): boolean {
  const selector = valueAt(budget, 'spec', 'selector')
  return selector !== undefined && matchesSelector(recordAt(budget, 'spec', 'selector'), metadata.labels)
}

const isReady = (pod: ApiObject): boolean =>
  listAt(pod, 'status', 'conditions').some((one) => textAt(one, 'type') === 'Ready' && textAt(one, 'status') === 'True')

/** A Pod that is not ready does not count as healthy: it may go while enough others are, or always where the budget says so. */
function mayGoUnready(budget: ApiObject): boolean {
  if (textAt(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true
  const needed = numberAt(budget, 'desiredHealthy')
  return needed > 0 && numberAt(budget, 'currentHealthy') >= needed
}

const numberAt = (budget: ApiObject, field: string): number => Number(valueAt(budget, 'status', field) ?? 0)

const BUDGETS = ['policy', 'v1', 'poddisruptionbudgets'] as const

function budgetsIn({ world, namespace }: WriteRequest): readonly ApiObject[] {
  const { type } = world.registry.find(...BUDGETS)!
  return [...world.store.scan(type.collection, { namespace })].map(({ text }) => parseJson(text) as ApiObject)
}

function writeBudget(request: WriteRequest, spent: ApiObject): void {
  const status = { ...request, ...request.world.registry.find(...BUDGETS)!, subresource: 'status' } as const
  update(status, readServed(status, spent.metadata.name)!, spent)
}
