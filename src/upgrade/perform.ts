// Performs the steps of an upgrade one after the other: each is requested once, and the next one begins when it was seen to
// work. Safe to repeat: what is done is not in the plan any more.
import { AddonDelivery, CAPTControlPlane, type KindRef } from '#api'
import type { Objects } from '#kube'
import { type Clock, sleep } from '#lib'
import { setNodeImage } from './node-image.ts'
import { planUpgrade, type Step } from './plan.ts'
import { type ClusterState, readState } from './state.ts'

export interface UpgradePorts {
  readonly objects: Objects
  readonly namespace: string
  /** Cluster in the version that the server serves. */
  readonly clusterKind: KindRef
  readonly clock: Clock
  readonly signal: AbortSignal
  progress(text: string): void
  /** What is waited for, at every look. */
  live(text: string): void
}

export type Outcome =
  | { readonly is: 'done'; readonly kubernetes: string }
  /** Requested, and not waited for. */
  | { readonly is: 'begun'; readonly step: Step; readonly left: number }
  | { readonly is: 'stopped'; readonly message: string; readonly hint: string }
  | { readonly is: 'late'; readonly message: string }

const POLL_MS = 1000

/** `waitMs` is the time for all steps; zero requests the first one and returns. */
export async function performUpgrade(
  ports: UpgradePorts,
  cluster: string,
  { target, image, waitMs }: { readonly target: string; readonly image?: string | undefined; readonly waitMs: number },
): Promise<Outcome> {
  const started = ports.clock.monotonic()
  let requested: Step | undefined
  for (;;) {
    const state = await readState(ports.clusterKind, cluster, ports)
    const { steps } = planUpgrade(state, target, image)
    const step = steps[0]
    const waiting = waitingFor(state, step)
    if (!step && waiting === undefined) return { is: 'done', kubernetes: state.kubernetes }
    const stop = stopOf(state, step, requested)
    if (stop) return stop
    if (step?.by === 'capt' && waiting === undefined && !isSame(step, requested)) {
      ports.progress(`${step.name} ${step.from} -> ${step.to}: ${step.how}`)
      await request(ports, state, step)
      requested = step
    }
    if (waitMs === 0 && step) {
      const isHeld = step.by === 'capt' && !isSame(step, requested)
      return isHeld
        ? { is: 'late', message: `${step.name} ${step.to} was not begun: ${waiting}` }
        : { is: 'begun', step, left: steps.length - 1 }
    }
    if (ports.clock.monotonic() - started >= waitMs)
      return { is: 'late', message: waiting ?? `${step!.name} ${step!.to} is not reached yet` }
    ports.live(waiting ?? `${step!.name} ${step!.from} -> ${step!.to}: not reached yet`)
    await sleep(ports.clock, POLL_MS, ports.signal)
  }
}

/** What must settle before the next step begins. */
function waitingFor(state: ClusterState, step: Step | undefined): string | undefined {
  const moving = state.components.find((one) => one.state !== 'Healthy' && one.state !== 'NotWanted')
  if (moving && moving.state !== 'Failed') return `stage ${moving.stage} is ${moving.state}: ${moving.message}`
  if (!step && state.nodeImage?.waiting !== undefined) return state.nodeImage.waiting
  if (!step && !state.isSettled) return `the control plane is on its way to Kubernetes ${state.requested}`
  const isIdle = state.kubernetes === state.requested
  return isIdle && !state.isSettled ? `the control plane of Kubernetes ${state.kubernetes} is not ready` : undefined
}

/** Why it cannot go on, with how to go on and how to go back. */
export function stopOf(state: ClusterState, step: Step | undefined, requested: Step | undefined): Outcome | undefined {
  if (step?.by === 'person')
    return { is: 'stopped', message: `${step.name} ${step.from}: ${step.evidence}`, hint: step.how }
  const failed = state.components.find((one) => one.state === 'Failed')
  if (failed) {
    const back =
      requested?.component?.stage === failed.stage ? `; to go back, set ${requested.how} to ${requested.from}` : ''
    const hint = `mend the cause, then capt retry adeliv ${failed.delivery.name} and this command again${back}`
    return { is: 'stopped', message: `stage ${failed.stage} failed: ${failed.message}`, hint }
  }
  const [stop] = state.stops
  if (stop === undefined) return undefined
  const back = requested?.what === 'kubernetes' ? `; to go back, set ${requested.how} to ${requested.from}` : ''
  return { is: 'stopped', message: stop, hint: `do what it says, then run this command again${back}` }
}

const isSame = (step: Step, other: Step | undefined): boolean =>
  step.what === other?.what && step.to === other.to && step.component?.delivery.name === other.component?.delivery.name

async function request({ objects, clusterKind }: UpgradePorts, state: ClusterState, step: Step): Promise<void> {
  if (step.what === 'node-image') return await setNodeImage(objects, state.nodeImage!, step.to)
  if (step.component) return await override(objects, step.component.delivery, step.component.stage, step.to)
  // Core takes only whole versions.
  const topology = { version: `v${step.to}.0` }
  if (state.hasTopology)
    await objects.patch(clusterKind, state.cluster, { type: 'merge', body: { spec: { topology } } })
  else
    await objects.patch(CAPTControlPlane, state.controlPlane, { type: 'merge', body: { spec: { version: step.to } } })
}

/** Other fields of the override stay; the write fails when the delivery was changed meanwhile. */
async function override(objects: Objects, key: ClusterState['cluster'], stage: string, version: string): Promise<void> {
  const delivery = await objects.get<AddonDelivery>(AddonDelivery, key)
  if (!delivery) return
  const { overrides } = delivery.spec
  const own = overrides.find((one) => one.stage === stage)
  const changed = { ...own, stage, version }
  const body = {
    metadata: { resourceVersion: delivery.metadata.resourceVersion },
    spec: { overrides: own ? overrides.map((one) => (one === own ? changed : one)) : [...overrides, changed] },
  }
  await objects.patch(AddonDelivery, key, { type: 'merge', body })
}
