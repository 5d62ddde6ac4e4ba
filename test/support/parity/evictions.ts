// Evictions under a PodDisruptionBudget. No disruption controller runs beside either server: its part, the status of the
// budget, is written here.
import { NAMESPACE, PODS } from './names.ts'
import { drop, get, patch, post, type Step } from './step.ts'

const BUDGETS = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`
const labels = { app: 'guarded' }
const spec = { minAvailable: 1, selector: { matchLabels: labels } }
const isDone = (answer: { readonly [field: string]: unknown }): boolean => Number(answer['code']) < 300

/** What prepares the comparison must succeed on both, and is not compared: kinds have steps of their own. */
const prepare = (step: Step): Step => ({
  ...step,
  narrow: (ours, real) => [
    { ours: isDone(ours), real: isDone(real) },
    { ours: true, real: true },
  ],
})
const evict = (title: string, name: string, more: object = {}): Step =>
  post(title, `${PODS}/${name}/eviction`, { metadata: { name }, ...more })
const count = (title: string, status: object): Step =>
  prepare(patch(title, `${BUDGETS}/guard/status`, { status: { observedGeneration: 1, expectedPods: 2, ...status } }))
const report = (title: string, name: string, isReady: boolean): Step => {
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
  return prepare(patch(title, `${PODS}/${name}/status`, { status: { phase: 'Running', conditions } }))
}
const makePod = (title: string, name: string): Step => {
  const container = { name: 'c', image: 'busybox' }
  return prepare(post(title, PODS, { metadata: { name, labels }, spec: { nodeName: 'n1', containers: [container] } }))
}
/** At once: no kubelet confirms the end of a Pod that is on a node. */
const atOnce = { deleteOptions: { gracePeriodSeconds: 0 } }

export const EVICTIONS: readonly Step[] = [
  makePod('a guarded Pod', 'g1'),
  makePod('another guarded Pod', 'g2'),
  prepare(post('a budget', BUDGETS, { metadata: { name: 'guard' }, spec })),
  evict('a Pod that has not started, without doing it', 'g1', { deleteOptions: { dryRun: ['All'] } }),
  report('a Pod is ready', 'g1', true),
  report('another Pod is ready', 'g2', true),
  evict('before the budget was counted', 'g1', atOnce),
  count('a budget allows one', { currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1 }),
  evict('another uid', 'g1', { deleteOptions: { preconditions: { uid: 'another' } } }),
  count('a budget allows one again', { currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1 }),
  evict('without doing it', 'g1', { deleteOptions: { dryRun: ['All'] } }),
  evict('within the budget', 'g1', atOnce),
  {
    ...get('what is left of the budget', `${BUDGETS}/guard`),
    narrow: (ours, real) => [leftOf(ours), leftOf(real)],
  },
  evict('beyond the budget', 'g2', atOnce),
  report('a Pod is no longer ready', 'g2', false),
  count('too few are healthy', { currentHealthy: 0, desiredHealthy: 1, disruptionsAllowed: 0 }),
  evict('an unready Pod while too few are healthy', 'g2', atOnce),
  count('enough are healthy', { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0 }),
  prepare(post('a second budget', BUDGETS, { metadata: { name: 'second' }, spec: { ...spec, selector: {} } })),
  evict('under two budgets', 'g2', atOnce),
  prepare(drop('the second budget', `${BUDGETS}/second`)),
  evict('an unready Pod while enough are healthy', 'g2', atOnce),
  evict('a Pod that is gone', 'g2'),
  prepare(drop('the budget', `${BUDGETS}/guard`)),
]

function leftOf(answer: { readonly [field: string]: unknown }): unknown {
  const { status } = answer['body'] as { readonly status?: Readonly<Record<string, unknown>> }
  return [status?.['disruptionsAllowed'], Object.keys((status?.['disruptedPods'] as object | undefined) ?? {})]
}
