// Versions as people and APIs write them (1.34, v1.34.2-eks-ab12, 0.30.0) and how they compare by line and patch.
import { CaptError } from '#lib'

interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
}

const FORM = /^v?(\d{1,5})\.(\d{1,5})(?:\.(\d{1,5}))?(?:[-+][0-9A-Za-z.+-]*)?$/

export function parseVersion(text: string): Version | undefined {
  const match = FORM.exec(text.trim())
  if (!match) return undefined
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3] ?? 0) }
}

export function toVersion(text: string, what = 'version'): Version {
  const version = parseVersion(text)
  if (version) return version
  throw new CaptError('CAPT_VERSION_INVALID', `${what} "${text}" is not a version`, {
    hint: 'write it like 1.34 or 1.14.1',
  })
}

/** Negative when `a` is older than `b`. */
export function compareVersions(a: string | Version, b: string | Version): number {
  const left = typeof a === 'string' ? toVersion(a) : a
  const right = typeof b === 'string' ? toVersion(b) : b
  return left.major - right.major || left.minor - right.minor || left.patch - right.patch
}

export function isAtLeast(version: string, floor: string): boolean {
  return compareVersions(version, floor) >= 0
}

/** `1.14` of `v1.14.1`: the release line that compatibility tables speak of. */
export function lineOf(text: string): string {
  const { major, minor } = toVersion(text)
  return `${major}.${minor}`
}

/** Newest first. */
export function byNewest(a: string, b: string): number {
  return compareVersions(b, a)
}
