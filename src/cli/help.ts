// Help texts, made from the commands: usage, examples, options.
import type { Command } from './command.ts'

/** Headings of `capt help` by the folder of their commands, in the order of help. */
export const GROUPS = {
  run: 'Run capt',
  clusters: 'Clusters',
  terraform: 'Terraform',
  karpenter: 'Karpenter',
  versions: 'Versions and errors',
} as const

/** What the table of commands knows of each without loading it. */
export interface Entry extends Pick<Command, 'name' | 'summary' | 'hidden'> {
  /** Its heading in the overview; none for a program of one command. */
  readonly group?: (typeof GROUPS)[keyof typeof GROUPS]
  load(): Promise<{ readonly command: Command }>
}

export function overview(all: readonly Entry[]): string {
  const commands = all.filter(({ hidden }) => hidden !== true)
  const width = Math.max(...commands.map((entry) => entry.name.length))
  const rowsOf = (group: string) =>
    commands.filter((entry) => entry.group === group).map((entry) => `  ${entry.name.padEnd(width)}  ${entry.summary}`)
  return [
    'capt turns one Cluster manifest into a running EKS cluster, and takes it away again.',
    '',
    '  capt demo                    see all of it on this machine, without a cloud account',
    '  capt up --data ./home        an embedded control plane in one process',
    '',
    ...Object.values(GROUPS).flatMap((group) => [group, ...rowsOf(group), '']),
    'capt COMMAND --help shows examples and options.',
    '',
  ].join('\n')
}

export function commandHelp(command: Command): string {
  const options = Object.entries(command.options).map(([name, option]) => {
    const flag = `${option.short ? `-${option.short}, ` : '    '}--${name}${option.type === 'string' ? ` ${option.value ?? 'VALUE'}` : ''}`
    const fallback = option.default === undefined || option.default === false ? '' : ` Default: ${option.default}.`
    return [flag, `${option.about}${fallback}`] as const
  })
  const width = Math.max(0, ...options.map(([flag]) => flag.length))
  return [
    `Usage: capt ${command.name}${command.positionals ? ` ${command.positionals}` : ''}${options.length > 0 ? ' [options]' : ''}`,
    '',
    command.summary,
    ...Object.entries(command.examples).flatMap(([run, about]) => ['', `# ${about}`, `capt ${run}`]),
    ...(options.length > 0
      ? ['', 'Options', ...options.map(([flag, about]) => `  ${flag.padEnd(width)}  ${about}`)]
      : []),
    '',
  ].join('\n')
}
