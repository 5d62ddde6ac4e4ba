// Which of two resourceVersions is newer. They are decimal numbers that may exceed 2^53, so they are compared as text.
export function isNewer(version: string | undefined, than: string | undefined): boolean {
  if (!isNumeric(version)) return false
  if (!isNumeric(than)) return true
  return version.length === than.length ? version > than : version.length > than.length
}

export function newest(a: string | undefined, b: string | undefined): string | undefined {
  return isNewer(b, a) ? b : (a ?? b)
}

function isNumeric(version: string | undefined): version is string {
  return version !== undefined && /^[1-9]\d*$/.test(version)
}
