// EKS add-ons (vpc-cni, coredns, kube-proxy) never go back: their older releases do not undo what newer ones changed. Pure.
import { compareVersions, parseVersion } from '#catalog'
import { isPlainObject } from '#lib'
import type { Observed } from './observe.ts'
import type { Refusal } from './version.ts'

/** Why the add-ons in the spec may not reach Terraform; undefined when they may. */
export function refuseOlderAddon({ object, facts, apply }: Observed): Refusal | undefined {
  const reported = facts.outputs['addon_versions']
  const requested = apply?.spec.values?.['addons']
  for (const { name, version } of object.spec.controlPlaneConfig?.addons ?? []) {
    const running = versionIn(reported, name) ?? versionIn(requested, name)
    if (version === undefined || running === undefined || compareEksBuilds(version, running) >= 0) continue
    return {
      reason: 'AddonDowngradeRefused',
      message: `EKS add-on ${name} runs ${running} and ${version} is asked for: add-ons do not go back`,
      hint: `set spec.controlPlaneConfig.addons[name=${name}].version to ${running} or newer, or leave it out`,
    }
  }
  return undefined
}

/** From the output of the template, or from what was last requested of it. */
function versionIn(addons: unknown, name: string): string | undefined {
  const found = isPlainObject(addons) && Object.hasOwn(addons, name) ? addons[name] : undefined
  const version = isPlainObject(found) ? found['version'] : found
  return typeof version === 'string' ? version : undefined
}

/** `v1.18.3-eksbuild.2`: by release, then by build. What is no version is not compared. */
function compareEksBuilds(a: string, b: string): number {
  if (!parseVersion(a) || !parseVersion(b)) return 0
  const build = (text: string) => Number(/-eksbuild\.(\d+)/.exec(text)?.[1] ?? 0)
  return compareVersions(a, b) || build(a) - build(b)
}
