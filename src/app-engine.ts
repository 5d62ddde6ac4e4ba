// Chooses what runs Terraform: the program that was asked for, else the one on the PATH.
import { createLocalEngine, createSimulatedEngine, type Engine } from '#engine'
import type { Objects } from '#kube'
import { type Clock, isCaptError, type Log } from '#lib'

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
  /** Simulate the runs when there is no Terraform; what is simulated says so. */
  readonly simulateWithoutTerraform?: boolean | undefined
}

export async function startEngine(wish: EngineWish): Promise<Engine> {
  const { engine, workDir, concurrentRuns, objects, clock, log, kubeconfigForRunner, runner } = wish
  if (engine === 'simulated') return createSimulatedEngine({ objects, clock, log })
  try {
    return await createLocalEngine({
      objects,
      workDir,
      clock,
      log,
      concurrency: concurrentRuns,
      kubeconfigForRunner,
      ...(runner ? { runner } : {}),
      ...(engine === undefined ? {} : { terraform: { binary: engine } }),
    })
  } catch (error) {
    if (!wish.simulateWithoutTerraform || !isCaptError(error, 'CAPT_TERRAFORM_MISSING')) throw error
    return createSimulatedEngine({ objects, clock, log })
  }
}
