// Chooses what runs Terraform: the program that was asked for, else the one on the PATH.
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createLocalEngine, createSimulatedEngine, type Engine } from '#engine'
import type { Objects } from '#kube'
import { CaptError, type Clock, isCaptError, type Log } from '#lib'

export interface EngineWish {
  readonly engine?: string | undefined
  readonly workDir: string
  readonly concurrentRuns: number
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  readonly kubeconfigForRunner: string
  /** It names the authority that signs for the API server. */
  readonly hasAuthority?: boolean
  /** Program and first arguments that run `capt runner`; this very program when left out. */
  readonly runner?: readonly string[]
  /** Read-only folder with provider packages, as `terraform providers mirror` writes it; nothing else is asked then. */
  readonly providerMirror?: string | undefined
  /** Simulate the runs when there is no Terraform; what is simulated says so. */
  readonly simulateWithoutTerraform?: boolean | undefined
}

export async function startEngine(wish: EngineWish): Promise<Engine> {
  const {
    engine,
    workDir,
    concurrentRuns,
    objects,
    clock,
    log,
    kubeconfigForRunner,
    hasAuthority = false,
    runner,
  } = wish
  const providerMirror = checkMirror(wish.providerMirror ?? process.env['CAPT_PROVIDER_MIRROR'])
  if (engine === 'simulated') return createSimulatedEngine({ objects, clock, log })
  try {
    return await createLocalEngine({
      objects,
      workDir,
      clock,
      log,
      concurrency: concurrentRuns,
      kubeconfigForRunner,
      hasAuthority,
      ...(runner ? { runner } : {}),
      ...(providerMirror === undefined ? {} : { providerMirror }),
      ...(engine === undefined ? {} : { terraform: { binary: engine } }),
    })
  } catch (error) {
    if (!wish.simulateWithoutTerraform || !isCaptError(error, 'CAPT_TERRAFORM_MISSING')) throw error
    return createSimulatedEngine({ objects, clock, log })
  }
}

function checkMirror(path: string | undefined): string | undefined {
  if (path === undefined || path === '') return undefined
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return resolve(path)
  throw new CaptError('CAPT_PROVIDER_MIRROR_MISSING', `CAPT_PROVIDER_MIRROR names ${path}, which is no folder`, {
    hint: 'make it with: terraform providers mirror FOLDER, or take the variable away',
  })
}
