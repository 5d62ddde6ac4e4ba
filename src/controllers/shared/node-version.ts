// Which control plane nodes may join, and which Kubernetes version they may have: never newer than their control plane, at
// most three minor versions older.
import { CAPTControlPlane, type ContractRef } from '#api'
import { type Decision, stalled, waiting } from '#runtime'
import { eksVersion, refuseSkew } from '../control-plane/version.ts'

interface NodeVersion {
  /** As the owner asks for it; undefined: that of the control plane. */
  readonly version: string | undefined
  /** Minor version that the control plane runs. */
  readonly running: string
  /** What asks for it, in words: `MachinePool workers`. */
  readonly owner: string
  /** Where the owner says it. */
  readonly field: string
}

/** `instead`: what the provider of that control plane has for the purpose. */
export function refuseControlPlane(
  ref: ContractRef | undefined,
  what: string,
  instead: string,
): Decision<never> | undefined {
  if (!ref || ref.kind === CAPTControlPlane.kind) return undefined
  return stalled(
    'ControlPlaneUnsupported',
    `The control plane of the Cluster is a ${ref.kind}: ${what} joins an EKS cluster that has a CAPTControlPlane`,
    `use a CAPTControlPlane, or the ${instead} of the provider that made the control plane`,
  )
}

const minorOf = (version: string): number => Number(version.split('.')[1])

export function isOlder(version: string, than: string): boolean {
  return minorOf(version) < minorOf(than)
}

/** `retryAfterSeconds`: where nothing else reports that the control plane was upgraded. */
export function refuseNodeVersion(
  { version, running, owner, field }: NodeVersion,
  retryAfterSeconds?: number,
): Decision<never> | undefined {
  const target = eksVersion(version ?? running)
  if (target === undefined)
    return stalled(
      'VersionInvalid',
      `${owner} asks for "${version}", which is not a Kubernetes version`,
      `write ${field} of the ${owner.split(' ')[0]} like v1.34.0, or leave it out`,
    )
  if (isOlder(running, target))
    return waiting(
      'WaitingForControlPlaneUpgrade',
      `Kubernetes ${target} is asked for and the control plane runs ${running}: nodes are upgraded after it`,
      retryAfterSeconds,
    )
  if (refuseSkew(target, running))
    return stalled(
      'VersionTooOld',
      `Kubernetes ${target} is asked for and the control plane runs ${running}: nodes may be three minor versions older`,
      `set ${field} of ${owner} to 1.${minorOf(running) - 3} or newer`,
    )
  return undefined
}
