// One file per command; the table loads them on demand.
export * from './command.ts'
export { COMMANDS } from './commands.generated.ts'
export { commandHelp, GROUPS } from './help.ts'
export { run } from './run.ts'
