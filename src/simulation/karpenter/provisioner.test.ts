import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, DeploymentKind, type KindRef, NodeKind } from '#api'
import type { Projected } from '#kube'
import type { Pod } from '../kubernetes/placement.ts'
import { NodeClaimKind, NodePoolKind } from '../names.ts'
import { resourcesOf, typeOfClaim } from './instance-types.ts'
import { toNode } from './node-claims.ts'
import type { NodeClaim, NodePool } from './objects.ts'
import { provisionerActor } from './provisioner.ts'

const READY = { conditions: [{ type: 'Ready', status: 'True' }] }
const POOL = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'p' },
  spec: { template: { metadata: { labels: { team: 'a' } }, spec: {} } },
  status: READY,
} as unknown as NodePool
const pod = (cpu: string, nodeSelector: Record<string, string> = {}): Projected<Pod> =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'w' },
    spec: { nodeSelector, containers: [{ resources: { requests: { cpu } } }] },
    status: { conditions: [{ type: 'PodScheduled', status: 'False' }] },
  }) as unknown as Projected<Pod>

const actor = provisionerActor({ isAutoMode: true })

/** Types of the machines that a pod gets when all of them join, and are asked for as long as there is none with room. */
async function machinesFor(one: Projected<Pod>): Promise<readonly string[]> {
  const claims: NodeClaim[] = []
  for (let round = 0; round < 5; round++) {
    const nodes = claims.map((claim) => ({ ...toNode(claim), status: resourcesOf(typeOfClaim(claim)) }))
    const held = new Map<KindRef, readonly AnyObject[]>([
      [NodePoolKind, [POOL]],
      [NodeClaimKind, claims],
      [NodeKind, nodes],
      [DeploymentKind, []],
    ])
    const cache = { list: (kind: KindRef) => held.get(kind) ?? [], get: () => undefined }
    const observed = await actor.observe({ cache } as never, one)
    if (actor.decide(observed).is !== 'act') break
    claims.push({ ...observed.claim!, status: READY } as NodeClaim)
  }
  return claims.map(typeOfClaim)
}

describe('the provisioner of the simulation', () => {
  for (const [what, of, expected] of [
    ['one machine that is large enough', pod('3'), ['m7i.xlarge']],
    ['one machine with the labels of its pool', pod('1', { team: 'a' }), ['m7i.large']],
    ['one machine of the type that it asks for by a label', pod('1', { 'kubernetes.io/arch': 'amd64' }), ['m7i.large']],
    ['none when no machine of the pool would have its labels', pod('1', { team: 'b' }), []],
    ['none when no machine is large enough', pod('500'), []],
  ] as const)
    it(`gives a pod ${what}`, async () => assert.deepEqual(await machinesFor(of), expected))
})
