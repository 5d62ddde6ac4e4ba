// Are the objects that a set delivered still there? core never looks: an equal hash only says that they were applied
// once. Asked rarely while a stage is well, because it reads every object.
import type { KindRef } from '#api'
import { isKubeError, type Objects } from '#kube'
import { isPlainObject } from '#lib'
import { parseKindRef } from './kind-ref.ts'
import type { Manifest } from './manifests.ts'

export interface Absence {
  /** `Deployment flux-system/helm-controller`, sorted. */
  readonly names: readonly string[]
  /** At least one is missing while its kind is served; a kind that is not served may only be spelt another way. */
  readonly isCertain: boolean
}

export interface PresenceMemory {
  /** Undefined when nothing is missing, or when that was so a short while ago. */
  look(
    objects: Objects,
    set: string,
    manifests: readonly Manifest[],
    sight: PresenceSight,
  ): Promise<Absence | undefined>
  forget(set: string): void
}

export interface PresenceSight {
  readonly isHealthy: boolean
  readonly nowMs: number
}

/** How long everything is trusted to be there: long while the stage is healthy, short while it is not. */
const TRUST_MS = { healthy: 1_800_000, unhealthy: 60_000 } as const

export function createPresenceMemory(): PresenceMemory {
  const seenWhole = new Map<string, number>()
  return {
    async look(objects, set, manifests, { isHealthy, nowMs }) {
      const at = seenWhole.get(set)
      if (at !== undefined && nowMs - at < (isHealthy ? TRUST_MS.healthy : TRUST_MS.unhealthy)) return undefined
      const absence = await findAbsent(objects, manifests)
      if (absence) seenWhole.delete(set)
      else seenWhole.set(set, nowMs)
      return absence
    },
    forget: (set) => void seenWhole.delete(set),
  }
}

export async function findAbsent(objects: Objects, manifests: readonly Manifest[]): Promise<Absence | undefined> {
  const sights = await Promise.all(
    manifests.filter(isLasting).map(async (manifest) => ({ manifest, is: await lookFor(objects, manifest) })),
  )
  const lost = sights.filter(({ is }) => is !== 'there')
  if (lost.length === 0) return undefined
  const names = lost.map(({ manifest }) => nameOf(manifest)).sort()
  return { names, isCertain: lost.some(({ is }) => is === 'gone') }
}

/** What goes away by itself when it has done its work is not missed. */
function isLasting({ kind, spec }: Manifest): boolean {
  const goesByItself = isPlainObject(spec) && spec['ttlSecondsAfterFinished'] !== undefined
  return kind !== 'Pod' && !(kind === 'Job' && goesByItself)
}

async function lookFor(objects: Objects, manifest: Manifest): Promise<'there' | 'gone' | 'not served'> {
  const { name, namespace } = manifest.metadata
  const kind: KindRef = parseKindRef(manifest)
  try {
    const live = await objects.get(kind, namespace === undefined ? { name } : { namespace, name })
    return live ? 'there' : 'gone'
  } catch (error) {
    if (isKubeError(error, 'KindNotServed')) return 'not served'
    if (isKubeError(error, 'NotFound')) return 'gone'
    throw error
  }
}

function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
}
