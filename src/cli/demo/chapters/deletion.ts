// The last chapter: the cluster is deleted, each part after what depends on it, and nothing of it is left.
import {
  type AddonDelivery,
  CLUSTER_NAME_LABEL,
  clusterKind,
  conditionOf,
  type KindRef,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { ownValue } from '#lib'
import type { ClusterObjects } from '#view'
import type { Fact } from '../screen.ts'
import { CLUSTER, type Story } from '../story.ts'

export async function showDeletion(story: Story): Promise<void> {
  const { screen, connected } = story
  screen.chapter('A clean deletion', [{ run: `capt delete cluster ${CLUSTER.name}` }])
  const resources = new Map<string, number>()
  let known = await story.read()
  await connected.objects.delete(clusterKind('v1beta2'), CLUSTER)
  await story.watch('waiting for the add-ons to go', (now) => {
    for (const { metadata, status } of now?.applies ?? [])
      resources.set(metadata.name, Math.max(resources.get(metadata.name) ?? 0, status?.state?.resources ?? 0))
    for (const fact of goneSince(known, now, resources)) screen.fact(fact)
    known = now
    return now === undefined ? true : undefined
  })
  const left = await story.watch('waiting for the last objects to go', async () => {
    const states = await count(story, SecretKind, 'tfstate=true')
    const applies = await count(story, WorkspaceTemplateApply, `${CLUSTER_NAME_LABEL}=${CLUSTER.name}`)
    return states + applies === 0 ? '0 Terraform states, 0 applies' : undefined
  })
  const total = [...resources.values()].reduce((sum, one) => sum + one, 0)
  const evidence = `Cluster/${CLUSTER.name}; ${total} resources destroyed, left: ${left}`
  screen.fact({ subject: 'cluster', word: 'gone', evidence })
}

const SUBJECTS: Readonly<Record<string, string>> = {
  CAPTCluster: 'VPC',
  CAPTControlPlane: 'control plane',
  CAPTMachinePool: 'pool',
  CAPTMachine: 'machine',
}

/** What went between two looks at a cluster. */
export function goneSince(
  before: ClusterObjects | undefined,
  now: ClusterObjects | undefined,
  resources: ReadonlyMap<string, number>,
): readonly Fact[] {
  const isGone = ({ metadata }: { metadata: { uid?: string } }, left: readonly { metadata: { uid?: string } }[] = []) =>
    !left.some((one) => one.metadata.uid === metadata.uid)
  const removed = (before?.deliveries ?? [])
    .filter((delivery) => !isTornDown(delivery))
    .filter((delivery) =>
      (now?.deliveries ?? []).every((one) => one.metadata.uid !== delivery.metadata.uid || isTornDown(one)),
    )
    .map(({ status }) => (status?.stages ?? []).map(({ name }) => name).reverse())
  return [
    ...removed.map((names) => ({
      subject: 'add-ons',
      word: 'removed',
      evidence: `in this order: ${names.join(', ')}`,
    })),
    ...(before?.applies ?? [])
      .filter((apply) => isGone(apply, now?.applies))
      .map(({ metadata }) => ({
        subject: ownValue(SUBJECTS, metadata.ownerReferences?.[0]?.kind ?? '') ?? 'apply',
        word: 'destroyed',
        evidence: `${metadata.name}, ${resources.get(metadata.name) ?? 0} resources`,
      })),
  ]
}

const isTornDown = (delivery: AddonDelivery): boolean => conditionOf(delivery, 'TornDown')?.status === 'True'

async function count({ connected }: Story, kind: KindRef, labelSelector: string): Promise<number> {
  const { namespace } = CLUSTER
  return (await Array.fromAsync(connected.objects.list(kind, { namespace, labelSelector }))).length
}
