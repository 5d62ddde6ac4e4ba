// Help texts, made from the command table: usage, examples, options.
import type { Command } from './command.ts'
import type { Entry } from './table.ts'

export function overview(commands: readonly Entry[]): string {
  const width = Math.max(...commands.map((entry) => entry.name.length))
  const rows = commands.map((entry) => `  ${entry.name.padEnd(width)}  ${entry.summary}`)
  return [
    'capt turns one Cluster manifest into a running EKS cluster, and takes it away again.',
    '',
    '  capt demo                    see all of it on this machine, without a cloud account',
    '  capt up --data ./home        an embedded control plane in one process',
    '',
    'Commands',
    ...rows,
    '',
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
    ...command.examples.flatMap(({ run, about }) => ['', `# ${about}`, `capt ${run}`]),
    ...(options.length > 0
      ? ['', 'Options', ...options.map(([flag, about]) => `  ${flag.padEnd(width)}  ${about}`)]
      : []),
    '',
  ].join('\n')
}
