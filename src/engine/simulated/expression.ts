// Reads Terraform expressions: literals, templates, references, operators, collections, `for`. Enough for modules made of
// terraform_data; what it does not know it refuses by name, it never guesses.
import { CaptError } from '#lib'

export type Expression =
  | { readonly is: 'literal'; readonly value: string | number | boolean | null }
  | { readonly is: 'template'; readonly parts: readonly Expression[] }
  | { readonly is: 'name'; readonly name: string }
  | { readonly is: 'attribute'; readonly of: Expression; readonly name: string }
  | { readonly is: 'index'; readonly of: Expression; readonly key: Expression }
  | { readonly is: 'splat'; readonly of: Expression; readonly path: readonly string[] }
  | { readonly is: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | { readonly is: 'unary'; readonly operator: string; readonly of: Expression }
  | { readonly is: 'binary'; readonly operator: string; readonly left: Expression; readonly right: Expression }
  | { readonly is: 'choice'; readonly when: Expression; readonly yes: Expression; readonly no: Expression }
  | { readonly is: 'list'; readonly items: readonly Expression[] }
  | { readonly is: 'object'; readonly entries: readonly (readonly [Expression, Expression])[] }
  | {
      readonly is: 'for'
      readonly names: readonly string[]
      readonly over: Expression
      /** Set: the result is an object. */
      readonly key?: Expression
      readonly value: Expression
      readonly when?: Expression
    }

const BINARY: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<=', '>=', '<', '>'],
  ['+', '-'],
  ['*', '/', '%'],
]

export function unsupported(what: string): CaptError {
  return new CaptError('CAPT_SIMULATED_UNSUPPORTED', `the simulated engine does not know ${what}`, {
    hint: 'install Terraform or OpenTofu; the simulation knows modules made of terraform_data only',
  })
}

export function parseExpression(text: string): Expression {
  const reader = new Reader(text)
  const expression = reader.expression()
  reader.space(true)
  if (!reader.atEnd) throw unsupported(`"${text.slice(reader.at, reader.at + 20)}"`)
  return expression
}

class Reader {
  at = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get atEnd(): boolean {
    return this.at >= this.#text.length
  }

  /** Skips blanks and comments; line ends only where they mean nothing. */
  space(lines = true): void {
    const pattern = lines ? /(?:\s|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y : /(?:[^\S\n]|\/\*[\s\S]*?\*\/)*/y
    pattern.lastIndex = this.at
    this.at += pattern.exec(this.#text)?.[0].length ?? 0
  }

  take(token: string, lines = true): boolean {
    this.space(lines)
    if (!this.#text.startsWith(token, this.at)) return false
    this.at += token.length
    return true
  }

  need(token: string): void {
    if (!this.take(token))
      throw unsupported(`"${this.#text.slice(this.at, this.at + 20)}" where "${token}" should stand`)
  }

  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.at += found.length
    return found
  }

  peekWord(): string | undefined {
    this.space()
    return /[A-Za-z_][\w-]*/y.exec(this.#text.slice(this.at))?.[0]
  }

  expression(): Expression {
    const when = this.#binary(0)
    if (!this.take('?')) return when
    const yes = this.expression()
    this.need(':')
    return { is: 'choice', when, yes, no: this.expression() }
  }

  #binary(level: number): Expression {
    const operators = BINARY[level]
    if (!operators) return this.#unary()
    let left = this.#binary(level + 1)
    for (;;) {
      const operator = operators.find((one) => this.#takeOperator(one))
      if (operator === undefined) return left
      left = { is: 'binary', operator, left, right: this.#binary(level + 1) }
    }
  }

  #takeOperator(operator: string): boolean {
    const before = this.at
    if (!this.take(operator, false)) return false
    // `=` and `=>` are not ours to take apart.
    if (/[=>]/.test(this.#text[this.at] ?? '') && operator.length === 1 && !'+-*/%'.includes(operator)) {
      this.at = before
      return false
    }
    return true
  }

  #unary(): Expression {
    if (this.take('!')) return { is: 'unary', operator: '!', of: this.#unary() }
    if (this.take('-')) return { is: 'unary', operator: '-', of: this.#unary() }
    return this.#postfix(this.#primary())
  }

  #postfix(of: Expression): Expression {
    for (;;) {
      const char = this.#text[this.at]
      if (char === '.') {
        this.at++
        if (this.#text[this.at] === '*') {
          this.at++
          return { is: 'splat', of, path: this.#names() }
        }
        const name = this.match(/[\w-]+/y)
        if (name === undefined) throw unsupported(`"${this.#text.slice(this.at, this.at + 10)}" after a dot`)
        of = { is: 'attribute', of, name }
      } else if (char === '[') {
        this.at++
        if (this.take('*')) {
          this.need(']')
          return { is: 'splat', of, path: this.#names() }
        }
        const key = this.expression()
        this.need(']')
        of = { is: 'index', of, key }
      } else return of
    }
  }

  #names(): readonly string[] {
    const names: string[] = []
    while (this.#text[this.at] === '.') {
      this.at++
      names.push(this.match(/[\w-]+/y) ?? '')
    }
    return names
  }

  #primary(): Expression {
    this.space()
    const char = this.#text[this.at] ?? ''
    if (char === '"') return this.#quoted()
    if (this.#text.startsWith('<<', this.at)) throw unsupported('a heredoc')
    if (this.take('(')) {
      const inner = this.expression()
      this.need(')')
      return inner
    }
    if (this.take('[')) return this.#list()
    if (this.take('{')) return this.#object()
    const number = this.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y)
    if (number !== undefined) return { is: 'literal', value: Number(number) }
    const word = this.match(/[A-Za-z_][\w-]*/y)
    if (word === undefined) throw unsupported(`"${this.#text.slice(this.at, this.at + 20)}"`)
    if (word === 'true' || word === 'false') return { is: 'literal', value: word === 'true' }
    if (word === 'null') return { is: 'literal', value: null }
    if (this.#text[this.at] !== '(') return { is: 'name', name: word }
    this.at++
    return { is: 'call', name: word, args: this.#items(')') }
  }

  #items(close: string): readonly Expression[] {
    const items: Expression[] = []
    while (!this.take(close)) {
      items.push(this.expression())
      if (!this.take(',')) {
        this.need(close)
        break
      }
    }
    return items
  }

  #list(): Expression {
    if (this.peekWord() === 'for') return this.#for(']')
    return { is: 'list', items: this.#items(']') }
  }

  #object(): Expression {
    if (this.peekWord() === 'for') return this.#for('}')
    const entries: [Expression, Expression][] = []
    while (!this.take('}')) {
      const word = this.match(/[A-Za-z_][\w-]*(?=\s*[=:])/y)
      const key = word === undefined ? this.expression() : ({ is: 'literal', value: word } as const)
      if (!this.take('=')) this.need(':')
      entries.push([key, this.expression()])
      this.take(',')
    }
    return { is: 'object', entries }
  }

  #for(close: string): Expression {
    this.need('for')
    const names: string[] = []
    do {
      this.space()
      names.push(this.match(/[A-Za-z_][\w-]*/y) ?? '')
    } while (this.take(','))
    this.need('in')
    const over = this.expression()
    this.need(':')
    const first = this.expression()
    const key = this.take('=>') ? first : undefined
    const value = key ? this.expression() : first
    const when = this.peekWord() === 'if' && this.take('if') ? this.expression() : undefined
    this.need(close)
    return { is: 'for', names, over, ...(key ? { key } : {}), value, ...(when ? { when } : {}) }
  }

  #quoted(): Expression {
    this.at++
    const parts: Expression[] = []
    let text = ''
    const flush = () => {
      if (text !== '') parts.push({ is: 'literal', value: text })
      text = ''
    }
    while (this.#text[this.at] !== '"') {
      if (this.atEnd) throw unsupported('a string without an end')
      if (this.#text.startsWith('$${', this.at) || this.#text.startsWith('%%{', this.at)) {
        text += this.#text.slice(this.at + 1, this.at + 3)
        this.at += 3
      } else if (this.#text.startsWith('${', this.at)) {
        flush()
        this.at += 2
        parts.push(this.expression())
        this.need('}')
      } else if (this.#text.startsWith('%{', this.at)) throw unsupported('a template directive')
      else text += this.#character()
    }
    this.at++
    flush()
    if (parts.length === 0) return { is: 'literal', value: '' }
    return { is: 'template', parts }
  }

  #character(): string {
    const char = this.#text[this.at++]!
    if (char !== '\\') return char
    const letter = this.#text[this.at++] ?? ''
    const plain: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' }
    if (letter in plain) return plain[letter]!
    const code = this.match(letter === 'u' ? /[0-9a-fA-F]{4}/y : /[0-9a-fA-F]{8}/y)
    return String.fromCodePoint(Number.parseInt(code ?? '0', 16))
  }
}
