// Arguments that templates add, put where they work: we plan into a file and apply exactly that, so what decides the
// plan belongs to plan. Values of -var become data in a file: argv is readable by everybody on the machine.

export interface SortedArguments {
  readonly plan: readonly string[]
  readonly apply: readonly string[]
  /** From `-var name=value`. */
  readonly variables: Readonly<Record<string, string>>
}

/** What `apply` takes together with a saved plan. */
const WITH_SAVED_PLAN = /^--?(parallelism|lock|lock-timeout|compact-warnings|no-color|backup)(=|$)/
/** We decide these ourselves. */
const OURS = /^--?(auto-approve|json|input|out|detailed-exitcode|state|state-out|destroy)(=|$)/
const VARIABLE = /^--?var(?:=(.*))?$/s

export function sortArguments(plan: readonly string[], apply: readonly string[]): SortedArguments {
  const variables: Record<string, string> = {}
  const take = (args: readonly string[]) => {
    const kept: string[] = []
    for (let i = 0; i < args.length; i++) {
      const match = VARIABLE.exec(args[i]!)
      if (!match) {
        if (!OURS.test(args[i]!)) kept.push(args[i]!)
        continue
      }
      const pair = match[1] ?? args[++i] ?? ''
      const at = pair.indexOf('=')
      if (at > 0) variables[pair.slice(0, at)] = pair.slice(at + 1)
    }
    return kept
  }
  const fromPlan = take(plan)
  const fromApply = take(apply)
  return {
    plan: [...fromPlan, ...fromApply.filter((arg) => !WITH_SAVED_PLAN.test(arg))],
    apply: fromApply.filter((arg) => WITH_SAVED_PLAN.test(arg)),
    variables,
  }
}
