// What rules may cost: one unit for every node that is evaluated and a tenth of one for every character that a node yields,
// as in Kubernetes, with its limits for one rule and for one object. Comparisons of large values are not priced, so the
// time of one object is bounded as well.

/** Limits of kube-apiserver: PerCallLimit and RuntimeCELCostBudget. */
const RULE_LIMIT = 1_000_000
const OBJECT_LIMIT = 10_000_000
const OBJECT_MS = 5000
/** How often the clock is read. */
const NODES_PER_CHECK = 256

export class CostExceeded extends Error {}

let objectLeft = OBJECT_LIMIT
let ruleLeft = RULE_LIMIT
let deadline = Number.POSITIVE_INFINITY
let untilCheck = NODES_PER_CHECK
let exceeded: string | undefined

/** Rules of one object share a budget. Everything here is synchronous, so one budget at a time is enough. */
export function startObjectBudget(): void {
  objectLeft = OBJECT_LIMIT
  deadline = performance.now() + OBJECT_MS
  exceeded = undefined
}

/** Runs one rule within its own limit and what is left for the object; `over` says which of them was passed. */
export function withinRuleBudget<T extends object>(run: () => T): T | { readonly over: string } {
  ruleLeft = Math.min(RULE_LIMIT, objectLeft)
  const before = ruleLeft
  if (exceeded !== undefined) return { over: exceeded }
  const outcome = run()
  objectLeft -= before - ruleLeft
  // Operators such as || drop the errors of their operands: what counts is whether the limit was passed.
  return exceeded === undefined ? outcome : { over: exceeded }
}

export function spend(cost: number): void {
  ruleLeft -= cost
  if (exceeded === undefined && ruleLeft < 0)
    exceeded = objectLeft > RULE_LIMIT ? 'operation cancelled: actual cost limit exceeded' : 'out of cost budget'
  if (exceeded !== undefined) throw new CostExceeded(exceeded)
}

interface Evaluator {
  run(ast: { evaluate(evaluator: Evaluator, ast: unknown, scope: unknown): unknown }, scope: unknown): unknown
}

/** Every node of every rule passes through `run` of the one evaluator of an environment. */
export function meter(evaluator: Evaluator): void {
  evaluator.run = function run(this: Evaluator, ast, scope) {
    spend(1)
    untilCheck -= 1
    if (untilCheck <= 0) {
      untilCheck = NODES_PER_CHECK
      if (performance.now() > deadline) exceeded ??= `operation cancelled: longer than ${OBJECT_MS / 1000} s`
    }
    const value = ast.evaluate(this, ast, scope)
    if (typeof value === 'string') spend(value.length / 10)
    return value
  }
}
