// Prints the script that makes a shell complete commands, options, kinds and the names on the server.
import { CaptError } from '#lib'
import { type Command, EXIT } from '../../command.ts'
import { SCRIPTS, SHELLS } from '../../completion/scripts.ts'

export const command: Command = {
  name: 'completion',
  group: 'Run capt',
  summary: 'Print the completion script of a shell',
  positionals: 'bash|zsh|fish',
  examples: [
    { run: 'completion bash > ~/.local/share/bash-completion/completions/capt', about: 'bash, in every new shell' },
    { run: 'completion zsh > ~/.zfunc/_capt', about: 'zsh, where ~/.zfunc is on the fpath' },
    { run: 'completion fish > ~/.config/fish/completions/capt.fish', about: 'fish' },
  ],
  options: {},
  async run(args, io) {
    const shell = SHELLS.find((one) => one === args.positionals[0])
    if (shell === undefined)
      throw new CaptError('CAPT_USAGE', 'completion needs the name of a shell', {
        hint: `one of: ${SHELLS.join(', ')}`,
      })
    io.stdout.write(SCRIPTS[shell])
    return EXIT.fine
  },
}
