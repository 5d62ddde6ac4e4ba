// Whether the version in the spec may reach Terraform. A cluster that runs what is asked for is never disturbed, not
// even when that version has left the matrix.
import { type Decision, stalled } from '#runtime'
import type { Observed } from './observe.ts'
import { eksVersion, type Refusal, refuseSkew, refuseStep } from './version.ts'

export interface VersionRules {
  /** What the matrix of tested versions says about a Kubernetes minor version. */
  readonly checkVersion?: (kubernetes: string) => { readonly message: string; readonly hint: string } | undefined
  /** The lowest kubelet version among the nodes of the cluster, where somebody knows it. */
  readonly oldestNode?: (cluster: { readonly namespace: string; readonly name: string }) => string | undefined
}

export function decideVersion(seen: Observed, rules: VersionRules): Decision<never> | undefined {
  const target = eksVersion(seen.object.spec.version)
  if (target === undefined)
    return stalled('VersionInvalid', `"${seen.object.spec.version}" is not a Kubernetes version`, 'write it like 1.34')
  const current = currentVersion(seen)
  if (current === target) return undefined
  const refusal = refuseStep(current, target) ?? refuseByMatrix(target, rules) ?? refuseByNodes(seen, target, rules)
  return refusal && stalled(refusal.reason, refusal.message, refusal.hint)
}

/** The EKS version that runs, as far as it is known. */
export function currentVersion({ facts, object }: Observed): string | undefined {
  const output = facts.outputs['cluster_version']
  const known = typeof output === 'string' ? output : object.status?.version
  return known === undefined ? undefined : eksVersion(known)
}

function refuseByMatrix(target: string, { checkVersion }: VersionRules): Refusal | undefined {
  const fault = checkVersion?.(target)
  return fault && { reason: 'VersionNotSupported', message: fault.message, hint: fault.hint }
}

function refuseByNodes({ object, clusterName }: Observed, target: string, rules: VersionRules): Refusal | undefined {
  return refuseSkew(rules.oldestNode?.({ namespace: object.metadata.namespace ?? '', name: clusterName }), target)
}
