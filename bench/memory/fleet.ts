// A fleet as an API server would show it: ten kinds, objects of about 4.6 KB with managedFields, each made from its
// number on request. Shared by the server that serves it and the program that watches it.
import type { KindRef } from '#api'

export const KIND_COUNT = 10
export const GROUP = 'bench.capt.test'

export const KINDS: readonly KindRef[] = Array.from({ length: KIND_COUNT }, (_, i) => ({
  group: GROUP,
  version: 'v1',
  kind: `Thing${i}`,
  plural: `thing${i}s`,
  namespaced: true,
}))

/** Object `index` of a kind after `edits` changes. */
export function objectText(kind: KindRef, index: number, edits: number, resourceVersion: number): string {
  const name = `cluster-${index}`
  const namespace = `team-${index % 50}`
  const stamp = '2026-01-01T00:00:00Z'
  const spec = {
    clusterName: name,
    templateRef: { name: `template-${index % 7}`, namespace },
    variables: Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`variable_${i}`, `value ${i} of ${name} after ${edits} edits`]),
    ),
  }
  const condition = (type: string) => ({
    type,
    status: 'True',
    reason: 'Applied',
    message: `${type} was seen for generation ${edits + 1}`,
    lastTransitionTime: stamp,
    observedGeneration: edits + 1,
  })
  return JSON.stringify({
    apiVersion: `${GROUP}/v1`,
    kind: kind.kind,
    metadata: {
      name,
      namespace,
      uid: `00000000-0000-4000-8000-${String(index).padStart(6, '0')}${kind.plural.slice(-7, -1)}`,
      resourceVersion: String(resourceVersion),
      generation: edits + 1,
      creationTimestamp: stamp,
      labels: { 'cluster.x-k8s.io/cluster-name': name, tier: `tier-${index % 3}` },
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ kind: kind.kind, spec }),
        'bench.capt.test/note': 'kept for people',
      },
      finalizers: ['bench.capt.test/finalizer'],
      ownerReferences: [{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name, uid: `owner-${index}` }],
      managedFields: ['kubectl', 'capt', 'capi'].map((manager) => ({
        manager,
        operation: 'Update',
        apiVersion: `${GROUP}/v1`,
        time: stamp,
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:annotations': { '.': {}, 'f:bench.capt.test/note': {} }, 'f:finalizers': { '.': {} } },
          'f:spec': Object.fromEntries(Object.keys(spec.variables).map((key) => [`f:${key}`, { 'f:value': {} }])),
        },
      })),
    },
    spec,
    status: {
      ready: true,
      outputs: { vpc_id: `vpc-${index}`, subnet_ids: ['subnet-a', 'subnet-b', 'subnet-c'] },
      conditions: ['Ready', 'Applied', 'Planned', 'InputsFrozen'].map(condition),
    },
  })
}
