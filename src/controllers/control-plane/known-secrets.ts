// What is known about the Secrets of a control plane. They are read by name, once, and remembered until something says
// that they may have changed; nobody lists them. Where Secrets are watched anyway, the watch answers instead.
import { type AnyObject, type Key, keyText, type Secret, SecretKind } from '#api'
import { createPacker, type Packed, unpack } from '#lib'
import type { World } from '#runtime'
import { clusterSecretNames, contentOf } from './secrets.ts'

/** A Secret without its data. */
export interface SecretFacts {
  readonly type: string | undefined
  readonly metadata: AnyObject['metadata']
  /** Hash of the data we write; that of a Secret which nobody spoiled is also its annotation. */
  readonly content: string
}

/** In the order in which they are written: the kubeconfig of Cluster API is the last. */
export type SecretsFacts = readonly (SecretFacts | undefined)[]

export interface KnownSecrets {
  /** Reads what is not remembered. Empty, without a look, as long as nobody can have relied on them (`isNew`). */
  of(world: Pick<World, 'objects' | 'cache'>, plane: Key, cluster: string, isNew?: boolean): Promise<SecretsFacts>
  /** All of them, as the server answered when they were written. */
  learn(plane: Key, secrets: readonly Secret[]): void
  /** They may have changed: the next look reads them. */
  doubt(plane: Key): void
}

/** For a thousand clusters three thousand of them are remembered, packed: who wrote which field is left out. */
export function toFacts({ type, metadata, data }: Secret): SecretFacts {
  const { managedFields: _fields, creationTimestamp: _made, ...kept } = metadata
  return { type, metadata: kept, content: contentOf(data) }
}

/** One read per Secret after `doubt`, and none until then. */
export function secretsByName(): KnownSecrets {
  const remembered = new Map<string, Packed>()
  const underWay = new Map<string, Promise<SecretsFacts>>()
  const packer = createPacker()

  async function read({ objects }: Pick<World, 'objects'>, namespace: string, cluster: string): Promise<SecretsFacts> {
    const names = clusterSecretNames(cluster)
    const found = await Promise.all(names.map((name) => objects.get<Secret>(SecretKind, { namespace, name })))
    return found.map((secret) => secret && toFacts(secret))
  }

  function learn(id: string, facts: SecretsFacts): void {
    underWay.delete(id)
    remembered.set(id, packer.pack(facts))
  }

  return {
    of(world, plane, cluster, isNew = false) {
      const id = keyText(plane)
      const known = remembered.get(id)
      // JSON knows nothing but null for one that is absent.
      if (known) return Promise.resolve(unpack<(SecretFacts | null)[]>(known).map((facts) => facts ?? undefined))
      const same = underWay.get(id)
      if (same) return same
      if (isNew) return Promise.resolve([])
      const reading = read(world, plane.namespace ?? '', cluster)
      underWay.set(id, reading)
      // What was doubted while it was read is not remembered.
      const isWanted = () => underWay.get(id) === reading
      reading.then(
        (facts) => isWanted() && learn(id, facts),
        () => isWanted() && underWay.delete(id),
      )
      return reading
    },
    learn: (plane, secrets) => learn(keyText(plane), secrets.map(toFacts)),
    doubt(plane) {
      remembered.delete(keyText(plane))
      underWay.delete(keyText(plane))
    },
  }
}

/** For informers with the projection of `clusterSecretInformer`. */
export function watchedSecrets(): KnownSecrets {
  return {
    of: async ({ cache }, { namespace = '' }, cluster) =>
      clusterSecretNames(cluster).map((name) => cache.get<AnyObject & SecretFacts>(SecretKind, { namespace, name })),
    learn: () => undefined,
    doubt: () => undefined,
  }
}
