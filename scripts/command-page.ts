// What is made from the files in src/cli/commands: docs/commands.md, which shows the help of each, and the table by which
// the program finds a command without loading the others.
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Command, commandHelp, GROUPS } from '#cli'

const folder = join(import.meta.dirname, '../src/cli/commands')
const loaded = await Promise.all(
  globSync('**/*.ts', { cwd: folder })
    .filter((file) => !file.endsWith('.test.ts'))
    .map(async (file) => ({ file, command: ((await import(join(folder, file))) as { command: Command }).command })),
)
const byName = (a: { command: Command }, b: { command: Command }) => (a.command.name < b.command.name ? -1 : 1)
const commands = Object.entries(GROUPS).flatMap(([name, group]) =>
  loaded
    .filter(({ file }) => dirname(file) === name)
    .sort(byName)
    .map((one) => ({ ...one, group })),
)
const ungrouped = loaded.filter(({ file }) => !Object.hasOwn(GROUPS, dirname(file)))
if (ungrouped.length > 0) throw new Error(`GROUPS in src/cli/help.ts lacks the folder of ${ungrouped[0]!.file}`)

export const COMMAND_TABLE = 'src/cli/commands.generated.ts'

export function renderCommandTable(): string {
  const entries = commands.flatMap(({ file, group, command: { name, summary, hidden } }) => [
    '  {',
    `    name: '${name}',`,
    `    group: '${group}',`,
    `    summary: '${summary}',`,
    ...(hidden ? ['    hidden: true,'] : []),
    `    load: () => import('./commands/${file}'),`,
    '  },',
  ])
  return [
    '// Generated from src/cli/commands by npm run generate. Do not edit.',
    "import type { Entry } from './help.ts'",
    '',
    'export const COMMANDS: readonly Entry[] = [',
    ...entries,
    ']',
    '',
  ].join('\n')
}

export function renderCommandPage(): string {
  const sections = commands
    .filter(({ command }) => command.hidden !== true)
    .map(({ command }) => `## capt ${command.name}\n\n\`\`\`\n${commandHelp(command).trimEnd()}\n\`\`\`\n`)
  const intro = [
    '# Commands',
    '',
    'Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 not ready when `--wait` ran out, 130 interrupted by Ctrl-C. Output for',
    'programs is `-o json` where a command offers it; colour, live progress and wrapped lines are only used on a terminal.',
    '',
  ]
  return [...intro, ...sections].join('\n')
}
