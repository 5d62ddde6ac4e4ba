// Checks that the objects a set delivered still exist. core does not: an equal hash only proves that they were applied
// once. Checked rarely while a stage is healthy, because it reads every object.
import { keyOf, keyText } from '#api'
import { isKubeError, type Objects } from '#kube'
import { isPlainObject } from '#lib'
import { parseKindRef } from '../manifests/kind-ref.ts'
import type { Manifest } from '../manifests/manifests.ts'

export interface Absence {
  /** `Deployment flux-system/helm-controller`, sorted. */
  readonly names: readonly string[]
  /** At least one is missing while its kind is served; a kind that is not served may only be spelt another way. */
  readonly isCertain: boolean
}

export interface PresenceCache {
  /** Undefined when nothing is missing, or when that was so a short while ago. */
  findAbsence(
    objects: Objects,
    set: string,
    manifests: readonly Manifest[],
    options: PresenceOptions,
  ): Promise<Absence | undefined>
  forget(set: string): void
}

interface PresenceOptions {
  readonly isHealthy: boolean
  readonly nowMs: number
}

/** Lifetime of a complete result: long while the stage is healthy, short while it is not. */
const TRUST_MS = { healthy: 1_800_000, unhealthy: 60_000 } as const

export function createPresenceCache(): PresenceCache {
  const completeAt = new Map<string, number>()
  return {
    async findAbsence(objects, set, manifests, { isHealthy, nowMs }) {
      const at = completeAt.get(set)
      if (at !== undefined && nowMs - at < (isHealthy ? TRUST_MS.healthy : TRUST_MS.unhealthy)) return undefined
      const absence = await findAbsent(objects, manifests)
      if (absence) completeAt.delete(set)
      else completeAt.set(set, nowMs)
      return absence
    },
    forget: (set) => void completeAt.delete(set),
  }
}

export async function findAbsent(objects: Objects, manifests: readonly Manifest[]): Promise<Absence | undefined> {
  const results = await Promise.all(
    manifests.filter(isLasting).map(async (manifest) => ({ manifest, is: await presenceOf(objects, manifest) })),
  )
  const lost = results.filter(({ is }) => is !== 'there')
  if (lost.length === 0) return undefined
  const names = lost.map(({ manifest }) => `${manifest.kind} ${keyText(keyOf(manifest))}`).sort()
  return { names, isCertain: lost.some(({ is }) => is === 'gone') }
}

/** Objects that delete themselves after their work are not missing. */
function isLasting({ kind, spec }: Manifest): boolean {
  const goesByItself = isPlainObject(spec) && spec['ttlSecondsAfterFinished'] !== undefined
  return kind !== 'Pod' && !(kind === 'Job' && goesByItself)
}

async function presenceOf(objects: Objects, manifest: Manifest): Promise<'there' | 'gone' | 'not served'> {
  try {
    return (await objects.get(parseKindRef(manifest), keyOf(manifest))) ? 'there' : 'gone'
  } catch (error) {
    if (isKubeError(error, 'KindNotServed')) return 'not served'
    if (isKubeError(error, 'NotFound')) return 'gone'
    throw error
  }
}
