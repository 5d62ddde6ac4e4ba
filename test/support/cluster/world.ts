// A management cluster in memory with the provider's controllers running in it, core's stand-in beside them, and an
// actor that plays Terraform: it does what each WorkspaceTemplateApply asks and keeps a ledger of it.
import {
  type AnyObject,
  APPLY_FINALIZER,
  BLOCK_MOVE_ANNOTATION,
  CAPTCluster,
  CAPTControlPlane,
  type Condition,
  clusterKind,
  isDeletedForMove,
  type Key,
  type KindRef,
  keyOf,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import type { Aws, AwsIdentity } from '#aws'
import { clusterSecretInformer } from '#controllers'
import { clusterController } from '#core'
import type { Events } from '#kube'
import { type Json, toTimestamp } from '#lib'
import { type AnyController, runControllers } from '#runtime'
import {
  type CollectingLog,
  type CollectingMetrics,
  collectingLog,
  collectingMetrics,
  type ManualClock,
  type MemoryCluster,
  manualClock,
  memoryCluster,
} from '#testing'
import { captClusterController } from '../../../src/controllers/cluster/index.ts'
import { captControlPlaneController } from '../../../src/controllers/control-plane/index.ts'

export interface LedgerEntry {
  readonly verb: 'apply' | 'destroy' | 'keep'
  readonly name: string
  readonly variables: Readonly<Record<string, string>>
  readonly values: { readonly [name: string]: Json }
}

type Outputs = { readonly [name: string]: Json }
type Failure = NonNullable<NonNullable<WorkspaceTemplateApply['status']>['lastError']>

export interface ClusterWorldOptions {
  readonly aws?: Aws
  /** What knows which names are taken in AWS; without it every run counts as simulated. */
  readonly names?: Parameters<typeof captClusterController>[0]['aws']
  /** A second manager over the same cluster, after a restart. */
  readonly cluster?: MemoryCluster
  readonly clock?: ManualClock
  /** Without core's stand-in a test sets owner references and statuses by hand. */
  readonly core?: boolean
  /** What core's stand-in finds behind a kubeconfig; without it nobody looks. */
  readonly reach?: (kubeconfig: string) => Promise<string | undefined>
  readonly controllers?: Partial<Parameters<typeof captControlPlaneController>[0]>
  /** Controllers beside those of clusters. */
  readonly more?: (ports: { readonly clock: ManualClock }) => readonly AnyController[]
  /** What a run does in the cloud, after it was noted in the ledger and before it is reported. */
  readonly onRun?: (entry: LedgerEntry) => Promise<void>
  /** Outputs of a run, sensitive ones in `sensitive`. */
  readonly outputs?: (apply: WorkspaceTemplateApply) => { readonly plain: Outputs; readonly sensitive?: Outputs }
}

export interface ClusterWorld {
  readonly cluster: MemoryCluster
  readonly clock: ManualClock
  readonly log: CollectingLog
  readonly metrics: CollectingMetrics
  readonly events: {
    readonly type: string
    readonly reason: string
    readonly message: string
    readonly about: string
  }[]
  /** Every run Terraform was asked for, in order. */
  readonly ledger: LedgerEntry[]
  /** Runs of this apply fail with this error until it is taken back. */
  readonly failures: Map<string, Failure>
  /** Applies that stay in progress. */
  readonly held: Set<string>
  /** Works until nothing changes any more. */
  settle(): Promise<void>
  get<T extends AnyObject>(kind: KindRef, name: string, namespace?: string): T | undefined
  /** Merge patch, by a person. */
  edit(kind: KindRef, name: string, body: object, namespace?: string): Promise<void>
  remove(kind: KindRef, name: string, namespace?: string): Promise<void>
  condition(kind: KindRef, name: string, type: string, namespace?: string): Condition | undefined
  /** The manager is gone; the cluster stays. */
  stopControllers(): void
  stop(): Promise<void>
}

export const ClusterKind = clusterKind('v1beta2')

export function eksOutputs(apply: WorkspaceTemplateApply): { plain: Outputs; sensitive?: Outputs } {
  const { variables } = apply.spec
  if (apply.metadata.name.endsWith('-vpc'))
    return {
      plain: {
        vpc_id: `vpc-0${variables['cluster_name']}`,
        private_subnets: ['subnet-a', 'subnet-b'],
        public_subnets: ['subnet-c'],
        azs: ['eu-west-1a', 'eu-west-1b'],
      },
    }
  return {
    plain: {
      cluster_name: variables['cluster_name'] ?? '',
      cluster_endpoint: `https://${variables['cluster_name']}.eks.test`,
      cluster_version: variables['kubernetes_version'] ?? '',
    },
    sensitive: { cluster_certificate_authority_data: Buffer.from('a certificate').toString('base64') },
  }
}

/** Signs nothing: tokens are numbered, live fifteen minutes and fail on demand. */
export interface FakeAws extends Aws {
  readonly calls: { readonly what: string; readonly identity: AwsIdentity; readonly region: string }[]
  failure: Error | undefined
}

export function fakeAws(clock: { now(): number }): FakeAws {
  const calls: FakeAws['calls'] = []
  const fake: FakeAws = {
    calls,
    failure: undefined,
    async eksToken(identity, { name, region }) {
      calls.push({ what: `token ${name}`, identity, region })
      if (fake.failure) throw fake.failure
      return { token: `k8s-aws-v1.${calls.length}`, expiresAtMs: clock.now() + 15 * 60_000 }
    },
    async whoAmI(identity, region) {
      calls.push({ what: 'whoAmI', identity, region })
      return { account: '123456789012', arn: 'arn:aws:iam::123456789012:role/capt' }
    },
    async ensureSpotRole(identity, region) {
      calls.push({ what: 'spot role', identity, region })
      if (fake.failure) throw fake.failure
      return 'created'
    },
    findTagged: async () => [],
  }
  return fake
}

export async function clusterWorld(options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const clock = options.clock ?? manualClock()
  const cluster = options.cluster ?? memoryCluster({ clock })
  const connection = options.cluster ? options.cluster.connect() : cluster
  const log = collectingLog()
  const metrics = collectingMetrics()
  const events: ClusterWorld['events'] = []
  const emitter: Events = {
    emit: (about, { type, reason, message }) =>
      void events.push({ type, reason, message, about: `${about.kind}/${about.metadata.name}` }),
  }
  const { others } = cluster
  const { objects, informers } = connection
  if (options.core !== false || options.controllers?.secrets === 'watched')
    informers.register(SecretKind, clusterSecretInformer)
  const planes = captControlPlaneController({
    clusterKind: ClusterKind,
    aws: options.aws ?? fakeAws(clock),
    objects,
    events: emitter,
    clock,
    log,
    metrics,
    secrets: { wake: (plane) => running.wake('captcontrolplane', plane) },
    ...options.controllers,
  })
  const controllers = [
    captClusterController({ clusterKind: ClusterKind, ...(options.names ? { aws: options.names } : {}) }),
    planes,
    ...(options.core === false ? [] : [clusterController(options.reach ? { reach: options.reach } : {})]),
    ...(options.more?.({ clock }) ?? []),
  ] as unknown as readonly AnyController[]
  const running = runControllers({ controllers, objects, informers, events: emitter, clock, log, metrics })
  await running.synced()
  const terraform = playTerraform(cluster, clock, options.outputs ?? eksOutputs, options.onRun)

  const keyIn = (name: string, namespace = 'default'): Key => ({ namespace, name })
  return {
    cluster,
    clock,
    log,
    metrics,
    events,
    ledger: terraform.ledger,
    failures: terraform.failures,
    held: terraform.held,
    async settle() {
      for (let calm = 0, turns = 0; calm < 4; turns++) {
        if (turns > 400) throw new Error(`The cluster does not settle: ${JSON.stringify(cluster.requests.slice(-8))}`)
        const before = cluster.storage.version
        await clock.advance(0)
        await terraform.work()
        await clock.advance(0)
        calm = cluster.storage.version === before ? calm + 1 : 0
      }
    },
    get: (kind, name, namespace) => cluster.peek(kind, keyIn(name, namespace)),
    async edit(kind, name, body, namespace) {
      await others.patch(kind, keyIn(name, namespace), { type: 'merge', body })
    },
    remove: (kind, name, namespace) => others.delete(kind, keyIn(name, namespace)),
    condition(kind, name, type, namespace) {
      const found = cluster.peek<AnyObject & { status?: { conditions?: Condition[] } }>(kind, keyIn(name, namespace))
      return found?.status?.conditions?.find((condition) => condition.type === type)
    },
    stopControllers() {
      planes.stop()
      void running.stop()
    },
    async stop() {
      planes.stop()
      await running.stop()
      await connection.close()
    },
  }
}

function playTerraform(
  { others, storage }: MemoryCluster,
  clock: ManualClock,
  outputsOf: NonNullable<ClusterWorldOptions['outputs']>,
  onRun: NonNullable<ClusterWorldOptions['onRun']> = async () => undefined,
) {
  const ledger: LedgerEntry[] = []
  const failures = new Map<string, Failure>()
  const held = new Set<string>()
  const kind = WorkspaceTemplateApply

  async function report(apply: WorkspaceTemplateApply, status: object, conditions: readonly object[]): Promise<void> {
    const stamped = conditions.map((condition) => ({
      ...condition,
      lastTransitionTime: toTimestamp(clock.now()),
      observedGeneration: apply.metadata.generation,
    }))
    const body = { status: { ...status, conditions: stamped } }
    await others.patch(kind, keyOf(apply), { type: 'merge', body }, { subresource: 'status' })
  }

  async function note(verb: LedgerEntry['verb'], { metadata: { name }, spec }: WorkspaceTemplateApply): Promise<void> {
    const entry = { verb, name, variables: spec.variables, values: spec.values ?? {} }
    ledger.push(entry)
    await onRun(entry)
  }

  async function go(apply: WorkspaceTemplateApply): Promise<void> {
    const kept = apply.spec.retainWorkspaceOnDelete || isDeletedForMove(apply)
    if (!kept && held.has(apply.metadata.name)) return
    await note(kept ? 'keep' : 'destroy', apply)
    await others.patch(kind, keyOf(apply), { type: 'merge', body: { metadata: { finalizers: [] } } })
  }

  async function run(apply: WorkspaceTemplateApply): Promise<void> {
    const { name, generation } = apply.metadata
    const failure = failures.get(name)
    const observed = apply.status?.conditions?.find(({ type }) => type === 'Ready')
    const isCurrent = observed?.observedGeneration === generation && apply.status?.run?.phase !== 'Apply'
    if (isCurrent && (observed?.status === 'True') === (failure === undefined)) return
    if (held.has(name)) {
      if (apply.status?.run?.phase === 'Apply') return
      const ready = {
        type: 'Ready',
        status: 'False',
        reason: 'RunInProgress',
        message: 'Running apply: 3 of 9 resources',
      }
      return report(apply, { phase: 'Running', run: { verb: 'apply', phase: 'Apply' } }, [ready])
    }
    await note('apply', apply)
    await letMove(apply)
    if (failure) {
      const stop = { status: 'True', reason: 'ApplyRejected', message: failure.message ?? '' }
      const conditions = [
        { type: 'Ready', ...stop, status: 'False' },
        { type: 'Stalled', ...stop },
      ]
      return report(
        apply,
        { phase: 'Stalled', lastError: failure, run: { verb: 'apply', phase: 'Failed' } },
        conditions,
      )
    }
    const { plain, sensitive = {} } = outputsOf(apply)
    await writeConnection(apply, { ...plain, ...sensitive })
    await report(
      apply,
      {
        phase: 'Applied',
        applied: true,
        outputs: plain,
        appliedHash: `hash-${generation}`,
        lastAppliedTime: toTimestamp(clock.now()),
        lastError: null,
        run: { verb: 'apply', phase: 'Succeeded' },
      },
      [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
    )
  }

  /** The end of a run lets a move go on. */
  async function letMove(apply: WorkspaceTemplateApply): Promise<void> {
    const annotations = { [BLOCK_MOVE_ANNOTATION]: null }
    await others.patch(kind, keyOf(apply), { type: 'merge', body: { metadata: { annotations } } })
  }

  async function writeConnection(apply: WorkspaceTemplateApply, outputs: Outputs): Promise<void> {
    const { name, namespace } = apply.spec.writeConnectionSecretToRef ?? {}
    if (!name) return
    const data = Object.fromEntries(
      Object.entries(outputs).map(([key, value]) => {
        const text = typeof value === 'string' ? value : JSON.stringify(value)
        return [key, Buffer.from(text).toString('base64')]
      }),
    )
    const metadata = { name, namespace: namespace ?? 'default' }
    const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }
    await others.apply(SecretKind, secret)
  }

  return {
    ledger,
    failures,
    held,
    async work(): Promise<void> {
      for (const found of storage.list(kind)) {
        const apply = found as WorkspaceTemplateApply
        const { finalizers = [], deletionTimestamp } = apply.metadata
        if (deletionTimestamp) await go(apply)
        else if (!finalizers.includes(APPLY_FINALIZER))
          await others.patch(kind, keyOf(apply), {
            type: 'merge',
            body: { metadata: { finalizers: [APPLY_FINALIZER] } },
          })
        else await run(apply)
      }
    },
  }
}

/** A Cluster with both of its parts, as a person would apply them. */
export function aCluster(
  name = 'demo',
  over: {
    readonly namespace?: string
    readonly cluster?: object
    readonly infra?: Partial<CAPTCluster['spec']>
    readonly plane?: Partial<CAPTControlPlane['spec']>
    readonly version?: string
  } = {},
): readonly (readonly [KindRef, AnyObject])[] {
  const namespace = over.namespace ?? 'default'
  const metadata = { name, namespace }
  const usesExisting = over.infra?.existingVpcId !== undefined
  const cluster = {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata,
    spec: {
      infrastructureRef: { apiGroup: CAPTCluster.group, kind: CAPTCluster.kind, name },
      controlPlaneRef: { apiGroup: CAPTControlPlane.group, kind: CAPTControlPlane.kind, name },
      ...over.cluster,
    },
  }
  const infra = {
    apiVersion: CAPTCluster.apiVersion,
    kind: CAPTCluster.kind,
    metadata,
    spec: { region: 'eu-west-1', ...(usesExisting ? {} : { vpcTemplateRef: { name: 'vpc' } }), ...over.infra },
  }
  const plane = {
    apiVersion: CAPTControlPlane.apiVersion,
    kind: CAPTControlPlane.kind,
    metadata,
    spec: { version: over.version ?? '1.34', workspaceTemplateRef: { name: 'eks' }, ...over.plane },
  }
  return [
    [ClusterKind, cluster],
    [CAPTCluster, infra],
    [CAPTControlPlane, plane],
  ]
}

/** What core does for a Cluster, by hand: for worlds without its stand-in. */
export async function claimByHand(world: ClusterWorld, name = 'demo', namespace = 'default'): Promise<void> {
  const uid = world.get(ClusterKind, name, namespace)!.metadata.uid
  const ownerReferences = [{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name, uid }]
  for (const kind of [CAPTCluster, CAPTControlPlane])
    await world.edit(kind, name, { metadata: { ownerReferences } }, namespace)
  const body = { status: { initialization: { infrastructureProvisioned: true } } }
  await world.cluster.others.patch(ClusterKind, { namespace, name }, { type: 'merge', body }, { subresource: 'status' })
  await world.settle()
}

export async function applyAll(
  world: ClusterWorld,
  objects: readonly (readonly [KindRef, AnyObject])[],
): Promise<void> {
  for (const [kind, object] of objects) await world.cluster.others.create(kind, object)
}
