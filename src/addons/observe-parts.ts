// Reads how far the parts of a stage have come: what was written, what core says about it, what the workload shows.
import { type AddonStage, type AnyObject, clusterResourceSetBindingKind } from '#api'
import type { Objects } from '#kube'
import type { PartSeen } from './delivery-seen.ts'
import { judge } from './health.ts'
import { type Finding, isWorking } from './health-finding.ts'
import { type Check, look } from './health-read.ts'
import { FLUX_NAMESPACE } from './names.ts'
import type { StageContext } from './observe-stages.ts'
import { type Part, toOwnPart } from './render-part.ts'
import { compareSet, complaintOf, namesAll, readBinding } from './resource-sets.ts'

/** A Flux that lives elsewhere is looked for there. */
export function moveChecks(parts: readonly Part[], namespace: string): readonly Part[] {
  const move = (check: Check): Check => (check.namespace === FLUX_NAMESPACE ? { ...check, namespace } : check)
  return parts.map((part) => ({ ...part, checks: part.checks.map(move) }))
}

/** Looks at a part only when the one before it is delivered and healthy. */
export async function observeParts(
  context: StageContext,
  parts: readonly Part[],
  stage: AddonStage,
  sets: readonly AnyObject[],
  isAdopted: boolean,
  mayLook: boolean,
): Promise<readonly PartSeen[]> {
  const { world, ports, carriers, presence, cluster, workload, nowMs } = context
  const binding = ports.resourceSets
    ? world.cache.get(clusterResourceSetBindingKind(ports.resourceSets), {
        namespace: cluster.namespace,
        name: cluster.name,
      })
    : undefined
  const seen: PartSeen[] = []
  let isOpen = true
  for (const rendered of parts) {
    const set = sets.find((one) => one.metadata.name === rendered.set)
    // A Cluster that once needed a carrier of its own keeps it.
    const own = toOwnPart(rendered, stage.name, cluster.name)
    const part = set && namesAll(set, own) ? own : rendered
    const hashes = new Map<string, string>()
    let isWritten =
      set !== undefined &&
      !set.metadata.deletionTimestamp &&
      compareSet(set, { cluster: cluster.name, gateLabel: stage.gateLabel, part }) === 'none'
    if (set) {
      for (const carrier of part.carriers) {
        const sight = await carriers.look(world.objects, cluster.namespace, carrier, nowMs)
        if (sight?.content === carrier.hash) hashes.set(carrier.name, sight.hash)
        else isWritten = false
      }
    }
    const rows = readBinding(binding, part, hashes)
    const isDelivered = isWritten && rows.every((row) => row.equal)
    const isVisible: boolean = isOpen && mayLook && workload !== undefined && (isDelivered || isAdopted)
    const findings: readonly Finding[] | undefined = isVisible
      ? await lookAt(workload!.objects, part.checks)
      : undefined
    const isHealthy: boolean = findings?.every(isWorking) ?? false
    const absence =
      mayLook && isDelivered && workload
        ? await presence.look(workload.objects, `${cluster.namespace}/${part.set}`, part.manifests, {
            isHealthy,
            nowMs,
          })
        : undefined
    isOpen = isOpen && isDelivered && isHealthy
    seen.push({ part, isWritten, rows, complaint: isDelivered ? undefined : complaintOf(set), findings, absence })
    if (isAdopted) break
  }
  return seen
}

async function lookAt(objects: Objects, checks: readonly Check[]): Promise<readonly Finding[]> {
  return await Promise.all(checks.map(async (check) => judge(check, await look(objects, check))))
}
