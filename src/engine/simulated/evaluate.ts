// Works out what a module made of terraform_data would come to: its resources, by address, and its outputs. Nothing runs.
import { createHash } from 'node:crypto'
import { isPlainObject, type Json, ownValue, parseJson } from '#lib'
import { scanRecent } from '../render/hcl.ts'
import { rememberRecent } from '../render/recent.ts'
import type { StateOutput } from '../state/state-file.ts'
import { type Expression, parseExpression, unsupported } from './expression.ts'
import { callFunction } from './functions.ts'

export interface Evaluated {
  readonly addresses: readonly string[]
  readonly outputs: Readonly<Record<string, StateOutput>>
}

type Scope = Readonly<Record<string, Json>>
type Attributes = Readonly<Record<string, string>>

/** `workspace`: what the ids of its resources derive from, so that two workspaces never share one. */
export function evaluateModule(
  files: Readonly<Record<string, string>>,
  given: Readonly<Record<string, Json>>,
  workspace = '',
): Evaluated {
  const module = new Module(files, given, workspace)
  return { addresses: module.addresses(), outputs: module.outputs() }
}

/** As many as a few modules have. */
const parse = rememberRecent(256, parseExpression)

class Module {
  readonly #variables = new Map<string, Attributes>()
  readonly #locals = new Map<string, string>()
  readonly #resources = new Map<string, Attributes>()
  readonly #outputs = new Map<string, Attributes>()
  readonly #known = new Map<string, Json>()
  readonly #given: Readonly<Record<string, Json>>
  readonly #workspace: string

  constructor(files: Readonly<Record<string, string>>, given: Readonly<Record<string, Json>>, workspace: string) {
    this.#given = given
    this.#workspace = workspace
    for (const [name, content] of Object.entries(files)) {
      if (name.endsWith('.tf.json')) this.#readJson(content)
      else this.#readHcl(content)
    }
  }

  #readHcl(content: string): void {
    for (const { type, labels, attributes } of scanRecent(content).blocks) {
      const [first = '', second = ''] = labels
      if (type === 'variable') this.#variables.set(first, attributes)
      else if (type === 'locals') for (const [name, text] of Object.entries(attributes)) this.#locals.set(name, text)
      else if (type === 'output') this.#outputs.set(first, attributes)
      else if (type === 'resource' && first === 'terraform_data') this.#resources.set(second, attributes)
      else if (type === 'resource' || type === 'data' || type === 'module')
        throw unsupported(`${type} ${labels.join('.')}`)
    }
  }

  /** Only what rendering adds: declarations of the variables for values. */
  #readJson(content: string): void {
    const parsed = parseJson(content) as { variable?: Record<string, object> } & Record<string, unknown>
    const others = Object.keys(parsed).filter((key) => key !== 'variable')
    if (others.length > 0) throw unsupported(`Terraform's JSON syntax (${others.join(', ')})`)
    for (const name of Object.keys(parsed.variable ?? {})) this.#variables.set(name, { type: 'string' })
  }

  addresses(): readonly string[] {
    return [...this.#resources].flatMap(([name, attributes]) => {
      const base = `terraform_data.${name}`
      return this.#keys(attributes).map((key) => (key === undefined ? base : `${base}[${JSON.stringify(key)}]`))
    })
  }

  outputs(): Readonly<Record<string, StateOutput>> {
    const outputs = [...this.#outputs].map(
      ([name, { value, sensitive }]) =>
        [name, { value: this.#text(value ?? 'null', {}), sensitive: sensitive === 'true' }] as const,
    )
    // Terraform keeps no output that is null.
    return Object.fromEntries(outputs.filter(([, { value }]) => value !== null))
  }

  /** Keys of the instances of a resource; one without a key when it is neither counted nor repeated. */
  #keys({ count, for_each: each }: Attributes): readonly (string | number | undefined)[] {
    if (count !== undefined) return Array.from({ length: Number(this.#text(count, {})) }, (_, i) => i)
    if (each === undefined) return [undefined]
    const over = this.#text(each, {})
    return (Array.isArray(over) ? over.map(String) : Object.keys(isPlainObject(over) ? over : {})).sort()
  }

  #variable(name: string): Json {
    return this.#remember(`var.${name}`, () => {
      const declared = this.#variables.get(name)
      if (!declared) throw unsupported(`the variable ${name}`)
      const value = ownValue(this.#given, name)
      if (value === undefined || value === null)
        return declared['default'] === undefined ? null : this.#text(declared['default'], {})
      return convert(value, declared['type'] ?? '')
    })
  }

  #resource(name: string): Json {
    return this.#remember(`terraform_data.${name}`, () => {
      const attributes = this.#resources.get(name)
      if (!attributes) throw unsupported(`terraform_data.${name}`)
      const keys = this.#keys(attributes)
      const each = attributes['for_each'] === undefined ? null : this.#text(attributes['for_each'], {})
      const instances = keys.map((key) => [key, this.#instance(name, attributes, key, each)] as const)
      if (keys.length === 1 && keys[0] === undefined) return instances[0]![1]
      if (attributes['count'] !== undefined) return instances.map(([, instance]) => instance)
      return Object.fromEntries(instances.map(([key, instance]) => [String(key), instance]))
    })
  }

  #instance(name: string, attributes: Attributes, key: string | number | undefined, each: Json): Json {
    const scope: Record<string, Json> = {}
    if (typeof key === 'number') scope['count'] = { index: key }
    if (typeof key === 'string') {
      const value = isPlainObject(each) ? ((each as { [name: string]: Json })[key] ?? null) : key
      scope['each'] = { key, value }
    }
    const input = attributes['input'] === undefined ? null : this.#text(attributes['input'], scope)
    const digest = createHash('sha256')
      .update(`${this.#workspace}/${name}/${String(key)}`)
      .digest('hex')
    return { id: `${digest.slice(0, 8)}-0000-0000-0000-${digest.slice(8, 20)}`, input, output: input }
  }

  #remember(key: string, work: () => Json): Json {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const value = work()
    this.#known.set(key, value)
    return value
  }

  #text(text: string, scope: Scope): Json {
    return this.#evaluate(parse(text), scope)
  }

  #evaluate(expression: Expression, scope: Scope): Json {
    const of = (inner: Expression) => this.#evaluate(inner, scope)
    switch (expression.is) {
      case 'literal':
        return expression.value
      case 'template':
        return expression.parts.length === 1
          ? of(expression.parts[0]!)
          : expression.parts.map((part) => toText(of(part))).join('')
      case 'name':
        return this.#name(expression.name, scope)
      case 'attribute':
        return this.#attribute(expression, scope)
      case 'index':
        return pick(of(expression.of), of(expression.key))
      case 'splat':
        return asList(of(expression.of)).map((item) => expression.path.reduce<Json>(pick, item))
      case 'call':
        return this.#call(expression, scope)
      case 'unary':
        return expression.operator === '!' ? !of(expression.of) : -Number(of(expression.of))
      case 'binary':
        return operate(expression.operator, of(expression.left), () => of(expression.right))
      case 'choice':
        return of(expression.when) === true ? of(expression.yes) : of(expression.no)
      case 'list':
        return expression.items.map(of)
      case 'object':
        return Object.fromEntries(expression.entries.map(([key, value]) => [toText(of(key)), of(value)]))
      case 'for':
        return this.#for(expression, scope)
    }
  }

  /** `try` and `can` look at errors; everything else at values. */
  #call({ name, args }: Extract<Expression, { is: 'call' }>, scope: Scope): Json {
    if (name !== 'try' && name !== 'can')
      return callFunction(
        name,
        args.map((arg) => this.#evaluate(arg, scope)),
      )
    for (const arg of args) {
      try {
        const value = this.#evaluate(arg, scope)
        return name === 'can' ? true : value
      } catch {
        // The next one may work.
      }
    }
    return name === 'can' ? false : null
  }

  #name(name: string, scope: Scope): Json {
    if (Object.hasOwn(scope, name)) return scope[name]!
    throw unsupported(`the name ${name}`)
  }

  #attribute({ of, name }: Extract<Expression, { is: 'attribute' }>, scope: Scope): Json {
    if (of.is === 'name' && !Object.hasOwn(scope, of.name)) {
      if (of.name === 'var') return this.#variable(name)
      if (of.name === 'local') return this.#local(name)
      if (of.name === 'terraform_data') return this.#resource(name)
    }
    return pick(this.#evaluate(of, scope), name)
  }

  #local(name: string): Json {
    const text = this.#locals.get(name)
    if (text === undefined) throw unsupported(`local.${name}`)
    return this.#remember(`local.${name}`, () => this.#text(text, {}))
  }

  #for(expression: Extract<Expression, { is: 'for' }>, scope: Scope): Json {
    const { names, over, key, value, when } = expression
    const source = this.#evaluate(over, scope)
    const pairs: (readonly [Json, Json])[] = Array.isArray(source)
      ? source.map((item, i) => [i, item] as const)
      : (Object.entries(isPlainObject(source) ? source : {}).sort(([a], [b]) => (a < b ? -1 : 1)) as [string, Json][])
    const results = pairs.flatMap(([at, item]) => {
      const [first = '', second] = names
      const inner = { ...scope, ...(second === undefined ? { [first]: item } : { [first]: at, [second]: item }) }
      if (when && this.#evaluate(when, inner) !== true) return []
      return [[key ? toText(this.#evaluate(key, inner)) : '', this.#evaluate(value, inner)] as const]
    })
    return key ? Object.fromEntries(results) : results.map(([, result]) => result)
  }
}

function pick(of: Json, key: Json): Json {
  const found = Array.isArray(of)
    ? of[Number(key)]
    : isPlainObject(of)
      ? (of as { [name: string]: Json })[String(key)]
      : undefined
  if (found === undefined) throw unsupported(`${JSON.stringify(key)} of ${JSON.stringify(of)?.slice(0, 60)}`)
  return found
}

const asList = (value: Json): readonly Json[] => (Array.isArray(value) ? value : value === null ? [] : [value])

function toText(value: Json): string {
  if (typeof value === 'string') return value
  if (/^(number|bigint|boolean)$/.test(typeof value)) return String(value)
  throw unsupported(`${JSON.stringify(value)} inside a text`)
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => Json>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
}

function operate(operator: string, left: Json, right: () => Json): Json {
  if (operator === '||') return left === true || right() === true
  if (operator === '&&') return left === true && right() === true
  if (operator === '==') return JSON.stringify(left) === JSON.stringify(right())
  if (operator === '!=') return JSON.stringify(left) !== JSON.stringify(right())
  return ARITHMETIC[operator]!(Number(left), Number(right()))
}

/** Text becomes what the variable's type says, as Terraform does. */
function convert(value: Json, type: string): Json {
  if (type === 'bool' && typeof value === 'string') return value === 'true'
  if (type === 'number' && typeof value === 'string') return Number(value)
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value)
  return value
}
