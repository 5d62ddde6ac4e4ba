// Replaces the tokens of all realms before they end, while the server runs.
import { type Clock, checkEveryMs, type Timer } from '#lib'
import type { RealmTokens } from './realm-tokens.ts'

interface KeepRotatedOptions {
  readonly clock: Clock
  readonly lifetimeMs: number
  log(message: string, error: unknown): void
}

interface Rotation {
  /** Called when the token of the root realm was replaced; returns how to end that. */
  onRoot(listener: () => void): () => void
  end(): void
}

/** Looks at once, and then again and again. */
export function keepRotated(
  realms: () => ReadonlyMap<string, { readonly tokens: RealmTokens }>,
  { clock, lifetimeMs, log }: KeepRotatedOptions,
): Rotation {
  const listeners = new Set<() => void>()
  let timer: Timer
  const check = (): void => {
    timer = clock.after(checkEveryMs(lifetimeMs), check)
    for (const [path, { tokens }] of realms()) {
      try {
        if (tokens.rotate() && path === '') for (const listener of listeners) listener()
      } catch (error) {
        // The token of before works on; the next check tries again.
        log(`The token of ${path === '' ? 'the API' : path} was not replaced`, error)
      }
    }
  }
  check()
  return {
    onRoot(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    end: () => timer.cancel(),
  }
}
