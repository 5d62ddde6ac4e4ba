// Tests record here what they proved; run.ts prints it as the closing table.
import { appendFileSync } from 'node:fs'

/** One line of the closing table; called by tests. */
export function prove(component: string, version: string, what: string, figure = ''): void {
  const path = process.env['CAPT_REAL_PROOFS']
  if (path) appendFileSync(path, `${[component, version, what, figure].join('\t')}\n`)
}
