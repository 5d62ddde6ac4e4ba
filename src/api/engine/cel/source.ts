// Reads the text of a rule just far enough to know its names and to send a few methods to our own versions of them.

const TOKEN =
  /\/\/[^\n]*|(?:[rRbB]{0,2})(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|[A-Za-z_][A-Za-z0-9_]*|\s+|[\s\S]/g
const RAW = /^[rRbB]*[rR][rRbB]*(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n]*"|'[^'\n]*')/

/** Methods of the CEL package that differ from Kubernetes: its regular expressions are JavaScript's, its ASCII is not. */
const RENAMED: Readonly<Record<string, string>> = {
  matches: 'matchesRe2',
  lowerAscii: 'lowerAsciiOnly',
  upperAscii: 'upperAsciiOnly',
}

export interface RuleSource {
  readonly text: string
  readonly usesOldSelf: boolean
}

export function readRule(rule: string): RuleSource {
  let text = ''
  let usesOldSelf = false
  let before = ''
  for (const token of tokens(rule)) {
    const isMember = before === '.'
    if (token === 'oldSelf' && !isMember) usesOldSelf = true
    text += isMember && Object.hasOwn(RENAMED, token) ? RENAMED[token] : token
    if (token.trim() !== '') before = token
  }
  return { text, usesOldSelf }
}

function* tokens(rule: string): Generator<string> {
  let at = 0
  while (at < rule.length) {
    const raw = RAW.exec(rule.slice(at))
    TOKEN.lastIndex = at
    const token = raw ? raw[0] : TOKEN.exec(rule)![0]
    yield token
    at += token.length
  }
}
