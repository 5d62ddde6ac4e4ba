// The one error class people see. A code names the page in docs/errors.md, the hint says what to do next,
// and the cause is kept so that nothing is lost on the way up.
interface CaptErrorOptions {
  readonly hint?: string
  readonly cause?: unknown
  /** Where it happened: a file and line, a field path, an address. One line, no secrets. */
  readonly at?: string
}

export class CaptError extends Error {
  readonly code: string
  readonly hint: string | undefined
  readonly at: string | undefined

  constructor(code: string, message: string, options: CaptErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'CaptError'
    this.code = code
    this.hint = options.hint
    this.at = options.at
  }
}

export function isCaptError(error: unknown, code?: string): error is CaptError {
  return error instanceof CaptError && (code === undefined || error.code === code)
}

/** Why a file cannot be used: the reason of the system alone, because the message has the path already. */
export function fileFaultOf(error: unknown): string {
  return messageOf(error).replace(/^[A-Z]+: (.+?), \w+( '.*')?$/s, '$1')
}

/** A short text for any thrown value; for logs and messages, never for matching. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : JSON.stringify(error)
}
