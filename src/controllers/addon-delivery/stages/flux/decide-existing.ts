// Decides what to do about a Flux that capt did not install, or one that is newer than requested. Neither is overwritten.
import type { StageStatus } from '#api'
import { act, done } from '#runtime'
import { setName } from '../../names.ts'
import type { DeliveryAction, ObservedDelivery, ObservedStage } from '../../observed.ts'
import { decideFindings } from '../../resource-set/decide-part.ts'
import { pause, stop, type Verdict } from '../verdict.ts'

/** A foreign installation is used as it is, or the stage stops. */
export function decideExisting(
  observed: ObservedStage,
  all: ObservedDelivery,
  before: StageStatus | undefined,
): Verdict {
  const { existing, stage } = observed
  if (existing.is === 'newer') {
    const message = `Flux ${existing.version} is installed, which is newer than the version of the stage`
    const hint = 'Ask for that version or a newer one; capt does not go back'
    return stop('NewerInstalled', { code: 'CAPT_FLUX_NEWER', message, hint })
  }
  if (existing.is !== 'foreign') return pause('NotLookedYet', 'Looking for what is already installed')
  const [set] = observed.obsoleteSets
  if (set !== undefined) return leave(set, setName(stage.name, '', all.delivery.spec.clusterName), existing.how)
  const what = existing.version ? `Flux ${existing.version}` : 'A Flux of unknown version'
  const refuse = (why: string, hint: string): Verdict => {
    const message = `${what} is already installed (${existing.how})${why}`
    return stop('ForeignInstalled', { code: 'CAPT_FLUX_FOREIGN', message, hint })
  }
  if (stage.flux?.existing === 'Refuse')
    return refuse(' and the pipeline refuses it', 'Remove it, or set flux.existing to Adopt')
  if (!existing.version)
    return refuse(' and cannot be adopted', 'Remove it, or install a release that says its version')
  if (!isUsable(existing.version)) return refuse(' and is too old', 'Upgrade it to 2.6 or later')
  const part = observed.parts[0]
  const verdict = part ? decideFindings(observed, part, all, before) : undefined
  const adopted = existing.version
  return verdict ? { ...verdict, adopted } : { state: 'Healthy', decision: done, adopted }
}

/** Delivered by capt, and kept by others since: our set would undo what they write. Probes and jobs of capt go. */
function leave(set: string, install: string, to: string): Verdict {
  const action: DeliveryAction = set === install ? { do: 'hand-over-set', set, to } : { do: 'retire-set', set }
  return { state: 'Delivering', decision: act(action) }
}

function isUsable(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 2 || (major === 2 && minor >= 3)
}
