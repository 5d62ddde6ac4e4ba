// Chooses what runs Terraform: Jobs in a management cluster, elsewhere the program that was asked for or is on the PATH.
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { JobKind, PodKind, toKey } from '#api'
import {
  APPLY_ANNOTATION,
  createLocalEngine,
  createSimulatedEngine,
  defaultLimits,
  type Engine,
  JobEngine,
  type JobEngineOptions,
  type Limits,
  runResources,
  type TagCounter,
  WORKSPACE_LABEL,
} from '#engine'
import type { Informers, Objects } from '#kube'
import { CaptError, type Clock, isCaptError, type Log } from '#lib'

interface EngineOptions {
  readonly engine?: string | undefined
  readonly workDir: string
  readonly limits?: Partial<Limits> | undefined
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Log
  /** Of runs on this machine; asked for only where there are any. */
  kubeconfigForRunner(): Promise<string>
  /** How runs in Jobs are made; undefined where there is no cluster for them. */
  readonly jobs?: JobSettings | undefined
  /** It names the authority that signs for the API server. */
  readonly hasAuthority?: boolean
  /** Program and first arguments that run `capt runner`; this very program when left out. */
  readonly runner?: readonly string[]
  /** Read-only folder with provider packages, as `terraform providers mirror` writes it; nothing else is asked then. */
  readonly providerMirror?: string | undefined
  /** Counts what a workspace has in the cloud, where only its tags show it. */
  readonly countTagged?: TagCounter
  /** Simulate the runs when there is no Terraform; what is simulated says so. */
  readonly simulateWithoutTerraform?: boolean | undefined
}

export interface JobSettings {
  readonly runNamespace: string
  readonly image: string
  /** Accounts towards the cloud: `NAME` for all namespaces, `NAMESPACE=NAME` for one. */
  readonly accounts: readonly string[]
  readonly memory?: string | undefined
  readonly storage?: string | undefined
  readonly access: JobEngineOptions['access']
  readonly informers: Pick<Informers, 'register' | 'onChange'>
}

/** What `--engine` is where nobody says: Jobs in a pod of the management cluster, else the program that is found. */
export function engineOf(
  asked: string | undefined,
  { isInPod }: { readonly isInPod: boolean },
): { readonly isJob: boolean; readonly program?: string } {
  const chosen = asked ?? (isInPod ? 'job' : 'local')
  if (chosen === 'job') return { isJob: true }
  return chosen === 'local' ? { isJob: false } : { isJob: false, program: chosen }
}

export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { engine, workDir, limits, objects, clock, log, hasAuthority = false, runner } = options
  if (options.jobs) return startJobEngine(options, options.jobs)
  const providerMirror = checkMirror(options.providerMirror ?? process.env['CAPT_PROVIDER_MIRROR'])
  if (engine === 'simulated') return createSimulatedEngine({ objects, clock, log })
  try {
    return await createLocalEngine({
      objects,
      workDir,
      clock,
      log,
      limits: { ...defaultLimits('local', limits?.total), ...limits },
      kubeconfigForRunner: await options.kubeconfigForRunner(),
      hasAuthority,
      ...(runner ? { runner } : {}),
      ...(options.countTagged ? { countTagged: options.countTagged } : {}),
      ...(providerMirror === undefined ? {} : { providerMirror }),
      ...(engine === undefined ? {} : { terraform: { binary: engine } }),
    })
  } catch (error) {
    if (!options.simulateWithoutTerraform || !isCaptError(error, 'CAPT_TERRAFORM_MISSING')) throw error
    return createSimulatedEngine({ objects, clock, log })
  }
}

function startJobEngine({ objects, clock, log, limits, countTagged }: EngineOptions, jobs: JobSettings): Engine {
  const { runNamespace, image, access, informers, memory, storage } = jobs
  const selection = { namespace: runNamespace, labelSelector: WORKSPACE_LABEL, metadataOnly: true }
  return new JobEngine({
    objects,
    clock,
    log,
    runNamespace,
    image,
    access,
    accountOf: runAccounts(jobs.accounts),
    limits: { ...defaultLimits('job', limits?.total), ...limits },
    ...(countTagged ? { countTagged } : {}),
    resources: runResources({ memory, storage }),
    onJobChange(handler) {
      for (const kind of [JobKind, PodKind]) {
        informers.register(kind, selection)
        informers.onChange(kind, ({ object }) => {
          const { namespace, name } = toKey(object.metadata.annotations?.[APPLY_ANNOTATION] ?? '')
          if (namespace !== undefined) handler({ namespace, name })
        })
      }
    },
  })
}

/** The account of the runs in the manifests that come with capt; it has no rights in the cluster. */
const RUN_ACCOUNT = 'capt-run'

/** `NAMESPACE=NAME` for one namespace, `NAME` for the others. */
export function runAccounts(given: readonly string[]): (namespace: string) => string {
  const named = new Map(
    given.map((text) => {
      const [, namespace = '', name] = /^(?:([^=]+)=)?([^=]+)$/.exec(text) ?? []
      // Without a name Kubernetes would take the account `default`, which others may have given rights.
      if (name === undefined)
        throw new CaptError('CAPT_USAGE', `--run-service-account "${text}" is not [NAMESPACE=]NAME`, {
          hint: 'name an account of the namespace of the runs: --run-service-account=team-a=capt-run-team-a',
        })
      return [namespace, name] as const
    }),
  )
  return (namespace) => named.get(namespace) ?? named.get('') ?? RUN_ACCOUNT
}

function checkMirror(path: string | undefined): string | undefined {
  if (path === undefined || path === '') return undefined
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return resolve(path)
  throw new CaptError('CAPT_PROVIDER_MIRROR_MISSING', `CAPT_PROVIDER_MIRROR names ${path}, which is no folder`, {
    hint: 'make it with: terraform providers mirror FOLDER, or take the variable away',
  })
}
