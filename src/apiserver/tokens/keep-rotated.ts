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
  /** Calls the listeners: something else in the kubeconfig of the root was replaced. */
  notify(): void
  end(): void
}

/** Looks at once, and then again and again. */
export function keepRotated(
  realms: () => ReadonlyMap<string, { readonly tokens: RealmTokens }>,
  { clock, lifetimeMs, log }: KeepRotatedOptions,
): Rotation {
  const listeners = new Set<() => void>()
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  let timer: Timer
  const check = (): void => {
    timer = clock.after(checkEveryMs(lifetimeMs), check)
    for (const [path, { tokens }] of realms()) {
      try {
        if (tokens.rotate() && path === '') notify()
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
    notify,
    end: () => timer.cancel(),
  }
}
