// Prints the script that makes a shell complete commands, options, kinds and the names on the server.
import { CaptError } from '#lib'
import { type Command, EXIT } from '../../command.ts'
import { SCRIPTS, SHELLS } from '../../completion/scripts.ts'

export const command: Command = {
  name: 'completion',
  summary: 'Print the completion script of a shell',
  positionals: 'bash|zsh|fish',
  examples: {
    'completion bash > ~/.local/share/bash-completion/completions/capt': 'bash, in every new shell',
    'completion zsh > ~/.zfunc/_capt': 'zsh, where ~/.zfunc is on the fpath',
    'completion fish > ~/.config/fish/completions/capt.fish': 'fish',
  },
  options: {},
  async run(args, io) {
    const shell = SHELLS.find((one) => one === args.positionals[0])
    if (shell === undefined)
      throw new CaptError(
        'CAPT_USAGE',
        args.positionals[0] === undefined
          ? 'completion needs the name of a shell'
          : `there is no completion for "${args.positionals[0]}"`,
        {
          hint: `one of: ${SHELLS.join(', ')}`,
        },
      )
    io.stdout.write(SCRIPTS[shell])
    return EXIT.fine
  },
}
