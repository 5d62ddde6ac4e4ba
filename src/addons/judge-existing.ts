// Judges what is in the way of a stage: a workload API that does not answer, and what somebody else installed. Nothing
// that capt did not install is ever overwritten.
import type { StageStatus } from '#api'
import { done, stalled } from '#runtime'
import type { DeliverySeen, StageSeen } from './delivery-seen.ts'
import { judgeFindings } from './judge-part.ts'
import { pause, type Verdict } from './verdict.ts'

export function unreachable(workload: Extract<DeliverySeen['workload'], { message: string }>): Verdict {
  if (workload.is === 'forbidden') {
    const hint = 'Give the identity in the kubeconfig an access entry with cluster-admin rights'
    const failure = { code: 'CAPT_WORKLOAD_FORBIDDEN', message: workload.message, hint }
    return { state: 'Failed', decision: stalled('WorkloadForbidden', workload.message, hint, 60), failure }
  }
  const isLogin = workload.is === 'unauthorized'
  const failure = {
    code: isLogin ? 'CAPT_WORKLOAD_UNAUTHORIZED' : 'CAPT_WORKLOAD_UNREACHABLE',
    message: workload.message,
    hint: isLogin
      ? 'The kubeconfig is refreshed every few minutes; if this stays, check the identity that signs it'
      : 'Check the network path to the API endpoint of the cluster',
  }
  return { ...pause(isLogin ? 'WorkloadUnauthorized' : 'WorkloadUnreachable', workload.message, 15), failure }
}

/** Nothing that capt did not install is ever overwritten: it is used as it is, or the stage stops. */
export function judgeExisting(seen: StageSeen, all: DeliverySeen, before: StageStatus | undefined): Verdict {
  const { existing, stage } = seen
  if (existing.is === 'newer') {
    const message = `Flux ${existing.version} is installed, which is newer than what is wanted`
    const hint = 'Ask for that version or a newer one; capt does not go back'
    return {
      state: 'Failed',
      decision: stalled('NewerInstalled', message, hint),
      failure: { code: 'CAPT_FLUX_NEWER', message, hint },
    }
  }
  if (existing.is !== 'foreign') return pause('NotLookedYet', 'Looking for what is already installed')
  const what = existing.version ? `Flux ${existing.version}` : 'A Flux of unknown version'
  const refuse = (why: string, hint: string): Verdict => {
    const message = `${what} is already installed (${existing.how})${why}`
    return {
      state: 'Failed',
      decision: stalled('ForeignInstalled', message, hint),
      failure: { code: 'CAPT_FLUX_FOREIGN', message, hint },
    }
  }
  if (stage.flux?.existing === 'Refuse')
    return refuse(' and the pipeline refuses it', 'Remove it, or set flux.existing to Adopt')
  if (!existing.version)
    return refuse(' and cannot be adopted', 'Remove it, or install a release that says its version')
  if (!isUsable(existing.version)) return refuse(' and is too old', 'Upgrade it to 2.6 or later')
  const part = seen.parts[0]
  const verdict = part ? judgeFindings(seen, part, 0, all, before) : undefined
  const adopted = existing.version
  return verdict ? { ...verdict, adopted } : { state: 'Healthy', decision: done, adopted }
}

function isUsable(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 2 || (major === 2 && minor >= 3)
}
