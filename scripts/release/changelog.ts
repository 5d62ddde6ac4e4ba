// CHANGELOG.md in the form of Keep a Changelog: what is unreleased becomes a release. Pure: text in, text out.
const UNRELEASED = '## Unreleased'

const literal = (text: string) => text.replaceAll(/[.+]/g, '\\$&')

/** The text under the heading of a version, without the heading. */
export function sectionOf(text: string, version: string): string | undefined {
  const heading = version === 'Unreleased' ? 'Unreleased' : `${literal(version)}(?: - \\d{4}-\\d{2}-\\d{2})?`
  return new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, 'm').exec(text)?.[1]?.trim()
}

/** Why this version cannot become a section; nothing when it can. */
export function changelogBlockers(text: string, version: string): readonly string[] {
  if (sectionOf(text, version) !== undefined) return [`CHANGELOG.md has a section ${version} already`]
  const unreleased = sectionOf(text, 'Unreleased')
  if (unreleased === undefined) return [`CHANGELOG.md has no section "${UNRELEASED}"`]
  return unreleased === '' ? [`CHANGELOG.md has nothing under "${UNRELEASED}"`] : []
}

export const released = (text: string, version: string, date: string): string =>
  text.replace(`${UNRELEASED}\n`, () => `${UNRELEASED}\n\n## ${version} - ${date}\n`)
