// Records the resources that Terraform is working on: when runner, folder and machine are lost together, nothing else
// distinguishes what had begun from what was only planned. What is begun and saved within two polls is not worth a request.
import type { Clock } from '#lib'

const POLL_MS = 200
/** At most one write in this time; a change is written as soon as it is over. */
const WRITE_MS = 1_000

interface InFlightOptions {
  readonly clock: Clock
  /** Addresses in doubt right now, by what is done to them. */
  now(): ReadonlyMap<string, string>
  /** May take long; is called again only after it has ended. */
  write(begun: ReadonlyMap<string, string>): Promise<void>
}

/** Returns how to stop. */
export function watchInFlight({ clock, now, write }: InFlightOptions): () => void {
  let before: ReadonlyMap<string, string> = new Map()
  let written = '[]'
  let isWriting = false
  let wroteAt = Number.NEGATIVE_INFINITY
  let timer = clock.after(POLL_MS, () => tick())

  const tick = () => {
    timer = clock.after(POLL_MS, tick)
    poll()
  }
  const poll = () => {
    const found = now()
    const held = [...found].filter(([address, action]) => before.get(address) === action).sort()
    before = new Map(found)
    if (isWriting || clock.monotonic() - wroteAt < WRITE_MS) return
    const text = JSON.stringify(held)
    if (text === written) return
    isWriting = true
    wroteAt = clock.monotonic()
    write(new Map(held))
      .then(() => {
        written = text
      })
      .catch(() => undefined)
      .finally(() => {
        isWriting = false
      })
  }
  return () => timer.cancel()
}
