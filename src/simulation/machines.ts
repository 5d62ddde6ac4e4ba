// Plays the kubelet of a CAPTMachine: an instance that was made becomes a Node of the simulated workload cluster. Its
// deletion is capt's own: the controller deletes the Node after the instance.
import { CAPTMachine, CLUSTER_NAME_LABEL, type Key, NodeKind } from '#api'
import type { Objects, Projected } from '#kube'
import type { Clock } from '#lib'
import { act, type Controller, type Decision, done, waiting } from '#runtime'
import { nodeStatus } from './karpenter/node-claims.ts'
import { hasJoined, joinNode } from './kubernetes/nodes.ts'
import type { Node } from './kubernetes/placement.ts'
import { simulated } from './names.ts'

interface MachinePorts {
  readonly clock: Clock
  /** Undefined for a cluster that is not simulated, or not yet. */
  readonly objectsOf: (cluster: Key) => Promise<Objects | undefined>
}

interface Observed {
  readonly machine: Projected<CAPTMachine>
  readonly nodeName: string | undefined
  /** Undefined where there is nothing to do: another cloud, no instance, or the Node is there. */
  readonly missingIn: Objects | undefined
  readonly isWaiting: boolean
}

const RETRY_SECONDS = 1

export function machineActor(ports: MachinePorts): Controller<CAPTMachine, Observed, { readonly do: 'register' }> {
  return {
    name: 'simulated-machine',
    kind: CAPTMachine,
    summary: false,
    accepts: ({ metadata }) => metadata.deletionTimestamp === undefined,
    wakes: [],
    async observe(_world, machine) {
      const nodeName = machine.status?.addresses?.find(({ type }) => type === 'InternalDNS')?.address
      const name = machine.metadata.labels?.[CLUSTER_NAME_LABEL]
      const isMade = nodeName !== undefined && machine.spec.providerID !== undefined && name !== undefined
      // Registered once: a Node that is deleted stays away, as with a real kubelet that does not start again.
      if (!isMade || machine.status?.nodeRef) return { machine, nodeName, missingIn: undefined, isWaiting: false }
      const objects = await ports.objectsOf({ namespace: machine.metadata.namespace ?? '', name })
      const node = await objects?.get<Node>(NodeKind, { name: nodeName })
      return { machine, nodeName, missingIn: hasJoined(node) ? undefined : objects, isWaiting: objects === undefined }
    },
    decide: ({ missingIn, isWaiting }): Decision<{ readonly do: 'register' }> => {
      if (isWaiting) return waiting('NotSimulated', 'The workload cluster is not simulated yet', RETRY_SECONDS)
      return missingIn ? act({ do: 'register' }) : done
    },
    async act(_world, { machine, missingIn, nodeName }) {
      if (!missingIn || nodeName === undefined) return
      const { version } = machine.status ?? {}
      await joinNode(missingIn, toNode(machine, nodeName), {
        ...nodeStatus(ports.clock.now(), machine.spec.instanceType),
        nodeInfo: version === undefined ? undefined : { kubeletVersion: `v${version}.0` },
      })
    },
    status: () => ({}),
  }
}

function toNode({ spec, status }: CAPTMachine, name: string): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        ...spec.labels,
        ...simulated,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'node.kubernetes.io/instance-type': spec.instanceType,
        ...(status?.failureDomain === undefined ? {} : { 'topology.kubernetes.io/zone': status.failureDomain }),
      },
    },
    spec: { providerID: spec.providerID ?? '' },
  }
}
