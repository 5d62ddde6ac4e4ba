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
/** The package's `has` cannot look behind an index: has(self.rules[0].name). */
const RENAMED_GLOBAL: Readonly<Record<string, string>> = { has: 'hasField' }

interface RuleSource {
  readonly text: string
  readonly usesOldSelf: boolean
}

export function readRule(rule: string): RuleSource {
  const parts = [...tokens(rule)]
  const words = parts.filter((token) => token.trim() !== '' && !token.startsWith('//'))
  let [text, at, usesOldSelf] = ['', 0, false]
  for (const token of parts) {
    if (token !== words[at]) {
      text += token
      continue
    }
    const isMember = words[at - 1] === '.'
    const renamed = words[at + 1] === '(' ? (isMember ? RENAMED : RENAMED_GLOBAL) : {}
    if (token === 'oldSelf' && !isMember) usesOldSelf = true
    text += Object.hasOwn(renamed, token) ? renamed[token] : token
    at++
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
