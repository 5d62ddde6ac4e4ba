// EKS Auto Mode has a Karpenter of its own: stages that bring another one are left out of a delivery, and what needed them
// goes on without. Pure.
import type { AddonStage, CAPTControlPlane, StageStatus } from '#api'
import { ownValue } from '#lib'
import type { ConditionDraft, FailedAttempt } from '#runtime'

/** Reason of a stage that EKS Auto Mode makes needless. */
const AUTO_MODE = 'AutoMode'

export interface SkippedStage {
  readonly name: string
  /** The label of the Cluster that asks for it. */
  readonly label: string | undefined
}

type Stage = Pick<AddonStage, 'name' | 'needs' | 'enabledBy' | 'gateLabel' | 'karpenter'>

export const isAutoMode = (controlPlane: Pick<CAPTControlPlane, 'spec'> | undefined): boolean =>
  controlPlane?.spec.controlPlaneConfig?.compute === 'AutoMode'

/** The stages without those that bring Karpenter. What one of them needed is no longer needed through it. */
export function withoutKarpenter<S extends Stage>(
  stages: readonly S[],
  labels: Readonly<Record<string, string>>,
): { readonly stages: readonly S[]; readonly skipped: readonly SkippedStage[] } {
  const left = stages.filter((stage) => stage.karpenter !== undefined)
  const names = new Set(left.map(({ name }) => name))
  return {
    stages: stages
      .filter((stage) => !names.has(stage.name))
      .map((stage) => ({ ...stage, needs: stage.needs.filter((need) => !names.has(need)) })),
    skipped: left.map((stage) => ({ name: stage.name, label: askedBy(stage, labels) })),
  }
}

function askedBy({ enabledBy, gateLabel }: Stage, labels: Readonly<Record<string, string>>): string | undefined {
  const asked = enabledBy.find(({ key, value }) => ownValue(labels, key) === value)
  if (asked) return `${asked.key}=${asked.value}`
  return gateLabel !== undefined && ownValue(labels, gateLabel) === 'true' ? `${gateLabel}=true` : undefined
}

export const toSkippedStatus = ({ name }: SkippedStage): StageStatus => ({
  name,
  state: 'NotWanted',
  reason: AUTO_MODE,
  message: 'Not needed: EKS Auto Mode has a Karpenter of its own and makes the nodes',
})

const TYPE = 'RequestIgnored'

/** A label that asks for Karpenter is answered with a condition and one Warning: nothing is installed for it. */
export function reportIgnored(
  skipped: readonly SkippedStage[],
  before: { readonly status: string; readonly message?: string } | undefined,
): { readonly conditions: readonly ConditionDraft[]; readonly warnings: readonly Omit<FailedAttempt, 'class'>[] } {
  const labels = skipped.flatMap(({ label }) => label ?? [])
  if (labels.length === 0) {
    const over: ConditionDraft = { type: TYPE, status: 'False', reason: 'None', message: '' }
    return { conditions: before ? [over] : [], warnings: [] }
  }
  const message = `The label ${labels.join(', ')} asks for Karpenter, and the control plane runs in EKS Auto Mode: no Karpenter is installed, node pools are delivered for Auto Mode`
  const isNew = before?.status !== 'True' || before.message !== message
  const hint =
    'Ask for node pools with installation.appthrust.com/karpenter-provider-aws-default-nodepool=enabled, then take the label off'
  return {
    conditions: [{ type: TYPE, status: 'True', reason: AUTO_MODE, message }],
    warnings: isNew ? [{ reason: AUTO_MODE, message, hint }] : [],
  }
}
