// Kubernetes versions as people write them, as EKS takes them, and as Cluster API compares them; and which step from
// one to the next is allowed.
export interface Refusal {
  readonly reason: string
  readonly message: string
  readonly hint: string
}

const SHAPE = /^v?(\d+)\.(\d+)(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

/** `1.34` for `1.34`, `v1.34` and `v1.34.2`; undefined when it is no version. */
export function eksVersion(text: string): string | undefined {
  const match = SHAPE.exec(text)
  return match ? `${Number(match[1])}.${Number(match[2])}` : undefined
}

/** Full semver with a leading v, equal to the spec in every part that the spec has. */
export function fullVersion(text: string): string | undefined {
  const match = SHAPE.exec(text)
  if (!match) return undefined
  const [, major, minor, patch = '0', pre = '', build = ''] = match
  return `v${Number(major)}.${Number(minor)}.${Number(patch)}${pre}${build}`
}

const minorOf = (version: string): number => Number(version.split('.')[1])

/** Why the control plane may not go from one EKS version to another; undefined when it may. */
export function refuseStep(current: string | undefined, target: string): Refusal | undefined {
  if (current === undefined || current === target) return undefined
  const distance = minorOf(target) - minorOf(current)
  if (distance < 0)
    return {
      reason: 'DowngradeRefused',
      message: `Kubernetes ${current} runs and ${target} is asked for: EKS does not go back`,
      hint: `set spec.version back to ${current}`,
    }
  if (distance > 1) {
    const next = `1.${minorOf(current) + 1}`
    return {
      reason: 'UpgradeSkipsVersion',
      message: `Kubernetes ${current} runs and ${target} is asked for: EKS upgrades one minor version at a time`,
      hint: `set spec.version to ${next} first`,
    }
  }
  return undefined
}

/** A kubelet may be three minor versions older than its API server. */
const KUBELET_SKEW = 3

/** Why nodes forbid the step. `oldestNode` is the lowest kubelet version in the cluster. */
export function refuseSkew(oldestNode: string | undefined, target: string): Refusal | undefined {
  const oldest = oldestNode === undefined ? undefined : eksVersion(oldestNode)
  if (oldest === undefined || minorOf(target) - minorOf(oldest) <= KUBELET_SKEW) return undefined
  return {
    reason: 'NodesTooOld',
    message: `A node runs Kubernetes ${oldest}: with a control plane of ${target} it would be more than ${KUBELET_SKEW} minor versions behind`,
    hint: `upgrade the nodes to 1.${minorOf(target) - KUBELET_SKEW} or newer first`,
  }
}

/** The version that runs, for status.version: spelt as in the spec once that minor version is reached. */
export function runningVersion(running: string | undefined, wanted: string, reported: string | undefined) {
  const minor = running === undefined ? undefined : eksVersion(running)
  if (minor === undefined) return reported
  if (minor === eksVersion(wanted)) return fullVersion(wanted)
  if (reported !== undefined && eksVersion(reported) === minor) return reported
  return fullVersion(minor)
}
