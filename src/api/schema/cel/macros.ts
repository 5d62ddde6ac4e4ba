// Macros that Kubernetes has and the CEL package lacks: two-variable loops and the optional ones.
// A macro gets unevaluated arguments; the package's own `bind` is the pattern followed here.
import { type Environment, Optional } from '@marcbachmann/cel-js'
import { CostExceeded } from './cost.ts'

interface Ast {
  readonly op: string
  readonly args: unknown
}
interface Scope {
  forkWithVariable(name: string, type: unknown): Scope
  reuse(parent: Scope): Scope
  setIterValue(value: unknown, evaluator: Evaluator): Scope
}
interface Checker {
  check(ast: Ast, scope: Scope): unknown
  getType(name: string): unknown
}
interface Evaluator {
  run(ast: Ast, scope: Scope): unknown
}
interface Call {
  readonly args: readonly Ast[]
  readonly receiver: Ast
}

function nameOf(ast: Ast | undefined): string {
  if (ast?.op !== 'id') throw new Error('a loop variable must be a plain name')
  return ast.args as string
}

/** Evaluates one argument with the two loop variables set. */
type Step = (key: unknown, value: unknown) => unknown

interface Loop {
  readonly name: string
  readonly bodies: number
  readonly type: string
  run(pairs: readonly (readonly [unknown, unknown])[], steps: readonly Step[]): unknown
}

const LOOPS: readonly Loop[] = [
  { name: 'all', bodies: 1, type: 'bool', run: (pairs, [test]) => every(pairs, test!, false) },
  { name: 'exists', bodies: 1, type: 'bool', run: (pairs, [test]) => !every(pairs, test!, true) },
  {
    name: 'existsOne',
    bodies: 1,
    type: 'bool',
    run: (pairs, [test]) => pairs.filter(([k, v]) => test!(k, v)).length === 1,
  },
  {
    name: 'exists_one',
    bodies: 1,
    type: 'bool',
    run: (pairs, [test]) => pairs.filter(([k, v]) => test!(k, v)).length === 1,
  },
  { name: 'transformList', bodies: 1, type: 'list', run: (pairs, [make]) => pairs.map(([k, v]) => make!(k, v)) },
  {
    name: 'transformList',
    bodies: 2,
    type: 'list',
    run: (pairs, [test, make]) => pairs.filter(([k, v]) => test!(k, v)).map(([k, v]) => make!(k, v)),
  },
  {
    name: 'transformMap',
    bodies: 1,
    type: 'map',
    run: (pairs, [make]) => new Map(pairs.map(([k, v]) => [k, make!(k, v)])),
  },
  {
    name: 'transformMap',
    bodies: 2,
    type: 'map',
    run: (pairs, [test, make]) => new Map(pairs.filter(([k, v]) => test!(k, v)).map(([k, v]) => [k, make!(k, v)])),
  },
  {
    name: 'transformMapEntry',
    bodies: 1,
    type: 'map',
    run: (pairs, [make]) => merge(pairs.map(([k, v]) => make!(k, v))),
  },
  {
    name: 'transformMapEntry',
    bodies: 2,
    type: 'map',
    run: (pairs, [test, make]) => merge(pairs.filter(([k, v]) => test!(k, v)).map(([k, v]) => make!(k, v))),
  },
]

/** True unless a step answers `stop`; an error counts only when no step does. */
function every(pairs: readonly (readonly [unknown, unknown])[], step: Step, stop: boolean): boolean {
  let fault: unknown
  for (const [key, value] of pairs) {
    try {
      if (step(key, value) === stop) return false
    } catch (error) {
      if (error instanceof CostExceeded) throw error
      fault ??= error
    }
  }
  if (fault !== undefined) throw fault
  return true
}

function merge(maps: readonly unknown[]): Map<unknown, unknown> {
  return new Map(maps.flatMap((one) => entriesOf(one)))
}

function entriesOf(value: unknown): (readonly [unknown, unknown])[] {
  if (value instanceof Map) return [...value]
  if (Array.isArray(value)) return value.map((item, i) => [BigInt(i), item] as const)
  return Object.entries(value as object)
}

export function registerMacros(env: Environment): void {
  const add = (signature: string, macro: (call: Call) => unknown) =>
    void env.registerFunction(signature, macro as (...args: unknown[]) => unknown)

  add('hasField(ast): bool', ({ args: [field] }) => {
    if (field?.op !== '.') throw new Error('invalid argument to has() macro')
    const [left, name] = field.args as [Ast, string]
    return {
      async: false,
      typeCheck(checker: Checker, _macro: unknown, scope: Scope) {
        checker.check(left, scope)
        return checker.getType('bool')
      },
      evaluate: (evaluator: Evaluator, _macro: unknown, scope: Scope) => hasField(evaluator.run(left, scope), name),
    }
  })

  for (const loop of LOOPS) {
    const params = ['ast', 'ast', ...new Array<string>(loop.bodies).fill('ast')].join(', ')
    // A one-variable `map` with a filter has three arguments too, but another name: nothing overlaps.
    add(`list.${loop.name}(${params}): ${loop.type}`, ({ args, receiver }) => {
      const names = [nameOf(args[0]), nameOf(args[1])] as const
      const bodies = args.slice(2)
      let outer: Scope
      let inner: Scope
      return {
        async: false,
        typeCheck(checker: Checker, _macro: unknown, scope: Scope) {
          checker.check(receiver, scope)
          outer = scope.forkWithVariable(names[0], checker.getType('dyn'))
          inner = outer.forkWithVariable(names[1], checker.getType('dyn'))
          for (const body of bodies) checker.check(body, inner)
          return checker.getType(loop.type)
        },
        evaluate(evaluator: Evaluator, _macro: unknown, scope: Scope) {
          const pairs = entriesOf(evaluator.run(receiver, scope))
          const steps = bodies.map(
            (body): Step =>
              (key, value) => {
                const first = outer.reuse(scope).setIterValue(key, evaluator)
                return evaluator.run(body, inner.reuse(first).setIterValue(value, evaluator))
              },
          )
          return loop.run(pairs, steps)
        },
      }
    })
  }

  for (const [name, flat] of [
    ['optMap', false],
    ['optFlatMap', true],
  ] as const) {
    add(`optional.${name}(ast, ast): optional<dyn>`, ({ args, receiver }) => {
      const variable = nameOf(args[0])
      let inner: Scope
      return {
        async: false,
        typeCheck(checker: Checker, _macro: unknown, scope: Scope) {
          checker.check(receiver, scope)
          inner = scope.forkWithVariable(variable, checker.getType('dyn'))
          checker.check(args[1]!, inner)
          return checker.getType('optional')
        },
        evaluate(evaluator: Evaluator, _macro: unknown, scope: Scope) {
          const value = evaluator.run(receiver, scope) as Optional
          if (!value.hasValue()) return Optional.none()
          const result = evaluator.run(args[1]!, inner.reuse(scope).setIterValue(value.value(), evaluator))
          return flat ? result : Optional.of(result)
        },
      }
    })
  }
  env.registerFunction('OptionalNamespace.ofNonZeroValue(dyn): optional<dyn>', (_namespace: unknown, value: unknown) =>
    isZero(value) ? Optional.none() : Optional.of(value),
  )
}

function hasField(value: unknown, name: string): boolean {
  if (value instanceof Optional) return value.hasValue() && hasField(value.value(), name)
  if (value instanceof Map) return value.get(name) !== undefined
  return value !== null && typeof value === 'object' && Object.hasOwn(value, name)
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (value instanceof Map) return value.size === 0
  return value === null || value === '' || value === 0 || value === 0n || value === false
}
