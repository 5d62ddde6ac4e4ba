// Arguments that templates add, put where they work: we plan into a file and apply exactly that, so what decides the
// plan belongs to plan. Values of -var and -backend-config become data in files: argv is readable by everybody on the
// machine.
import { quoteHcl } from '../../render/hcl.ts'
import type { Workspace } from '../../workspace.ts'

type GivenArguments = Workspace['args']

/** `destroy` is for `plan -destroy`. */
export interface SortedArguments extends GivenArguments {
  /** From `-var name=value` of plan and apply. */
  readonly variables: Readonly<Record<string, string>>
  /** The same of destroy: only a destroy uses them. */
  readonly destroyVariables: Readonly<Record<string, string>>
  /** The same of init: only an init uses them. */
  readonly initVariables: Readonly<Record<string, string>>
  /** From `-backend-config=name=value` of init. */
  readonly backend: Readonly<Record<string, string>>
}

/** What `apply` takes together with a saved plan. */
const WITH_SAVED_PLAN = /^--?(parallelism|lock|lock-timeout|compact-warnings|no-color|backup)(=|$)/
/** We decide these ourselves. */
const OURS = /^--?(auto-approve|force|json|input|out|detailed-exitcode|state|state-out|destroy|from-module)(=|$)/
const VARIABLE = /^--?var(?:=(.*))?$/s
const BACKEND = /^--?backend-config(?:=(.*))?$/s

interface Taken {
  readonly args: readonly string[]
  readonly variables: Readonly<Record<string, string>>
  readonly backend: Readonly<Record<string, string>>
}

export function sortArguments({ init, plan, apply, destroy }: GivenArguments): SortedArguments {
  const forInit = take(init)
  const forPlan = take(plan)
  const forApply = take(apply)
  const forDestroy = take(destroy)
  return {
    init: forInit.args,
    plan: [...forPlan.args, ...forApply.args.filter((arg) => !WITH_SAVED_PLAN.test(arg))],
    apply: forApply.args.filter((arg) => WITH_SAVED_PLAN.test(arg)),
    destroy: forDestroy.args,
    variables: { ...forPlan.variables, ...forApply.variables },
    destroyVariables: forDestroy.variables,
    initVariables: forInit.variables,
    backend: forInit.backend,
  }
}

function take(given: readonly string[]): Taken {
  const args: string[] = []
  const variables: Record<string, string> = {}
  const backend: Record<string, string> = {}
  for (let i = 0; i < given.length; i++) {
    const arg = given[i]!
    const found = [
      { match: VARIABLE.exec(arg), to: variables },
      { match: BACKEND.exec(arg), to: backend },
    ].find(({ match }) => match !== null)
    if (!found) {
      if (!OURS.test(arg)) args.push(arg)
      continue
    }
    const text = found.match![1] ?? given[++i] ?? ''
    const at = text.indexOf('=')
    if (at > 0) found.to[text.slice(0, at)] = text.slice(at + 1)
    // The name of a file with settings of the backend.
    else if (found.to === backend && text !== '') args.push(`-backend-config=${text}`)
  }
  return { args, variables, backend }
}

/** Settings of a backend as the file that -backend-config reads; text means what it means on the command line. */
export function backendFile(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${quoteHcl(value)}\n`)
    .join('')
}

/** Values of backend settings that are credentials by their name. */
export function backendSecrets(settings: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) =>
    /secret|token|password|access_key|sas|credential|private/i.test(name) ? [value] : [],
  )
}
