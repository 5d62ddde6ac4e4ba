// A Cluster with everything that has a part in its deletion: the controllers of the add-ons, of the control plane and of the
// network, core's stand-in, and an actor that plays Terraform. What Terraform makes is in a ledger by kind and name: roles,
// policies, an instance profile, the queue and its rules with the control plane, the VPC with the network.
import assert from 'node:assert/strict'
import { AddonDelivery, type AnyObject, CAPTControlPlane, conditionOf, type Key } from '#api'
import { EVENT_RULES, karpenterNames, ruleName } from '#catalog'
import type { Objects } from '#kube'
import { simulatedLedger } from '#simulation'
import type { MemoryCluster } from '#testing'
import { type AddonsWorld, outputsFor } from '../addons/world.ts'
import {
  aCluster,
  applyAll,
  ClusterKind,
  type ClusterWorld,
  clusterWorld,
  eksOutputs,
  type LedgerEntry,
} from '../cluster/world.ts'
import { assertLedger, type CloudLedger } from './ledger.ts'

const NAME = 'demo'
const KEY = { namespace: 'default', name: NAME }
/** The apply that destroys EKS; a test that lists it in `providers.held` keeps its run in progress. */
export const CONTROL_PLANE_APPLY = `${NAME}-eks-controlplane-apply`

export interface WholeCluster extends CloudLedger {
  readonly workload: MemoryCluster
  readonly providers: ClusterWorld
  /** What Terraform made and did not destroy. */
  readonly made: ReadonlySet<string>
  /** By the last status of the AddonDelivery, or by Events where there is none. */
  reported(): readonly string[]
  /** The last message of TornDown. */
  tornDown(): string | undefined
  /** The last status of the AddonDelivery, also after it is gone. */
  lastStatus(): AddonDelivery['status']
  /** The cloud holds exactly these, and exactly these were reported; `alsoReported` is what is no object of the cloud. */
  assertLedger(expected: readonly string[], alsoReported?: readonly string[]): Promise<void>
  until(what: string, check: () => unknown, seconds?: number): Promise<void>
  /** Waits until the deleted Cluster is gone, and asserts that Terraform destroyed everything that it had made. */
  gone(seconds?: number): Promise<void>
  /** Deletes the Cluster and waits until it is gone. */
  remove(seconds?: number): Promise<void>
  stop(): Promise<void>
}

export async function wholeCluster(
  world: AddonsWorld,
  labels: Readonly<Record<string, string>>,
  plane: Partial<CAPTControlPlane['spec']> = {},
): Promise<WholeCluster> {
  const { made, onRun } = terraformLedger()
  const providers = await clusterWorld({
    cluster: world.home,
    clock: world.clock,
    controllers: { teardown: world.teardown },
    onRun,
    outputs: (apply) => {
      const { plain, sensitive = {} } = eksOutputs(apply)
      const { karpenter } = outputsFor(NAME)
      return { plain: isNetwork(apply.metadata.name) ? plain : { ...plain, karpenter }, sensitive }
    },
  })
  let leftovers: readonly string[] = []
  let message: string | undefined
  let lastStatus: AddonDelivery['status']
  world.home.storage.onEvent(({ kind, object }) => {
    if (kind.kind !== AddonDelivery.kind) return
    leftovers = (object as AddonDelivery).status?.teardown?.leftovers ?? leftovers
    message = conditionOf(object as AddonDelivery, 'TornDown')?.message ?? message
    lastStatus = (object as AddonDelivery).status ?? lastStatus
  })
  const workload = await world.addCluster(NAME, { isBare: true })
  const objects = aCluster(NAME, { plane }).map(([kind, object]) => {
    const metadata = { ...object.metadata, ...(kind === ClusterKind ? { labels } : {}) }
    return [kind, { ...object, metadata } as AnyObject] as const
  })
  await applyAll(providers, objects)
  const until: WholeCluster['until'] = (what, check, seconds) =>
    world.until(
      what,
      async () => {
        await providers.settle()
        return await check()
      },
      seconds,
    )
  await until('the control plane is ready', () => {
    return providers.condition(CAPTControlPlane, NAME, 'Ready')?.status === 'True'
  })
  async function gone(seconds = 1800): Promise<void> {
    await until('the Cluster is gone', () => world.home.peek(ClusterKind, KEY) === undefined, seconds)
    assert.deepEqual([...made], [], 'Terraform destroyed what it made')
  }
  const held = async () => [...(await simulatedCloud(world.home.others, KEY)), ...made].sort()
  function reported(): readonly string[] {
    return [...new Set([...leftovers, ...reportedByEvents(providers.events)])].sort()
  }
  return {
    workload,
    providers,
    made,
    held,
    reported,
    tornDown: () => message,
    lastStatus: () => lastStatus,
    async assertLedger(expected, alsoReported = []) {
      await assertLedger({ held, reported }, expected, { alsoReported })
    },
    until,
    gone,
    async remove(seconds) {
      await world.home.others.delete(ClusterKind, KEY)
      await gone(seconds)
    },
    stop: () => providers.stop(),
  }
}

/** What Events on the control plane report as left behind. */
export const reportedByEvents = (events: ClusterWorld['events']): readonly string[] =>
  events
    .filter(({ reason, about }) => reason === 'LeftBehind' && about === `${CAPTControlPlane.kind}/${NAME}`)
    .flatMap(({ message }) => (/^Left behind: (.*?)\. /.exec(message)?.[1] ?? '').split(', '))

/** What controllers of the workload cluster made in the simulated cloud, in the words of a report. */
export async function simulatedCloud(home: Objects, cluster: Key): Promise<readonly string[]> {
  const ledger = simulatedLedger(home, cluster)
  const instances = (await ledger.list()).map(({ id }) => `instance ${id}`)
  const others = (await ledger.objects()).map(({ kind, id }) => `${kind} ${id}`)
  return [...instances, ...others].sort()
}

/** What the runs of Terraform made and did not destroy. */
export function terraformLedger() {
  const made = new Set<string>()
  async function onRun({ verb, name }: LedgerEntry): Promise<void> {
    for (const one of thingsOf(name)) {
      if (verb === 'apply') made.add(one)
      if (verb === 'destroy') made.delete(one)
    }
  }
  return { made, onRun }
}

const isNetwork = (apply: string): boolean => apply.endsWith('-vpc')

function thingsOf(apply: string): readonly string[] {
  if (isNetwork(apply)) return [`VPC ${NAME}`]
  const { nodeRole, instanceProfile, controllerRole, controllerPolicy, queue } = karpenterNames(NAME)
  return [
    `EKS cluster ${NAME}`,
    `role ${nodeRole}`,
    `role ${controllerRole}`,
    `policy ${controllerPolicy}`,
    `instance profile ${instanceProfile}`,
    `queue ${queue}`,
    ...EVENT_RULES.map(({ key }) => `rule ${ruleName(NAME, key)}`),
  ]
}
