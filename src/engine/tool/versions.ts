// How versions of terraform and tofu compare. The package semver would make every runner a twentieth slower to load.
const FORM = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/

export const isVersion = (text: string): boolean => FORM.test(text)

/** Negative when `a` is older than `b`; a pre-release is older than its release. */
export function compareVersions(a: string, b: string): number {
  const [, ...left] = FORM.exec(a) ?? []
  const [, ...right] = FORM.exec(b) ?? []
  for (const part of [0, 1, 2]) {
    const difference = Number(left[part]) - Number(right[part])
    if (difference !== 0) return difference
  }
  const [before, after] = [left[3], right[3]]
  if (before === after) return 0
  if (before === undefined || after === undefined) return before === undefined ? 1 : -1
  return before.localeCompare(after, 'en', { numeric: true })
}
