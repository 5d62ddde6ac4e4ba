// A whole cluster with Karpenter whose nodes run pods of a Deployment.
import assert from 'node:assert/strict'
import { DeploymentKind, type KindRef, kindRef } from '#api'
import { type AddonsWorld, conditionStatus, REQUEST_LABELS } from '../addons/world.ts'
import { simulatedCloud, type WholeCluster, wholeCluster } from './whole-cluster.ts'

const KEY = { namespace: 'default', name: 'demo' }
export const NodePool = kindRef('karpenter.sh/v1', 'NodePool', false)
export const NodeClaim: KindRef = { ...NodePool, kind: 'NodeClaim', plural: 'nodeclaims' }
/** Karpenter makes it for the EC2NodeClass, and deletes it with that one while it lives. */
export const PROFILE = 'instance profile default_simulated'

export const machinesOf = async ({ home }: AddonsWorld): Promise<readonly string[]> =>
  (await simulatedCloud(home.others, KEY)).filter((text) => /^instance \S+$/.test(text))

const web = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', resources: { requests: { cpu: '1500m' } } }] },
    },
  },
})

/** Each replica needs a node of its own. */
export async function clusterWithNodes(world: AddonsWorld, replicas: number): Promise<WholeCluster> {
  const whole = await wholeCluster(world, REQUEST_LABELS)
  const { workload, until } = whole
  await until('ready', () => conditionStatus(world.delivery('demo'), 'Ready') === 'True')
  await workload.others.create(DeploymentKind, web(replicas))
  const isUp = (claim: object) => conditionStatus(claim as never, 'Ready') === 'True'
  await until('nodes are there', () => workload.storage.list(NodeClaim).filter(isUp).length === replicas)
  assert.equal((await machinesOf(world)).length, replicas)
  return whole
}
