// The flags of Node that a manager is started with, read where they are written: bin/capt.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function managerFlags(): readonly string[] {
  const script = readFileSync(join(import.meta.dirname, '../../bin/capt'), 'utf8')
  return /exec "\$node" (--max.*) "\$program"/.exec(script)![1]!.split(' ')
}
