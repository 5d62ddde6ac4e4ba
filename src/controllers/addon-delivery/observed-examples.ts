// Observations for the table tests of the decisions: one healthy delivery, of which a test names what matters to it.
import { AddonDelivery, type AddonPipeline, type AddonStage, type ClusterFacts, type StageStatus } from '#api'
import type { Projected } from '#kube'
import { toTimestamp } from '#lib'
import { defaultPipeline } from '../addon-pipeline/default-pipeline.ts'
import { healthy } from './health/finding.ts'
import { DELIVERY_FINALIZER } from './names.ts'
import type { ObservedDelivery, ObservedPart, ObservedStage } from './observed.ts'

const NOW_MS = Date.UTC(2026, 0, 1, 12)
export const minutesAgo = (minutes: number): string => toTimestamp(NOW_MS - minutes * 60_000)

const pipeline = defaultPipeline('capt-system')
export const HASH = 'sha256:one'

export function shippedStage(name: string, over: Partial<AddonStage> = {}): AddonStage {
  return { ...pipeline.spec.stages.find((stage) => stage.name === name)!, ...over }
}

export const row = (over: object = {}) => ({
  set: 'fluxcd-installer-demo',
  kind: 'ConfigMap',
  name: 'fluxcd-resources-demo',
  applied: true,
  bindingHash: 'h',
  ourHash: 'h',
  equal: true,
  ...over,
})

export function aPart(over: Partial<ObservedPart> = {}): ObservedPart {
  const payload = { kind: 'ConfigMap', name: 'fluxcd-resources-demo', key: 'k', text: '', hash: 'h' } as const
  return {
    part: {
      name: '',
      set: 'fluxcd-installer-demo',
      manifests: [],
      payloads: [{ ...payload, shared: false }],
      checks: [],
    },
    isWritten: true,
    rows: [row()],
    complaint: undefined,
    findings: [healthy('Deployment helm-controller: 1 of 1 available')],
    absence: undefined,
    ...over,
  }
}

export const recorded = (over: Partial<StageStatus> = {}): StageStatus => ({
  name: 'flux',
  state: 'Checking',
  contentHash: HASH,
  startedAt: minutesAgo(1),
  ...over,
})

export function aStage(over: Partial<ObservedStage> = {}): ObservedStage {
  return {
    stage: shippedStage('flux'),
    isWanted: true,
    isEarly: false,
    gate: undefined,
    rendered: { is: 'ready', version: '2.9.5', parts: [], hash: HASH },
    parts: [aPart()],
    existing: { is: 'ours' },
    preflight: [],
    hasSets: true,
    obsoleteSets: [],
    before: recorded(),
    ...over,
  }
}

export function aDelivery(
  over: Partial<ObservedDelivery> & { readonly metadata?: object; readonly spec?: object; status?: object } = {},
): ObservedDelivery {
  const { metadata, spec, status, ...rest } = over
  const delivery = {
    apiVersion: AddonDelivery.apiVersion,
    kind: AddonDelivery.kind,
    metadata: { namespace: 'default', name: 'demo', uid: 'u', finalizers: [DELIVERY_FINALIZER], ...metadata },
    spec: {
      clusterName: 'demo',
      pipelineRef: { namespace: 'capt-system', name: 'default' },
      suspend: false,
      overrides: [],
      ...spec,
    },
    ...(status ? { status } : {}),
  }
  return {
    delivery: delivery as unknown as Projected<AddonDelivery>,
    cluster: { namespace: 'default', name: 'demo', labels: {} } as unknown as ClusterFacts,
    pipeline: pipeline as Projected<AddonPipeline>,
    isPipelineForbidden: false,
    pause: undefined,
    conflict: undefined,
    planFault: undefined,
    kubernetes: '1.35',
    faults: [],
    areSetsServed: true,
    isLabelled: true,
    isAdopted: true,
    workload: { is: 'open' },
    isWatched: true,
    stages: [aStage()],
    teardown: undefined,
    nowMs: NOW_MS,
    ...rest,
  }
}

/** A decision in a few words: `done`, `waiting Paused`, `stalled Blocked`, or the actions in order. */
export function inShort(decision: { is: string; reason?: string; actions?: readonly { do: string }[] }): string {
  if (decision.actions) return decision.actions.map((action) => action.do).join(' ')
  return decision.reason === undefined ? decision.is : `${decision.is} ${decision.reason}`
}
