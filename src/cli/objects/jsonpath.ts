// Templates of -o jsonpath, as kubectl has them: text, {.path}, {"text"} and {range .path}…{end}.
import { CaptError, parseJsonPath } from '#lib'

type Part = (value: unknown) => string

interface Token {
  readonly is: 'text' | 'expression'
  readonly text: string
}

export function parseTemplate(template: string): (value: unknown) => string {
  const tokens = tokensOf(template)
  const { parts, rest } = parseParts(tokens)
  if (rest.length > 0) throw refusal(template, '{end} without {range}')
  return (value) => parts.map((part) => part(value)).join('')

  function parseParts(from: readonly Token[], isInRange = false): { parts: readonly Part[]; rest: readonly Token[] } {
    const parts: Part[] = []
    let left = from
    for (;;) {
      const [token, ...more] = left
      if (!token) {
        if (isInRange) throw refusal(template, '{range} without {end}')
        return { parts, rest: [] }
      }
      if (token.is === 'expression' && token.text === 'end') return { parts, rest: isInRange ? more : left }
      left = more
      const range = token.is === 'expression' ? /^range\s+(.+)$/s.exec(token.text)?.[1] : undefined
      if (range === undefined) parts.push(partOf(token))
      else {
        const inner = parseParts(left, true)
        const select = parseJsonPath(range)
        parts.push((value) =>
          select(value)
            .map((item) => inner.parts.map((part) => part(item)).join(''))
            .join(''),
        )
        left = inner.rest
      }
    }
  }
}

/** Braces inside quotes or brackets belong to the expression. */
function tokensOf(template: string): readonly Token[] {
  if (!template.includes('{')) return [{ is: 'expression', text: template }]
  return [...template.matchAll(/\{((?:"(?:\\.|[^"\\])*"|'[^']*'|[^{}"'])*)\}|([^{]+|\{)/gs)].map(([, inside, text]) => {
    if (text === '{') throw refusal(template, '{ without }')
    return inside === undefined ? { is: 'text', text: text ?? '' } : { is: 'expression', text: inside.trim() }
  })
}

function partOf({ is, text }: Token): Part {
  if (is === 'text') return () => text
  if (/^".*"$/s.test(text)) {
    const literal = JSON.parse(text.replaceAll('\n', '\\n')) as string
    return () => literal
  }
  const select = parseJsonPath(text)
  return (value) => select(value).map(toText).join(' ')
}

const toText = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value)

function refusal(template: string, why: string): CaptError {
  return new CaptError('CAPT_USAGE', `"${template}" is not a JSONPath template: ${why}`, {
    hint: `for example -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'`,
  })
}
