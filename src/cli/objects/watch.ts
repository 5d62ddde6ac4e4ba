// Follows objects until Ctrl-C: prints what changed since the last look, at most a second late.
import { sleep } from '#lib'
import type { Io } from '../command.ts'

const POLL_MS = 1000

export interface Watched {
  readonly id: string
  /** Changes with every change of the object. */
  readonly version: string
}

/** `print` gets what is new or changed, `gone` the last state of what no longer exists. */
export async function watchChanges<T extends Watched>(
  read: () => Promise<readonly T[]>,
  { print, gone }: { print(changed: readonly T[]): Promise<void> | void; gone(one: T): void },
  io: Io,
): Promise<never> {
  let known = new Map<string, T>()
  for (;;) {
    const found = new Map((await read()).map((one) => [one.id, one]))
    const changed = [...found.values()].filter(({ id, version }) => known.get(id)?.version !== version)
    if (changed.length > 0) await print(changed)
    for (const one of known.values()) if (!found.has(one.id)) gone(one)
    known = found
    await sleep(io.clock, POLL_MS, io.signal)
  }
}
