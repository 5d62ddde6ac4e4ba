// Takes one verb: checks everything that it needs, then takes its steps; a dry run prints both and changes nothing.
import { imageName, OWNER } from './image-names.ts'
import { NEEDS_VERSION, type Requirement, type Step, VERBS } from './verbs.ts'
import { checkVersion } from './versions.ts'

export interface Ran {
  readonly status: number | null
  readonly out: string
  readonly err: string
}

/** What a verb touches outside of itself. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>
  /** `2026-01-31` */
  readonly date: string
  readonly read: (path: string) => string | undefined
  readonly write: (path: string, text: string) => void
  /** Names of the files in dist/installer. */
  readonly assets: () => readonly string[]
  /** Asks a program something. */
  readonly ask: (command: readonly string[]) => Ran
  /** Runs a step with its output on the terminal; returns its exit code. */
  readonly run: (command: readonly string[], input: string | undefined) => number
  readonly print: (line: string) => void
  readonly complain: (line: string) => void
}

export async function runVerb(verb: string, options: { readonly isDry: boolean }, world: World): Promise<number> {
  const make = VERBS[verb] ?? (await import('./cluster-verbs.ts')).CLUSTER_VERBS[verb]
  if (!make) throw new Error(`${verb || 'nothing'} is not a verb of a release; make help lists them`)
  const { env, date, read } = world
  const { version } = JSON.parse(read('package.json') ?? '{}') as { version: string }
  const work = make({
    version: checkVersion(NEEDS_VERSION.includes(verb) ? env['VERSION'] : env['VERSION'] || version),
    image: imageName(env),
    owner: env['OWNER'] || OWNER,
    containerTool: env['CONTAINER_TOOL'] || 'docker',
    date,
    read,
    assets: world.assets(),
  })
  const unmet = work.requirements.find((one) => !isMet(one, world))
  const missing = [
    ...work.blockers.map((blocker) => `missing: ${blocker}`),
    ...(unmet ? [`missing: ${unmet.missing}\n  hint ${unmet.hint}`] : []),
  ]
  if (options.isDry) for (const step of work.steps) world.print(`would ${describe(step)}`)
  for (const line of missing) world.complain(line)
  if (options.isDry) return 0
  if (missing.length > 0) return 1
  for (const step of work.steps) {
    world.print(describe(step))
    const status = take(step, world)
    if (status !== 0) return status
  }
  return 0
}

function isMet({ command, printsNothing }: Requirement, world: World): boolean {
  const { status, out, err } = world.ask(command)
  if (!printsNothing) return status === 0
  // A kind that the server does not have has no objects; every other failure is not an answer.
  return status === 0 ? out.trim() === '' : /doesn't have a resource type/.test(err)
}

function describe(step: Step): string {
  if ('write' in step) return `write ${step.write}`
  return `run ${step.run.join(' ')}${step.about ? `  # ${step.about}` : ''}`
}

function take(step: Step, world: World): number {
  if (!('write' in step)) return world.run(step.run, step.input)
  world.write(step.write, step.text)
  return 0
}
