// The story of an acceptance run, the same in AWS and in simulation: a cluster is made with Flux and Karpenter, a pod gets a
// node, and everything is deleted and searched for. Whatever happens before, the deletion is tried.
import { type AnyObject, clusterKind, type Manifest, NodeKind, PodKind, type UnknownObject } from '#api'
import type { Home } from '#app'
import { type Connected, ignore } from '#kube'
import { CaptError, isCaptError, messageOf, redact, sleep } from '#lib'
import { clusterTree, readClusterObjects, stopsIn } from '#view'
import { EXIT, Interrupted, type Io } from '../command.ts'
import { applyManifests } from '../commands/clusters/apply.ts'
import { followDeletion } from '../progress/deletion.ts'
import { waitForReady } from '../progress/wait.ts'
import type { Limit } from './estimate.ts'

interface Setting {
  readonly home: Home
  readonly cluster: string
  readonly manifests: readonly Manifest[]
  readonly limit: Limit
  /** What is still there after the deletion, as people name it. */
  leftovers(): Promise<readonly string[]>
}

type Outcome = 'passed' | 'failed' | 'skipped'

interface Step {
  readonly step: 'create' | 'pod gets a node' | 'delete' | 'search for leftovers'
  readonly outcome: Outcome
  readonly seconds: number
  readonly detail: string
}

export interface Result {
  readonly steps: readonly Step[]
  readonly leftovers: readonly string[]
}

const NAMESPACE = 'default'
const ClusterKind = clusterKind('v1beta2')
const DELETION_MS = 2 * 3_600_000
const POLL_MS = 1000
/** A part that needs a person for this long gets none: nobody is there, and time is money. */
const STALLED_MS = 60_000

export const connectedTo = ({ objects, url, raw }: Home): Connected => ({
  objects,
  namespace: NAMESPACE,
  server: url,
  raw,
  close: async () => undefined,
})

export async function playStory(setting: Setting, io: Io): Promise<Result> {
  const started = io.clock.monotonic()
  const steps: Step[] = []
  let leftovers: readonly string[] = []
  const take = async (step: Step['step'], work: () => Promise<string>): Promise<boolean> => {
    const begun = io.clock.monotonic()
    const done = (outcome: Outcome, detail: string) => {
      const seconds = Math.round((io.clock.monotonic() - begun) / 1000)
      steps.push({ step, outcome, seconds, detail })
      io.stderr.write(`${step}: ${outcome}, ${detail}\n`)
      return outcome === 'passed'
    }
    try {
      return done('passed', await work())
    } catch (error) {
      if (!isCaptError(error) && !(error instanceof Interrupted)) throw error
      return done('failed', redact(messageOf(error)))
    }
  }
  const leftMs = () => Math.max(0, setting.limit.ms - (io.clock.monotonic() - started))
  // A second Ctrl-C ends the deletion too; what is left then is found by the next run.
  const untilUrgent: Io = { ...io, signal: io.urgent ?? new AbortController().signal }

  const isThere = (await setting.home.objects.get(ClusterKind, keyOf(setting))) !== undefined
  const isMade = isThere
    ? await take('create', async () => {
        throw failure('an earlier run left its cluster here: it is deleted now, run the command again afterwards')
      })
    : await take('create', () => create(setting, leftMs(), io))
  if (isMade) await take('pod gets a node', () => runPod(setting, leftMs(), io))
  else steps.push({ step: 'pod gets a node', outcome: 'skipped', seconds: 0, detail: 'there is no ready cluster' })
  const isGone = await take('delete', () => remove(setting, untilUrgent))
  if (isGone)
    await take('search for leftovers', async () => {
      leftovers = await setting.leftovers()
      if (leftovers.length > 0) throw failure(`${leftovers.length} are still there`)
      return 'nothing was found'
    })
  return { steps, leftovers }
}

const failure = (message: string): CaptError => new CaptError('CAPT_ACCEPTANCE_FAILED', message)
const keyOf = ({ cluster }: Pick<Setting, 'cluster'>) => ({ namespace: NAMESPACE, name: cluster })
const limitReached = ({ limit }: Setting): CaptError => failure(`not within the ${limit.by}`)

async function create(setting: Setting, waitMs: number, io: Io): Promise<string> {
  const connected = connectedTo(setting.home)
  const applied = await applyManifests(setting.manifests, { ...connected, io, quiet: true })
  const ended = new AbortController()
  const isOver = new AbortController()
  const stalled = untilStalled(setting, connected, { ...io, signal: isOver.signal }).then((what) => {
    if (what !== undefined) ended.abort()
    return what
  })
  const signal = AbortSignal.any([io.signal, ended.signal])
  try {
    const code = await waitForReady(applied, waitMs, connected, { ...io, signal })
    if (code !== EXIT.fine) throw limitReached(setting)
    return 'everything is ready'
  } catch (error) {
    if (ended.signal.aborted) throw failure(`it needs a person: ${await stalled}`)
    if (io.signal.aborted) throw failure('interrupted')
    throw error
  } finally {
    isOver.abort()
    await stalled
  }
}

/** What needs a person since a minute; undefined when the signal comes first. */
async function untilStalled({ cluster }: Setting, connected: Connected, io: Io): Promise<string | undefined> {
  let since: number | undefined
  for (;;) {
    const objects = await readClusterObjects(ClusterKind, cluster, connected).catch(() => undefined)
    const stop = objects && stopsIn(clusterTree(objects)).find(({ state }) => state === 'stalled')?.stop
    since = stop ? (since ?? io.clock.monotonic()) : undefined
    if (since !== undefined && io.clock.monotonic() - since >= STALLED_MS) return stop!.what
    const goesOn = await sleep(io.clock, POLL_MS, io.signal).then(
      () => true,
      () => false,
    )
    if (!goesOn) return undefined
  }
}

const POD = { namespace: 'default', name: 'capt-acceptance' }
const POOL_LABEL = 'karpenter.sh/nodepool'

/** A pod that only a node of Karpenter may run. */
async function runPod(setting: Setting, waitMs: number, io: Io): Promise<string> {
  const begun = io.clock.monotonic()
  const workload = await setting.home.manager.workloads.open(keyOf(setting))
  if (!workload) throw failure('the API of the cluster does not answer')
  const { objects } = workload
  const spec = {
    nodeSelector: { [POOL_LABEL]: 'default' },
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'pause',
        image: 'public.ecr.aws/eks-distro/kubernetes/pause:3.10',
        resources: { requests: { cpu: '500m', memory: '128Mi' } },
      },
    ],
  }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: POD, spec }
  await objects.create<AnyObject>(PodKind, pod).catch(ignore('AlreadyExists'))
  for (;;) {
    const seen = await objects.get<UnknownObject>(PodKind, POD)
    const { nodeName } = (seen?.['spec'] ?? {}) as { nodeName?: string }
    const { phase } = (seen?.['status'] ?? {}) as { phase?: string }
    if (nodeName !== undefined && phase === 'Running') {
      const node = await objects.get<AnyObject>(NodeKind, { name: nodeName })
      const type = node?.metadata.labels?.['node.kubernetes.io/instance-type'] ?? 'of an unknown type'
      return `the pod runs on ${nodeName} (${type})`
    }
    if (io.signal.aborted) throw failure('interrupted')
    if (io.clock.monotonic() - begun > waitMs) throw limitReached(setting)
    await sleep(io.clock, POLL_MS, io.signal).catch(() => undefined)
  }
}

async function remove(setting: Setting, io: Io): Promise<string> {
  const connected = connectedTo(setting.home)
  const { cluster: name } = setting
  await connected.objects.delete(ClusterKind, keyOf(setting)).catch(ignore('NotFound'))
  const code = await followDeletion([{ kind: ClusterKind, namespace: NAMESPACE, name }], DELETION_MS, connected, io)
  if (code !== EXIT.fine) throw failure('the deletion has not ended')
  return 'the cluster is gone'
}
