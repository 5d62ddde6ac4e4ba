// Writes down what Terraform has in hand while it has it: when runner, folder and machine are lost together, this is all that
// tells which resources are in doubt. What is begun and saved within a moment is not worth a request.
import type { Clock } from '#lib'
import type { InFlight } from '../record/record.ts'

const LOOK_MS = 200
/** At most one write in this time; a change is written as soon as it is over. */
const WRITE_MS = 1_000
const MOST = 64

export interface InFlightOptions {
  readonly clock: Clock
  /** Addresses in doubt right now, by what is done to them, those first that are to be named before others. */
  now(): ReadonlyMap<string, string>
  /** May take long; is called again only after it has ended. */
  write(inFlight: InFlight): Promise<void>
}

/** Returns how to stop. */
export function watchInFlight({ clock, now, write }: InFlightOptions): () => void {
  let before: ReadonlyMap<string, string> = new Map()
  let written = JSON.stringify(bound([]))
  let isWriting = false
  let wroteAt = Number.NEGATIVE_INFINITY
  let timer = clock.after(LOOK_MS, () => tick())

  const tick = () => {
    timer = clock.after(LOOK_MS, tick)
    look()
  }
  const look = () => {
    const found = now()
    const held = [...found].filter(([address, action]) => before.get(address) === action)
    before = new Map(found)
    if (isWriting || clock.monotonic() - wroteAt < WRITE_MS) return
    const wanted = bound(held)
    const text = JSON.stringify(wanted)
    if (text === written) return
    isWriting = true
    wroteAt = clock.monotonic()
    write(wanted)
      .then(
        () => {
          written = text
        },
        () => undefined,
      )
      .finally(() => {
        isWriting = false
      })
  }
  return () => timer.cancel()
}

function bound(held: readonly (readonly [string, string])[]): InFlight {
  const named = held.slice(0, MOST).sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    addresses: named.map(([address, action]) => ({ address, action })),
    more: held.length - named.length,
  }
}
