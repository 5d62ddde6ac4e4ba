// Starts the actors of one simulated workload cluster. Actors for kinds that come with a CRD start when the CRD is
// there, because a kind that is not served can be neither listed nor watched.
import { type AnyObject, NodeKind } from '#api'
import type { Events, Informers, Objects } from '#kube'
import type { Clock, Log } from '#lib'
import { type AnyController, type Running, runControllers } from '#runtime'
import type { Stage } from './actor.ts'
import { definitionActor } from './definitions.ts'
import { helmReleaseActor } from './flux/helm-releases.ts'
import { sourceActor } from './flux/sources.ts'
import { AUTO_MODE_DEFINITIONS, KARPENTER_DEFINITIONS } from './karpenter/chart.ts'
import { nodeClaimActor, nodeStatus } from './karpenter/node-claims.ts'
import { nodeClassActor, nodePoolActor } from './karpenter/node-pools.ts'
import { provisionerActor } from './karpenter/provisioner.ts'
import { ingressActor } from './kubernetes/balancers.ts'
import { budgetActor } from './kubernetes/budgets.ts'
import { deploymentActor } from './kubernetes/deployments.ts'
import { jobActor } from './kubernetes/jobs.ts'
import { hasJoined, joinNode } from './kubernetes/nodes.ts'
import type { Node } from './kubernetes/placement.ts'
import { podActor } from './kubernetes/pods.ts'
import { serviceActor } from './kubernetes/services.ts'
import type { Ledger } from './ledger.ts'
import { HelmRepositoryKind, OCIRepositoryKind, simulated } from './names.ts'

export interface WorkloadConnection {
  readonly objects: Objects
  readonly events: Events
  /** A new, unstarted set of informers on the same connection. */
  informers(): Informers
}

interface ActorOptions {
  readonly connection: WorkloadConnection
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
  /** How long starting, fetching and launching take; 300 ms by default. */
  readonly paceMs?: number | undefined
  /** Nodes that are there from the start, as a managed node group would bring them. */
  readonly nodes?: number
}

export interface Actors {
  stop(): Promise<void>
}

interface Group {
  readonly needs: readonly string[]
  readonly controllers: (stage: Stage) => readonly AnyController[]
}

const FLUX: Group = {
  needs: [
    'ocirepositories.source.toolkit.fluxcd.io',
    'helmrepositories.source.toolkit.fluxcd.io',
    'helmreleases.helm.toolkit.fluxcd.io',
  ],
  controllers: (stage) =>
    [
      sourceActor(stage, OCIRepositoryKind),
      sourceActor(stage, HelmRepositoryKind),
      helmReleaseActor(stage),
    ] as unknown as AnyController[],
}
const KARPENTER: Group = {
  needs: KARPENTER_DEFINITIONS,
  controllers: (stage) =>
    [
      nodeClassActor(stage),
      nodePoolActor(stage),
      provisionerActor(stage),
      nodeClaimActor(stage),
    ] as unknown as AnyController[],
}

/** The same actors without a Deployment that must run, and with the class of Auto Mode. */
const AUTO_MODE: Group = {
  needs: AUTO_MODE_DEFINITIONS,
  controllers: (stage) => KARPENTER.controllers({ ...stage, isAutoMode: true }),
}

export async function startActors(options: ActorOptions): Promise<Actors> {
  const { connection, clock, log, ledger } = options
  const stage: Stage = { clock, ledger, paceMs: options.paceMs ?? 300 }
  const running: Running[] = []
  const waiting = new Set<Group>([FLUX, KARPENTER, AUTO_MODE])
  const served = new Set<string>()
  let isStopped = false

  const run = (controllers: readonly AnyController[]) => {
    const { objects, events } = connection
    running.push(runControllers({ controllers, objects, informers: connection.informers(), events, clock, log }))
  }
  const onServed = (name: string) => {
    served.add(name)
    for (const group of waiting) {
      if (isStopped || !group.needs.every((need) => served.has(need))) continue
      waiting.delete(group)
      run(group.controllers(stage))
    }
  }

  await furnish(connection.objects, clock, options.nodes ?? 2)
  run([
    definitionActor(stage, onServed),
    deploymentActor(stage),
    podActor(stage),
    serviceActor(stage),
    ingressActor(stage),
    jobActor(stage),
    budgetActor(stage),
  ] as unknown as AnyController[])
  return {
    async stop() {
      isStopped = true
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}

/** The nodes of a managed node group. They are not Karpenter's: the controllers may run there. */
async function furnish(objects: Objects, clock: Clock, count: number): Promise<void> {
  for (let i = 1; i <= count; i++) {
    const name = `simulated-node-${i}`
    const labels = {
      ...simulated,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/hostname': name,
      'eks.amazonaws.com/nodegroup': 'simulated',
      'node.kubernetes.io/instance-type': 'm7i.large',
    }
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } } as AnyObject
    if (!hasJoined(await objects.get<Node>(NodeKind, { name })))
      await joinNode(objects, node, nodeStatus(clock.now(), 'm7i.large'))
  }
}
