// docs/commands.md: what capt COMMAND --help says, of every command, from the command table.
import { COMMANDS, commandHelp } from '#cli'

const loaded = await Promise.all(
  COMMANDS.map(async (entry) => ({ name: entry.name, help: commandHelp((await entry.load()).command) })),
)

export function renderCommandPage(): string {
  const sections = loaded.map(({ name, help }) => `## capt ${name}\n\n\`\`\`\n${help.trimEnd()}\n\`\`\`\n`)
  const intro = [
    '# Commands',
    '',
    'Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 not ready when `--wait` ran out, 130 interrupted by Ctrl-C. Output for',
    'programs is `-o json` where a command offers it; colour, live progress and wrapped lines are only used on a terminal.',
    '',
  ]
  return [...intro, ...sections].join('\n')
}
