// Metadata of the Secrets of a control plane. They are read by name and cached until they are invalidated; they are
// never listed. Where Secrets are watched, the informer answers instead.
import { type AnyObject, type Key, keyText, type Secret, SecretKind } from '#api'
import { createPacker, type Packed, unpack } from '#lib'
import type { World } from '#runtime'
import { clusterSecretNames, type SecretFacts, toFacts } from './secrets.ts'

/** In the order in which they are written: the kubeconfig of Cluster API is the last. */
export type SecretsFacts = readonly (SecretFacts | undefined)[]

export interface KnownSecrets {
  /** Reads what is not cached. Empty, without a read, while the Secrets cannot exist yet (`isNew`). */
  of(world: Pick<World, 'objects' | 'cache'>, plane: Key, cluster: string, isNew?: boolean): Promise<SecretsFacts>
  /** Caches all of them, as the server answered when they were written. */
  set(plane: Key, secrets: readonly Secret[]): void
  /** They may have changed: the next `of` reads them. */
  invalidate(plane: Key): void
}

/** One read per Secret after `invalidate`, and none until then. */
export function secretsByName(): KnownSecrets {
  const cached = new Map<string, Packed>()
  const pending = new Map<string, Promise<SecretsFacts>>()
  const packer = createPacker()

  async function read({ objects }: Pick<World, 'objects'>, namespace: string, cluster: string): Promise<SecretsFacts> {
    const names = clusterSecretNames(cluster)
    const found = await Promise.all(names.map((name) => objects.get<Secret>(SecretKind, { namespace, name })))
    return found.map((secret) => secret && toFacts(secret))
  }

  function store(id: string, facts: SecretsFacts): void {
    pending.delete(id)
    cached.set(id, packer.pack(facts))
  }

  return {
    of(world, plane, cluster, isNew = false) {
      const id = keyText(plane)
      const known = cached.get(id)
      // JSON has null for an absent Secret.
      if (known) return Promise.resolve(unpack<(SecretFacts | null)[]>(known).map((facts) => facts ?? undefined))
      const same = pending.get(id)
      if (same) return same
      if (isNew) return Promise.resolve([])
      const reading = read(world, plane.namespace ?? '', cluster)
      pending.set(id, reading)
      // A read that was invalidated meanwhile is not cached.
      const isValid = () => pending.get(id) === reading
      reading.then(
        (facts) => isValid() && store(id, facts),
        () => isValid() && pending.delete(id),
      )
      return reading
    },
    set: (plane, secrets) => store(keyText(plane), secrets.map(toFacts)),
    invalidate(plane) {
      cached.delete(keyText(plane))
      pending.delete(keyText(plane))
    },
  }
}

/** For informers with the projection of `clusterSecretInformer`. */
export function watchedSecrets(): KnownSecrets {
  return {
    of: async ({ cache }, { namespace = '' }, cluster) =>
      clusterSecretNames(cluster).map((name) => cache.get<AnyObject & SecretFacts>(SecretKind, { namespace, name })),
    set: () => undefined,
    invalidate: () => undefined,
  }
}
