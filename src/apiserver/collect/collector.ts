// (placeholder until the next file)
import type { World } from '../write/context.ts'

export interface Collector {
  stop(): void
}
export function createCollector(_world: World): Collector {
  return { stop() {} }
}
