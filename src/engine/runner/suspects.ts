// What a killed Terraform may have made without telling the state: creations it had begun, and those it reported but had
// no time to write down.
import { Progress, readMessage } from '../messages.ts'
import type { Suspect } from '../record/record.ts'
import { Tail } from './tail.ts'

export function suspectsOf(progress: Progress, known: ReadonlySet<string>, runId: string): readonly Suspect[] {
  const begun = [...progress.inFlight, ...progress.finished]
  return begun
    .filter(([address, action]) => action === 'create' && !known.has(address))
    .map(([address, action]) => ({ address, action, run: runId }))
    .sort((a, b) => (a.address < b.address ? -1 : 1))
}

/** What an earlier runner's Terraform said, from the file it left. */
export function readProgress(messages: string): Progress {
  const progress = new Progress()
  new Tail(messages).read((line) => {
    const message = readMessage(line)
    if (message) progress.add(message)
  }, true)
  return progress
}
