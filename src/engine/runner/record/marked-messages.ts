// The messages of Terraform as evidence: a mark that the record has too shows which of its runs they report about.
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync } from 'node:fs'
import { ownIdentity } from '../../lock/processes.ts'
import { Progress, readMessage } from '../../messages.ts'
import type { Evidence, InFlight } from '../../record/in-flight.ts'
import type { RunContext } from '../context.ts'
import type { Folder } from '../inputs/folder.ts'
import { onWriteError } from '../process/disk.ts'
import { Tail } from '../process/tail.ts'

const lineOf = (mark: string): string => JSON.stringify({ type: 'capt_mark', mark })

/** Before the record names what is in flight: messages without the mark prove nothing. */
export function markMessages({ folder, request }: RunContext): Pick<InFlight, 'run' | 'mark' | 'boot'> {
  const mark = randomUUID()
  try {
    appendFileSync(folder.messages, `${lineOf(mark)}\n`, { mode: 0o600 })
  } catch (error) {
    onWriteError(error)
  }
  return { run: request.runId, mark, boot: ownIdentity().boot }
}

export function readEvidence(
  { messages }: Pick<Folder, 'messages'>,
  inFlight: InFlight | undefined,
  saved: ReadonlySet<string>,
): Evidence {
  if (!existsSync(messages)) return { saved, progress: undefined, isComplete: false }
  const progress = new Progress()
  const mark = inFlight && inFlight.boot === ownIdentity().boot ? lineOf(inFlight.mark) : undefined
  let isComplete = false
  new Tail(messages).read((line) => {
    if (line === mark) isComplete = true
    const message = readMessage(line)
    if (message) progress.add(message)
  }, true)
  return { saved, progress, isComplete }
}
