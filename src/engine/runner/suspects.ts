// What a killed Terraform leaves in doubt: whatever it had begun and not ended, and what it reported as made but had no time
// to write into the state. A deletion is not among them: it is simply tried again.
import { Progress, readMessage } from '../messages.ts'
import type { Suspect } from '../record/record.ts'
import { Tail } from './tail.ts'

export function suspectsOf(progress: Progress, known: ReadonlySet<string>, runId: string): readonly Suspect[] {
  const begun = [...progress.inFlight].filter(([, action]) => action !== 'delete')
  const unwritten = [...progress.finished].filter(([address, action]) => action === 'create' && !known.has(address))
  return [...begun, ...unwritten]
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
