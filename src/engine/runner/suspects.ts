// What a killed Terraform leaves in doubt: whatever it had begun and not ended, and what it reported as made but had no time
// to write into the state. A deletion is not among them: it is simply tried again.
import { existsSync } from 'node:fs'
import { Progress, readMessage } from '../messages.ts'
import { type Run, type Suspect, suspectsInFlight } from '../record/record.ts'
import { Tail } from './tail.ts'

export function suspectsOf(progress: Progress, known: ReadonlySet<string>, runId: string): readonly Suspect[] {
  return [...inDoubt(progress, known)]
    .map(([address, action]) => ({ address, action, run: runId }))
    .sort((a, b) => (a.address < b.address ? -1 : 1))
}

/** By address, what is done to it; what is still under way comes first. */
export function inDoubt(progress: Progress, known: ReadonlySet<string>): ReadonlyMap<string, string> {
  const unwritten = [...progress.finished].filter(([address, action]) => action === 'create' && !known.has(address))
  return new Map([...underWay(progress), ...unwritten])
}

/** All that can be said where Terraform keeps the state by itself. */
export function underWay(progress: Progress): ReadonlyMap<string, string> {
  return new Map([...progress.inFlight].filter(([, action]) => action !== 'delete'))
}

/** What an interrupted run leaves in doubt: by what its Terraform said, and where that is lost, by what was written down. */
export function suspectsAfter(messages: string, known: readonly string[], run: Run): readonly Suspect[] {
  if (!existsSync(messages)) return suspectsInFlight(run)
  const said = readProgress(messages)
  const told = suspectsOf(said, new Set(known), run.id)
  // Another machine may have gone on with the run since this file was written; what the file has ended is settled by it.
  const others = suspectsInFlight(run).filter(
    ({ address }) => !said.finished.has(address) && !told.some((one) => one.address === address),
  )
  return [...told, ...others]
}

/** What an earlier runner's Terraform said, from the file it left. */
function readProgress(messages: string): Progress {
  const progress = new Progress()
  new Tail(messages).read((line) => {
    const message = readMessage(line)
    if (message) progress.add(message)
  }, true)
  return progress
}
