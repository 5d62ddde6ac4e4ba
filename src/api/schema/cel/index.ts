// The heavy half of the engine: everything that needs the CEL package. Reached only through lazy.ts.
export { startObjectBudget } from './cost.ts'
export { compileRule, optionalOf, ruleFault } from './program.ts'
export { alignOld, toCel } from './values.ts'
