// What keeps nodes of Karpenter from draining: pods that may not be disrupted, and budgets that allow no disruption. Pure, but for
// the reader.
import { type AnyObject, kindRef, PodKind } from '#api'
import type { Objects } from '#kube'
import { matchesSelector } from '#lib'

interface Pod extends AnyObject {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: { readonly phase?: string }
}

interface Budget extends AnyObject {
  readonly spec?: { readonly selector?: Parameters<typeof matchesSelector>[0] }
  readonly status?: { readonly disruptionsAllowed?: number }
}

const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt'
const PodDisruptionBudgetKind = kindRef('policy/v1', 'PodDisruptionBudget')

/** Sorted, one text for each. `nodes` are the names of those that drain. */
export function findHolders(
  pods: readonly Pod[],
  budgets: readonly Budget[],
  nodes: ReadonlySet<string>,
): readonly string[] {
  const there = pods.filter(
    ({ spec, status }) =>
      nodes.has(spec?.nodeName ?? '') && status?.phase !== 'Succeeded' && status?.phase !== 'Failed',
  )
  const marked = there.filter(({ metadata }) => metadata.annotations?.[DO_NOT_DISRUPT] === 'true')
  const isCovered = ({ metadata, spec }: Budget): boolean =>
    spec?.selector !== undefined &&
    there.some(
      (pod) =>
        pod.metadata.namespace === metadata.namespace && matchesSelector(spec.selector!, pod.metadata.labels ?? {}),
    )
  const shut = budgets.filter((one) => one.status?.disruptionsAllowed === 0 && isCovered(one))
  return [
    ...marked.map(({ metadata }) => `Pod ${metadata.namespace}/${metadata.name} (${DO_NOT_DISRUPT})`),
    ...shut.map(({ metadata }) => `PodDisruptionBudget ${metadata.namespace}/${metadata.name} (allows no disruption)`),
  ].sort()
}

export async function readHolders(objects: Objects, nodes: ReadonlySet<string>): Promise<readonly string[]> {
  const pods = await Array.fromAsync(objects.list<Pod>(PodKind))
  return findHolders(pods, await Array.fromAsync(objects.list<Budget>(PodDisruptionBudgetKind)), nodes)
}
