// Steps that an upgrade of Karpenter must not skip: 0.32 is the only line that serves the alpha API and the one after it, and 1.0 the only
// one that converts what is stored of the beta API. Pure.
import type { UnknownObject } from '#api'
import { compareVersions, parseVersion } from '#catalog'
import { fieldsOf } from '#lib'
import type { Blocker } from '../stage-type.ts'

/** The only line that serves the beta API and v1, and its last patch. */
const BRIDGE = '1.0.14'
const FIRST_WITHOUT_BETA = '1.1.0'
/** The same between alpha and beta. */
const BETA_BRIDGE = '0.32.10'
const FIRST_BETA = '0.32.0'
const FIRST_WITHOUT_ALPHA = '0.33.0'
export const OWN_DEFINITIONS = [
  'nodepools.karpenter.sh',
  'nodeclaims.karpenter.sh',
  'ec2nodeclasses.karpenter.k8s.aws',
] as const

const isFrom = (first: string) => (version: string) =>
  parseVersion(version) !== undefined && compareVersions(version, first) >= 0
const endsBeta = isFrom(FIRST_WITHOUT_BETA)
const endsAlpha = isFrom(FIRST_WITHOUT_ALPHA)

/** `version`: what is to be delivered. */
export function findSkippedStep(deployments: readonly UnknownObject[], version: string): Blocker | undefined {
  const running = deployments
    .map(({ metadata }) => metadata.labels?.['app.kubernetes.io/version']?.replace(/^v/, ''))
    .find((one) => one !== undefined && parseVersion(one) && compareVersions(one, '1.0.0') < 0)
  if (running === undefined) return undefined
  const code = 'CAPT_KARPENTER_STEP_SKIPPED'
  if (compareVersions(running, FIRST_BETA) < 0 && endsAlpha(version))
    return {
      code,
      message: `Karpenter ${running} runs, and ${version} cannot follow it directly: 0.32 must replace its Provisioners and nodes first`,
      hint: `Upgrade it to ${BETA_BRIDGE} where it was installed from, convert its objects (capt karpenter convert), then to ${BRIDGE}`,
    }
  if (!endsBeta(version)) return undefined
  return {
    code,
    message: `Karpenter ${running} runs, and ${version} cannot follow it directly: 1.0 must convert its objects first`,
    hint: `Set the version of the stage to ${BRIDGE}, wait until it is healthy, then take the next step`,
  }
}

/** The API server refuses a definition that lacks a version in which objects are still stored. */
export function findStoredVersion(live: UnknownObject | undefined, version: string): Blocker | undefined {
  const stored: unknown = fieldsOf(live?.['status'])['storedVersions']
  const lost = (Array.isArray(stored) ? stored : []).map(String).filter((one) => one !== 'v1')
  if (lost.length === 0 || !endsBeta(version)) return undefined
  return {
    code: 'CAPT_KARPENTER_STORED_VERSIONS',
    message: `Objects of ${live!.metadata.name} are still stored as ${lost.join(', ')}, which Karpenter ${version} does not have`,
    hint: `Write each of them once with Karpenter ${BRIDGE} (kubectl get … -o yaml | kubectl replace -f -), take ${lost.join(', ')} out of status.storedVersions, then capt retry`,
  }
}
