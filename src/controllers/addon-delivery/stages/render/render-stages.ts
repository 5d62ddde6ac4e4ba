// Renders the stages of one delivery from what was read. Pure.
import { type AddonDelivery, type AddonStage, type AnyObject, RETRY_ANNOTATION, type StageStatus } from '#api'
import type { Projected } from '#kube'
import { toTimestamp } from '#lib'
import { STAGE_LABEL } from '../../names.ts'
import type { ObservedStage } from '../../observed.ts'
import type { ChosenVersions, StageFacts } from '../choose-versions.ts'
import { renderStage } from './render-stage.ts'
import type { Rendered, StageInput } from './rendered.ts'

/** A stage before it is rendered. */
export interface ListedStage
  extends Omit<ObservedStage, 'rendered' | 'obsoleteSets' | 'parts' | 'preflight' | 'probe'> {
  readonly sets: readonly AnyObject[]
  readonly isRendered: boolean
}

export interface RenderedStage extends ListedStage {
  readonly rendered: Rendered | undefined
  readonly obsoleteSets: readonly string[]
}

export function listStages(
  facts: StageFacts,
  { installed }: ChosenVersions,
  sets: readonly AnyObject[],
): readonly ListedStage[] {
  const { delivery, requests, adoptable } = facts
  return facts.stages.map((stage) => {
    const isWanted = requests.wanted.has(stage.name)
    const own = sets.filter((set) => set.metadata.labels?.[STAGE_LABEL] === stage.name)
    const before = beforeOf(delivery, stage.name)
    // A stage that is being removed is rendered too: its payloads may be gone, and its objects must be known by name.
    const isLeaving = own.length > 0 || before?.startedAt !== undefined || before?.state === 'Removing'
    return {
      stage,
      isWanted,
      isEarly: requests.early.has(stage.name),
      gate: gateOf(stage, facts),
      existing: stage === adoptable ? installed.existing : { is: 'nothing' },
      sets: own,
      hasSets: own.length > 0,
      isRendered: isWanted || isLeaving,
      before,
    }
  })
}

function gateOf({ gateLabel }: AddonStage, { cluster, gates }: StageFacts): ObservedStage['gate'] {
  if (!gateLabel) return undefined
  return { label: gateLabel, isSet: cluster.labels[gateLabel] === 'true', isOurs: gates.has(gateLabel) }
}

/** `inputs` by stage name; a stage without one is not rendered, and one that was refused stays so. */
export function renderStages(
  listed: readonly ListedStage[],
  inputs: ReadonlyMap<string, StageInput | Rendered>,
): readonly RenderedStage[] {
  return listed.map((one) => {
    const input = inputs.get(one.stage.name)
    const rendered = input === undefined || 'is' in input ? input : renderStage(input)
    return { ...one, rendered, obsoleteSets: obsoleteOf(one, rendered) }
  })
}

/** Nothing is delivered beside an installation of others. */
function obsoleteOf({ sets, existing }: ListedStage, rendered: Rendered | undefined): readonly string[] {
  const names = sets.map(({ metadata }) => metadata.name)
  if (existing.is === 'foreign') return names
  if (rendered?.is !== 'ready') return []
  const needed = new Set(rendered.parts.map((part) => part.set))
  return names.filter((name) => !needed.has(name))
}

/** The recorded status; a requested retry resets its counters. */
function beforeOf(delivery: Projected<AddonDelivery>, name: string): StageStatus | undefined {
  const before = delivery.status?.stages?.find((one) => one.name === name)
  const asked = delivery.metadata.annotations?.[RETRY_ANNOTATION]
  if (!before || asked === undefined || asked === delivery.status?.handledRetry) return before
  const { attempts: _attempts, failedAt, redelivery, ...rest } = before
  const long = toTimestamp(0)
  return {
    ...rest,
    ...(failedAt === undefined ? {} : { failedAt: long }),
    ...(redelivery ? { redelivery: redelivery.map(({ set }) => ({ set, since: long })) } : {}),
  }
}
