// Chooses what runs Terraform: the program that was asked for, else the one on the PATH.
import { createLocalEngine, type Engine } from '#engine'
import type { Objects } from '#kube'
import type { Clock, Log } from '#lib'

export interface EngineWish {
  readonly engine?: string | undefined
  readonly workDir: string
  readonly concurrentRuns: number
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  readonly kubeconfigForRunner: string
  /** Program and first arguments that run `capt runner`; this very program when left out. */
  readonly runner?: readonly string[]
}

export async function startEngine(wish: EngineWish): Promise<Engine> {
  const { engine, workDir, concurrentRuns, objects, clock, log, kubeconfigForRunner, runner } = wish
  return createLocalEngine({
    objects,
    workDir,
    clock,
    log,
    concurrency: concurrentRuns,
    kubeconfigForRunner,
    ...(runner ? { runner } : {}),
    ...(engine === undefined ? {} : { terraform: { binary: engine } }),
  })
}
