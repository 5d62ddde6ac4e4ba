// What the local engine is made of. Each of them holds its own state; the engine, the starter and the activity use them.

import { defaultLimits } from '../queue/limits.ts'
import { RunQueue } from '../queue/run-queue.ts'
import type { Tool } from '../tool/find-terraform.ts'
import type { ObjectKey } from '../workspace.ts'
import { type HolderLiveness, observeHolders } from './holder-liveness.ts'
import { guardHungRunners, type HungRunners } from './hung-runners.ts'
import { GRACE_SECONDS, type LocalEngineOptions } from './launch.ts'
import { RecordCache } from './record-cache.ts'
import { createWatcher, type Watcher, type WatcherOptions } from './watcher.ts'

export interface LocalServices {
  readonly options: LocalEngineOptions
  /** The default first. */
  readonly tools: readonly Tool[]
  readonly queue: RunQueue
  /** A run that we watch is known by its report instead. */
  readonly records: RecordCache
  readonly watcher: Watcher
  readonly holders: HolderLiveness
  readonly hung: HungRunners
  /** The object of this key is reconciled again. */
  notify(key: ObjectKey): void
}

export function createServices(
  options: LocalEngineOptions,
  tools: readonly Tool[],
  on: Pick<WatcherOptions, 'onProgress' | 'onEnd'> & Pick<LocalServices, 'notify'>,
): LocalServices {
  const { clock, log, objects, limits = defaultLimits('local'), graceSeconds = GRACE_SECONDS } = options
  const holders = observeHolders(options)
  return {
    options,
    tools,
    queue: new RunQueue(limits, clock),
    records: new RecordCache(objects, on.notify),
    watcher: createWatcher({ clock, log, onProgress: on.onProgress, onEnd: on.onEnd }),
    holders,
    hung: guardHungRunners({ clock, log, holders, graceMs: graceSeconds * 1000 }),
    notify: on.notify,
  }
}
