// One file per command; the table loads them on demand.
export * from './command.ts'
export { commandHelp } from './help.ts'
export { readArguments, report, run } from './run.ts'
export { COMMANDS } from './table.ts'
