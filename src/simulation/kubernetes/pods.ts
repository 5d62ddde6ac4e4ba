// Plays the scheduler and the kubelet: pods get a node with room, start after a moment, and die with their node.
import { type AnyObject, keyOf, kindRef, NodeKind, PodKind } from '#api'
import { isKubeError, type Objects, type Projected } from '#kube'
import { toTimestamp } from '#lib'
import { act, type Controller, type Decision, done, waiting } from '#runtime'
import { conditionList, type Stage, secondsLeft, wakeAll } from '../actor.ts'
import { type Fault, faultOf, slowMs, wakeOnFaults } from '../faults.ts'
import { simulated } from '../names.ts'
import { choose, type Node, type Pod } from './placement.ts'

interface Observed {
  readonly pod: Projected<Pod>
  readonly choice: ReturnType<typeof choose>
  readonly isOrphan: boolean
  readonly fault: Fault
  readonly nowMs: number
  readonly paceMs: number
}
type Action = { readonly do: 'bind'; readonly node: string } | { readonly do: 'delete' }

const BindingKind = kindRef('v1', 'Binding')

/** The embedded API keeps pods as data; a real one refuses the change and takes a node by a Binding alone. */
async function bind(objects: Objects, pod: Projected<Pod>, node: string): Promise<void> {
  const { namespace = '', name, uid = '', resourceVersion } = pod.metadata
  try {
    await objects.patch(PodKind, keyOf(pod), {
      type: 'merge',
      body: { metadata: { resourceVersion }, spec: { nodeName: node } },
    })
  } catch (error) {
    if (!isKubeError(error, 'Invalid')) throw error
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { namespace, name, uid },
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    }
    await objects.create<AnyObject>(BindingKind, binding)
  }
}

export function podActor(stage: Stage): Controller<Pod, Observed, Action> {
  // Reconciles overlap: a place that was given away is taken before the cache shows it.
  const given = new Map<string, string>()
  const placed = (pods: readonly Projected<Pod>[]): readonly Pod[] =>
    pods.map((pod) => {
      const node = given.get(pod.metadata.uid ?? '')
      return node === undefined || pod.spec?.nodeName !== undefined
        ? pod
        : { ...pod, spec: { ...pod.spec, nodeName: node } }
    })
  return {
    name: 'simulated-pod',
    kind: PodKind,
    summary: false,
    wakes: [wakeAll(PodKind, NodeKind), wakeOnFaults(PodKind)],
    async observe({ cache }, pod) {
      const nodes = cache.list<Node>(NodeKind)
      const { nodeName } = pod.spec ?? {}
      const { uid = '', labels = {} } = pod.metadata
      given.delete(uid)
      const choice = nodeName === undefined ? choose(pod, nodes, placed(cache.list<Pod>(PodKind))) : { message: '' }
      if (choice.node) given.set(uid, choice.node.metadata.name)
      return {
        pod,
        choice,
        isOrphan: nodeName !== undefined && !nodes.some((node) => node.metadata.name === nodeName),
        fault: faultOf(cache, pod, labels['app'] ?? '', labels['app.kubernetes.io/name'] ?? ''),
        nowMs: stage.clock.now(),
        paceMs: stage.paceMs,
      }
    },
    decide,
    act: async ({ objects }, { pod }, action) => {
      if (action.do === 'delete') return await objects.delete(PodKind, keyOf(pod))
      await bind(objects, pod, action.node)
    },
    status: report,
  }
}

function decide(observed: Observed): Decision<Action> {
  const { pod, choice } = observed
  if (pod.metadata.deletionTimestamp) return done
  if (observed.isOrphan) return act<Action>({ do: 'delete' })
  if (pod.spec?.nodeName === undefined) {
    return choice.node
      ? act<Action>({ do: 'bind', node: choice.node.metadata.name })
      : waiting('Unschedulable', choice.message)
  }
  const left = startsIn(observed)
  return left > 0 ? waiting('Starting', 'The container starts', left) : done
}

function startsIn({ pod, fault, paceMs, nowMs }: Observed): number {
  return secondsLeft(pod.status?.startTime, paceMs + slowMs(fault), nowMs)
}

function report(observed: Observed) {
  const { pod, choice, fault, nowMs } = observed
  const previous = pod.status?.conditions
  const names = (pod.spec?.containers ?? []).map((container) => container.name ?? 'main')
  if (pod.spec?.nodeName === undefined) {
    if (choice.node) return {}
    const drafts = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: choice.message } as const,
    ]
    return { fields: { phase: 'Pending', conditions: conditionList(previous, drafts, nowMs) } }
  }
  const startTime = pod.status?.startTime ?? toTimestamp(nowMs)
  const isUp =
    pod.status?.startTime !== undefined && startsIn(observed) === 0 && fault.is !== 'pull' && fault.is !== 'crash'
  const ready = { status: isUp ? 'True' : 'False', reason: isUp ? 'Simulated' : 'ContainersNotReady' } as const
  const drafts = [
    { type: 'PodScheduled', status: 'True', reason: 'Simulated' },
    { type: 'ContainersReady', ...ready },
    { type: 'Ready', ...ready },
  ] as const
  const containerStatuses = names.map((name, i) => ({
    name,
    ready: isUp,
    restartCount: fault.is === 'crash' ? 3 : 0,
    image: pod.spec?.containers?.[i]?.image ?? '',
    imageID: '',
    state: isUp
      ? { running: { startedAt: startTime } }
      : { waiting: trouble(fault, pod.spec?.containers?.[i]?.image ?? '') },
  }))
  return {
    fields: {
      phase: isUp || fault.is === 'crash' ? 'Running' : 'Pending',
      startTime,
      conditions: conditionList(previous, drafts, nowMs),
      containerStatuses,
      ...(isUp ? { podIP: addressOf(pod.metadata.uid ?? '') } : {}),
    },
  }
}

function trouble(fault: Fault, image: string): { readonly reason: string; readonly message?: string } {
  if (fault.is === 'pull')
    return { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}" (simulated)` }
  if (fault.is === 'crash')
    return { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container (simulated)' }
  return { reason: 'ContainerCreating' }
}

function addressOf(uid: string): string {
  let sum = 7
  for (const char of uid) sum = (sum * 33 + char.charCodeAt(0)) % 64_000
  return `10.0.${Math.floor(sum / 250)}.${(sum % 250) + 2}`
}

export const podLabels = (labels: Readonly<Record<string, string>> | undefined) => ({ ...labels, ...simulated })
