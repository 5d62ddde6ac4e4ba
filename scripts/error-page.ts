// Puts the sections of docs/errors.d together into one page, by code, with an index in front.
export interface ErrorSection {
  readonly code: string
  readonly body: string
}

export function parseErrorSections(texts: readonly string[]): ErrorSection[] {
  return texts
    .flatMap((text) => text.split(/^## /m).slice(1))
    .map((section) => {
      const end = section.indexOf('\n')
      return { code: section.slice(0, end).trim(), body: section.slice(end).trim() }
    })
    .sort((a, b) => (a.code < b.code ? -1 : 1))
}

export function renderErrorPage(texts: readonly string[]): string {
  const sections = parseErrorSections(texts)
  const index = sections.map(({ code }) => `- [${code}](#${code.toLowerCase()})`)
  const bodies = sections.map(({ code, body }) => `## ${code}\n\n${body}\n`)
  return [
    '# Errors',
    '',
    'Every error capt prints ends with a code. Find it here: what it means, what to check, how to put it right.',
    '',
    ...index,
    '',
    bodies.join('\n'),
  ].join('\n')
}
