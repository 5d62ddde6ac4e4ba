// Makes the ReplicaSet of each Deployment, which the simulation does without and helm --wait asks for.
import { createHash } from 'node:crypto'
import { type AnyObject, DeploymentKind, type KindRef } from '#api'
import { connect } from '#kube'
import { accessOf } from './api.ts'
import type { Kube } from './lab.ts'

const ReplicaSetKind: KindRef = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  namespaced: true,
}

type Deployment = AnyObject & {
  readonly spec: { readonly selector: object; readonly replicas?: number; readonly template: object }
  readonly status?: { readonly updatedReplicas?: number; readonly readyReplicas?: number }
}

/** Returns how to end it. */
export function playReplicaSets(kube: Kube): () => Promise<void> {
  const { objects, informers, close } = connect(accessOf(kube, 'actors'))
  informers.register(DeploymentKind)
  informers.onChange(DeploymentKind, ({ type, object }) => {
    if (type !== 'deleted') mirror(object as unknown as Deployment).catch(() => undefined)
  })
  informers.start()

  async function mirror({ metadata, spec, status }: Deployment): Promise<void> {
    const { namespace = '', name, uid = '' } = metadata
    const hash = createHash('sha256').update(JSON.stringify(spec.template)).digest('hex').slice(0, 8)
    const key = { namespace, name: `${name}-${hash}` }
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid, controller: true, blockOwnerDeletion: true }
    const replicas = spec.replicas ?? 1
    const set =
      (await objects.get(ReplicaSetKind, key)) ??
      (await objects.create(ReplicaSetKind, {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: { ...key, ownerReferences: [owner], labels: labelsOf(spec.template) },
        spec: { replicas, selector: spec.selector, template: spec.template },
      } as never))
    const ready = Math.min(status?.updatedReplicas ?? 0, status?.readyReplicas ?? 0)
    const observedGeneration = set.metadata.generation
    const body = { status: { observedGeneration, replicas, readyReplicas: ready, availableReplicas: ready } }
    await objects.patch(ReplicaSetKind, key, { type: 'merge', body }, { subresource: 'status' })
  }
  return close
}

const labelsOf = (template: object) => (template as { metadata?: { labels?: Record<string, string> } }).metadata?.labels
