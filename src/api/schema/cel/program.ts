// Compiles rules, each text once, and runs them. Failures come back as values in the words cel-go uses.
import { Environment, EvaluationError, Optional } from '@marcbachmann/cel-js'
import type { JsonSchema, Rule } from '../build.ts'
import { meter, withinRuleBudget } from './cost.ts'
import { type Node, unknownField } from './fields.ts'
import { registerLists } from './lists.ts'
import { registerMacros } from './macros.ts'
import { registerNetwork } from './network.ts'
import { registerQuantity } from './quantity.ts'
import { readRule } from './source.ts'
import { registerStrings } from './strings.ts'

interface Program {
  readonly usesOldSelf: boolean
  run(input: {
    readonly self: unknown
    readonly oldSelf: unknown
  }): { readonly value: unknown } | { readonly error: string } | { readonly over: string }
}

type Parsed = ((context: Record<string, unknown>) => unknown) & {
  check(): {
    readonly valid: boolean
    readonly type?: string
    readonly error?: { readonly summary?: string; readonly message: string }
  }
  readonly ast: Node
}
interface Compiled extends Program {
  readonly type: string
  readonly ast: Node
}

let environment: Environment | undefined

function makeEnvironment(): Environment {
  const env = new Environment({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    unlistedVariablesAreDyn: false,
  })
  env.registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn')
  registerStrings(env)
  registerLists(env)
  registerQuantity(env)
  registerNetwork(env)
  registerMacros(env)
  meterEvaluator(env)
  return env
}

/** The package hands its evaluator to macros alone, so one macro is run to get hold of it. */
function meterEvaluator(env: Environment): void {
  env.registerFunction('meterEvaluator(ast): bool', (() => ({
    async: false,
    typeCheck: (checker: { getType(name: string): unknown }) => checker.getType('bool'),
    evaluate(evaluator: Parameters<typeof meter>[0]) {
      meter(evaluator)
      return true
    },
  })) as (...args: unknown[]) => unknown)
  env.evaluate('meterEvaluator(true)')
}

const programs = new Map<string, Compiled | Error>()

function compile(rule: string): Compiled | Error {
  const known = programs.get(rule)
  if (known) return known
  let result: Compiled | Error
  try {
    result = compileNew(rule)
  } catch (error) {
    result = error instanceof Error ? error : new Error(String(error))
  }
  programs.set(rule, result)
  return result
}

function compileNew(rule: string): Compiled {
  environment ??= makeEnvironment()
  const source = readRule(rule)
  const parsed = environment.parse(source.text) as unknown as Parsed
  const checked = parsed.check()
  if (!checked.valid) throw new Error(checked.error?.summary ?? checked.error?.message)
  return {
    usesOldSelf: source.usesOldSelf,
    type: checked.type ?? 'dyn',
    ast: parsed.ast,
    run({ self, oldSelf }) {
      return withinRuleBudget(() => {
        try {
          return { value: parsed({ self, ...(oldSelf === undefined ? {} : { oldSelf }) }) }
        } catch (error) {
          return { error: describe(error) }
        }
      })
    },
  }
}

function describe(error: unknown): string {
  if (!(error instanceof EvaluationError)) return error instanceof Error ? error.message : String(error)
  const { code, summary } = error as unknown as { readonly code: string; readonly summary: string }
  switch (code) {
    case 'no_such_key':
      return summary.replace(/^No such key/, 'no such key')
    case 'index_out_of_bounds':
      return `index out of bounds: ${/index (-?\d+)/.exec(summary)?.[1] ?? ''}`
    case 'int_conversion_error':
      return "type conversion error from 'string' to 'int'"
    case 'double_conversion_error':
      return "type conversion error from 'string' to 'double'"
    case 'bool_conversion_error':
      return "type conversion error from 'string' to 'bool'"
    case 'invalid_duration':
      return "type conversion error from 'string' to 'google.protobuf.Duration'"
    case 'numeric_overflow':
      return 'integer overflow'
    case 'modulo_by_zero':
      return 'modulus by zero'
    case 'no_matching_overload':
    case 'no_such_overload':
    case 'invalid_logical_operand':
      return 'no such overload'
    default:
      return summary
  }
}

/** A compiled rule. Whether it compiles is asked once, by `ruleFault`, when the schema is compiled. */
export function compileRule(rule: string): Program {
  const result = compile(rule)
  if (result instanceof Error)
    return { usesOldSelf: false, run: () => ({ error: `rule compile error: ${result.message}` }) }
  return result
}

export function optionalOf(value: unknown): unknown {
  return value === undefined ? Optional.none() : Optional.of(value)
}

/** Why the server would refuse this rule on this schema, or undefined. */
export function ruleFault(rule: Rule, schema: JsonSchema, isWholeResource: boolean): string | undefined {
  for (const [what, text, wanted] of [
    ['rule', rule.rule, 'bool'],
    ['messageExpression', rule.messageExpression, 'string'],
  ] as const) {
    if (text === undefined || text === '') continue
    const compiled = compile(text)
    if (compiled instanceof Error) return `${what}: compilation failed: ${compiled.message}`
    if (compiled.type !== wanted && compiled.type !== 'dyn')
      return `${what}: must evaluate to a ${wanted}, not ${compiled.type}`
    const unknown = unknownField(compiled.ast, schema, isWholeResource, rule.optionalOldSelf === true)
    if (unknown) return `${what}: undefined field '${unknown}'`
  }
  return undefined
}
