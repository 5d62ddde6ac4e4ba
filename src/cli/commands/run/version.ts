// Prints the version of this program. src/main.ts answers the bare command by itself, without loading anything.
import { VERSION } from '#lib'
import { type Command, EXIT } from '../../command.ts'

export const command: Command = {
  name: 'version',
  summary: 'Print the version of capt',
  examples: { version: 'The version of this program' },
  options: {},
  async run(_args, io) {
    io.stdout.write(`capt ${VERSION}\n`)
    return EXIT.fine
  },
}
