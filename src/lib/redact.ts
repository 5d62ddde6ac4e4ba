// The last net before a text reaches people: masks what looks like a secret in messages that we did not write ourselves.
// Adapters redact first, by knowing their secrets; this knows only shapes.
const MASK = '…redacted…'

const SHAPES: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, MASK],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${MASK}`],
  [/\bk8s-aws-v1\.[A-Za-z0-9_-]+/g, MASK],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, MASK],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, MASK],
  [/\b(X-Amz-(?:Signature|Credential|Security-Token))=[^&\s"']+/gi, `$1=${MASK}`],
  [/(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]+):[^\s/@]+@/gi, `$1:${MASK}@`],
  [
    /(["']?\b[\w-]*(?:password|passwd|secret[_-]?access[_-]?key|session[_-]?token|client[_-]?secret|api[_-]?key|token)["']?\s*[=:]\s*)(?!(?:Required|Invalid|Forbidden|Unsupported|Duplicate|Too|Not)\b)(…redacted…|"[^"\n]*"|'[^'\n]*'|[^\s,;&"'}]+)/gi,
    `$1${MASK}`,
  ],
]

/** Each shape has one of these in it; most texts have none and need no further look. */
const SUSPICIOUS = /[=:]|BEGIN|Bearer|Basic|k8s-aws|eyJ|AKIA|ASIA/i

export function redact(text: string): string {
  if (!SUSPICIOUS.test(text)) return text
  return SHAPES.reduce((masked, [shape, replacement]) => masked.replace(shape, replacement), text)
}
