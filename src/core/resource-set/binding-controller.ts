// A binding goes when its Cluster goes: one that stayed would make a new Cluster of the same name look served already.
import { type AnyObject, clusterKind, keyOf } from '#api'
import { act, type Controller, done } from '#runtime'
import { BindingKind } from './binding.ts'

interface Observed {
  readonly binding: AnyObject
  readonly isClusterAlive: boolean
}
interface Action {
  readonly do: 'delete'
}

export function resourceSetBindingController(): Controller<AnyObject, Observed, Action> {
  const Cluster = clusterKind('v1beta2')
  return {
    name: 'clusterresourcesetbinding',
    kind: BindingKind,
    summary: false,
    wakes: [{ kind: Cluster, toKeys: (cluster) => [keyOf(cluster)] }],
    observe: async ({ cache }, binding) => {
      const cluster = cache.get(Cluster, keyOf(binding))
      return { binding, isClusterAlive: cluster !== undefined && cluster.metadata.deletionTimestamp === undefined }
    },
    decide: ({ binding, isClusterAlive }) =>
      isClusterAlive || binding.metadata.deletionTimestamp ? done : act<Action>({ do: 'delete' }),
    act: (world, { binding }) => world.objects.delete(BindingKind, keyOf(binding), { uid: binding.metadata.uid ?? '' }),
    status: () => ({}),
  }
}
