// The command table: names and one-line summaries, known without loading any command, and how to load each.
import type { Command } from './command.ts'

export interface Entry {
  readonly name: string
  readonly summary: string
  load(): Promise<{ readonly command: Command }>
}

export const COMMANDS: readonly Entry[] = []
