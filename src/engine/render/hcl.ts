// Reads HCL just far enough: where a `${…}` of ours stands, and which variables the text declares.
// It never refuses text; Terraform itself decides what is valid.
import { rememberRecent } from './recent.ts'

export interface Hole {
  readonly start: number
  readonly end: number
  readonly key: string
  /** In a quoted string, in a heredoc, or bare where an expression is expected. */
  readonly place: 'quoted' | 'heredoc' | 'bare'
  /** Terraform takes no reference here (module source, variable default, block label, provisioner, …). */
  readonly literalOnly: boolean
}

export interface Block {
  readonly type: string
  readonly labels: readonly string[]
  /** Source text of the attributes directly inside the block. */
  readonly attributes: Readonly<Record<string, string>>
  /** From its first word up to and with its closing brace. */
  readonly start: number
  readonly end: number
}

interface Span {
  readonly start: number
  readonly end: number
}

interface Scan {
  readonly holes: readonly Hole[]
  /** Top-level blocks in order. */
  readonly blocks: readonly Block[]
  readonly comments: readonly Span[]
}

interface Body {
  readonly name: string
  readonly labels: readonly string[]
  readonly attributes: Record<string, string>
  readonly start: number
}

export function scanHcl(text: string, isOurs: (key: string) => boolean = () => false): Scan {
  const holes: Hole[] = []
  const blocks: Block[] = []
  const comments: Span[] = []
  const bodies: Body[] = []
  let words: string[] = []
  let wordsAt = 0
  let attribute: { name: string; start: number; depth: number } | undefined
  let at = 0

  const path = () => bodies.map((body) => body.name)
  const endAttribute = () => {
    const body = bodies.at(-1)
    if (attribute && body) body.attributes[attribute.name] = text.slice(attribute.start, at).trim()
    attribute = undefined
    words = []
  }

  /** `${key}` of ours at this place, and only that between the braces. */
  const takeHole = (place: Hole['place']): boolean => {
    const close = text.indexOf('}', at)
    if (close < 0) return false
    const key = text.slice(at + 2, close)
    if (!isOurs(key)) return false
    holes.push({ start: at, end: close + 1, key, place, literalOnly: isLiteralOnly(path(), attribute?.name) })
    at = close + 1
    return true
  }

  const skipInterpolation = () => {
    at += 2
    skipCode('}')
  }

  /** One step inside a template; true when something longer than a character was passed. */
  const takeTemplatePart = (place: Hole['place']): boolean => {
    if (text.startsWith('$${', at) || text.startsWith('%%{', at)) {
      at += 3
      return true
    }
    if (text.startsWith('${', at)) {
      if (!takeHole(place)) skipInterpolation()
      return true
    }
    if (text.startsWith('%{', at)) {
      skipInterpolation()
      return true
    }
    return false
  }

  const skipString = () => {
    at++
    while (at < text.length && text[at] !== '"' && text[at] !== '\n') {
      if (takeTemplatePart('quoted')) continue
      at += text[at] === '\\' ? 2 : 1
    }
    if (text[at] === '"') at++
  }

  const skipHeredoc = (marker: string) => {
    at = endOfLine(text, at) + 1
    while (at < text.length) {
      const lineEnd = endOfLine(text, at)
      if (text.slice(at, lineEnd).trim() === marker) {
        at = lineEnd
        return
      }
      while (at <= lineEnd && at < text.length) if (!takeTemplatePart('heredoc')) at++
    }
  }

  const skipComment = (): boolean => {
    const start = at
    if (text[at] === '#' || text.startsWith('//', at)) at = endOfLine(text, at)
    else if (text.startsWith('/*', at)) {
      const end = text.indexOf('*/', at + 2)
      at = end < 0 ? text.length : end + 2
    } else return false
    comments.push({ start, end: at })
    return true
  }

  const takeHeredoc = (): boolean => {
    const match = /^<<-?([A-Za-z_][A-Za-z0-9_-]*)[^\S\n]*\r?\n/.exec(text.slice(at, at + 200))
    if (!match) return false
    skipHeredoc(match[1]!)
    return true
  }

  /** An expression up to its closing bracket, which is passed too. */
  function skipCode(close: string): void {
    let depth = 0
    while (at < text.length) {
      const char = text[at]!
      if (char === '"') skipString()
      else if (skipComment() || (char === '<' && takeHeredoc())) continue
      else if (char === close && depth === 0) {
        at++
        return
      } else {
        if ('{[('.includes(char)) depth++
        if ('}])'.includes(char)) depth--
        at++
      }
    }
  }

  const addWord = (word: string, start: number) => {
    if (words.length === 0) wordsAt = start
    words.push(word)
  }

  const takeWord = () => {
    const match = /^[A-Za-z_][A-Za-z0-9_-]*/.exec(text.slice(at, at + 256))
    if (!match) return false
    if (!attribute) addWord(match[0], at)
    at += match[0].length
    return true
  }

  const takeBracket = (char: string) => {
    if (attribute) {
      if ('{[('.includes(char)) attribute.depth++
      else if (attribute.depth > 0) attribute.depth--
      else if (char === '}') return closeBody()
    } else if (char === '{') {
      bodies.push({ name: words[0] ?? '', labels: words.slice(1), attributes: {}, start: wordsAt })
      words = []
    } else if (char === '}') return closeBody()
    at++
  }

  const closeBody = () => {
    if (attribute) endAttribute()
    const body = bodies.pop()
    words = []
    at++
    if (!body || bodies.length > 0) return
    const { name: type, labels, attributes, start } = body
    blocks.push({ type, labels, attributes, start, end: at })
  }

  while (at < text.length) {
    const char = text[at]!
    if (char === '"') {
      const start = at
      skipString()
      if (!attribute) addWord(text.slice(start + 1, at - 1), start)
    } else if (skipComment()) continue
    else if (char === '<' && attribute && takeHeredoc()) continue
    else if (text.startsWith('${', at)) {
      if (!takeHole('bare')) at++
    } else if (char === '\n') {
      if (attribute?.depth === 0) endAttribute()
      else if (!attribute) words = []
      at++
    } else if (char === '=' && !attribute && text[at + 1] !== '=') {
      at++
      attribute = { name: words[0] ?? '', start: at, depth: 0 }
    } else if ('{}[]()'.includes(char)) takeBracket(char)
    else if (!takeWord()) at++
  }
  if (attribute) endAttribute()
  return { holes, blocks, comments }
}

/** Without holes, and cached: the modules of a fleet are the same few texts. */
export const scanRecent = rememberRecent(8, (text) => scanHcl(text))

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

/** Attributes of a block whose value Terraform must know before it evaluates anything. */
const LITERAL_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  module: ['source', 'version'],
  provider: ['alias', 'version'],
}

export function isLiteralOnly(path: readonly string[], attribute: string | undefined): boolean {
  if (attribute === undefined) return true
  const [top] = path
  if (top === 'variable' || top === 'terraform') return true
  if (path.includes('provisioner') || path.includes('connection')) return true
  if (path.includes('lifecycle') && !path.includes('precondition') && !path.includes('postcondition')) return true
  return path.length === 1 && (LITERAL_ATTRIBUTES[top ?? '']?.includes(attribute) ?? false)
}

/** A quoted HCL string that means exactly `value`; `$` and `%` are spelt out where a template could begin. */
export function quoteHcl(value: string): string {
  const escaped = value
    .replace(/["\\]/g, '\\$&')
    .replace(/[$%](?=[$%]*\{)/g, toEscape)
    .replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, toEscape)
  return `"${escaped}"`
}

function toEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
