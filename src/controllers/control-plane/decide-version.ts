// Whether the version in the spec may reach Terraform. A cluster that runs what is asked for is never disturbed, not
// even when that version has left the matrix.
import { type Decision, stalled } from '#runtime'
import type { Observed } from './observe.ts'
import { eksVersion, type Refusal, refuseSkew, refuseStep } from './version.ts'

export interface VersionRules {
  /** What the matrix of tested versions says about a Kubernetes minor version. */
  readonly checkVersion?: (kubernetes: string) => { readonly message: string; readonly hint: string } | undefined
}

/** Nothing tells us when nodes were replaced, so it is looked at again. */
const NODES_RETRY_SECONDS = 60

export function decideVersion(seen: Observed, rules: VersionRules): Decision<never> | undefined {
  const target = eksVersion(seen.object.spec.version)
  if (target === undefined)
    return stalled('VersionInvalid', `"${seen.object.spec.version}" is not a Kubernetes version`, 'write it like 1.34')
  const current = currentVersion(seen)
  if (current === target) return undefined
  const refusal = refuseStep(current, target) ?? refuseByMatrix(target, rules)
  if (refusal) return stalled(refusal.reason, refusal.message, refusal.hint)
  const tooOld = refuseSkew(seen.oldestNode, target)
  return tooOld && stalled(tooOld.reason, tooOld.message, tooOld.hint, NODES_RETRY_SECONDS)
}

/** Whether the spec asks for another version than the one that runs, and Terraform has not been told yet. */
export function isNewWish({ object, facts, apply }: Pick<Observed, 'object' | 'facts' | 'apply'>): boolean {
  const target = eksVersion(object.spec.version)
  const current = currentVersion({ object, facts })
  return current !== undefined && current !== target && apply?.spec.variables['kubernetes_version'] !== target
}

/** The EKS version that runs, as far as it is known. */
export function currentVersion({ facts, object }: Pick<Observed, 'facts' | 'object'>): string | undefined {
  const output = facts.outputs['cluster_version']
  const known = typeof output === 'string' ? output : object.status?.version
  return known === undefined ? undefined : eksVersion(known)
}

function refuseByMatrix(target: string, { checkVersion }: VersionRules): Refusal | undefined {
  const fault = checkVersion?.(target)
  return fault && { reason: 'VersionNotSupported', message: fault.message, hint: fault.hint }
}
