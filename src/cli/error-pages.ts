// Explained errors as data, out of the sections in docs/errors.d: one heading per code, then what it means, what to check
// and how to put it right. The generated file next to this one is what `capt explain` reads.

export interface ErrorPage {
  readonly title: string
  readonly means: string
  readonly check: string
  readonly fix: string
}

export type ErrorPages = Readonly<Record<string, ErrorPage>>

const LABELS = { means: 'What it means', check: 'Check', fix: 'Fix' } as const

export function parseErrorPages(texts: readonly string[]): Record<string, ErrorPage> {
  const pages = texts
    .flatMap((text) => text.split(/^## /m).slice(1))
    .map((section): [string, ErrorPage] => {
      const end = section.indexOf('\n') < 0 ? section.length : section.indexOf('\n')
      const code = section.slice(0, end).trim()
      return [code, parsePage(section.slice(end))]
    })
  return Object.fromEntries(pages.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function parsePage(body: string): ErrorPage {
  const parts = { means: '', check: '', fix: '' }
  const label =
    /^[ \t]*(?:[-*][ \t]+)?(?:\*{1,2}|_{1,2}|#{3,4} )?(What it means|Check|Fix)(?:\*{1,2}|_{1,2})?[.:]?(?:\*{1,2}|_{1,2})?[ \t]*/gm
  const marks = [...body.matchAll(label)]
  for (const [i, mark] of marks.entries()) {
    const key = (Object.keys(LABELS) as (keyof typeof LABELS)[]).find((name) => LABELS[name] === mark[1])!
    const start = mark.index + mark[0].length
    parts[key] = tidy(body.slice(start, marks[i + 1]?.index ?? body.length))
  }
  const means = parts.means === '' ? tidy(body.slice(0, marks[0]?.index ?? body.length)) : parts.means
  return { title: firstSentence(means), ...parts, means }
}

const tidy = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')

function firstSentence(text: string): string {
  const flat = text.replace(/\s+/g, ' ')
  return (/^.*?[.!?](?=\s|$)/.exec(flat)?.[0] ?? flat).replace(/\.$/, '')
}
