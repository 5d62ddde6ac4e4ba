// Whether the version in the spec may reach Terraform. A cluster that runs the requested version is left alone, even
// when that version has left the matrix.
import { type Decision, stalled } from '#runtime'
import { refuseOlderAddon } from './eks-addons.ts'
import { decideLockstep } from './lockstep.ts'
import type { Observed } from './observe.ts'
import { reservedValues } from './variables.ts'
import { eksVersion, type Refusal, refuseSkew, refuseStep } from './version.ts'

export interface VersionRules {
  /** What the matrix of tested versions says about a Kubernetes minor version. */
  readonly checkVersion?: (kubernetes: string) => { readonly message: string; readonly hint: string } | undefined
}

/** Nodes are not watched: they are read again after this time. */
const NODES_RETRY_SECONDS = 60

export function decideVersion(observed: Observed, rules: VersionRules): Decision<never> | undefined {
  const target = eksVersion(observed.object.spec.version)
  if (target === undefined)
    return stalled(
      'VersionInvalid',
      `"${observed.object.spec.version}" is not a Kubernetes version`,
      'write it like 1.34',
    )
  const [reserved] = reservedValues(observed.object)
  if (reserved !== undefined)
    return stalled(
      'ValueReserved',
      `spec.controlPlaneConfig.values.${reserved} would replace what capt sets itself`,
      'remove it, and set the field for it: docs/kinds/captcontrolplane.md lists them',
    )
  const older = refuseOlderAddon(observed)
  if (older) return stalled(older.reason, older.message, older.hint)
  const current = currentVersion(observed)
  if (current === target) return undefined
  const refusal = refuseStep(current, target) ?? refuseByMatrix(target, rules)
  if (refusal) return stalled(refusal.reason, refusal.message, refusal.hint)
  const held =
    current !== undefined && isVersionChange(observed) ? decideLockstep(observed, current, target) : undefined
  if (held) return held
  const tooOld = refuseSkew(observed.oldestNode, target)
  return tooOld && stalled(tooOld.reason, tooOld.message, tooOld.hint, NODES_RETRY_SECONDS)
}

/** The spec requests another version than the one that runs, and the request has not been written yet. */
export function isVersionChange({ object, facts, apply }: Pick<Observed, 'object' | 'facts' | 'apply'>): boolean {
  const target = eksVersion(object.spec.version)
  const current = currentVersion({ object, facts })
  return current !== undefined && current !== target && apply?.spec.variables['kubernetes_version'] !== target
}

/** The EKS version that runs, as far as it is known. */
function currentVersion({ facts, object }: Pick<Observed, 'facts' | 'object'>): string | undefined {
  const output = facts.outputs['cluster_version']
  const known = typeof output === 'string' ? output : object.status?.version
  return known === undefined ? undefined : eksVersion(known)
}

function refuseByMatrix(target: string, { checkVersion }: VersionRules): Refusal | undefined {
  const fault = checkVersion?.(target)
  return fault && { reason: 'VersionNotSupported', message: fault.message, hint: fault.hint }
}
