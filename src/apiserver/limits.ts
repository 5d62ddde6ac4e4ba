// What one request may cost. The server answers all clients on one thread, so every bound here protects the others.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Bytes of a request body, and what all `copy` operations of one JSON patch may add. As kube-apiserver has it. */
export const MAX_BODY = 3 * 1024 * 1024
/** YAML takes far longer to read than JSON: 1 MiB of it about half a second. */
export const MAX_YAML_BODY = 1024 * 1024
/** Levels of objects and lists inside each other. Everything that walks an object recurses. */
const MAX_DEPTH = 200
/** How long work that can be divided goes on before others get their answers. */
export const SLICE_MS = 10

/** Why a value cannot be kept, or undefined. Does not recurse, because it protects what does. */
export function shapeFault(value: unknown): string | undefined {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    const below: unknown[] = []
    for (const item of level) {
      if (typeof item === 'number' && !Number.isFinite(item)) return 'a number is out of range'
      if (item === null || typeof item !== 'object') continue
      if (depth === MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`
      for (const inner of Object.values(item)) below.push(inner)
    }
    level = below
  }
  return undefined
}

/** Resolves at once while the slice lasts, and after the other requests made progress when it is over. */
export function createPause(): () => Promise<void> | undefined {
  let end = performance.now() + SLICE_MS
  return () => {
    if (performance.now() < end) return undefined
    return nextTurn().then(() => {
      end = performance.now() + SLICE_MS
    })
  }
}
