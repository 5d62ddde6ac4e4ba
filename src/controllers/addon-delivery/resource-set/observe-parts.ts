// Observes the parts of a stage: what was written, what core reports, what the workload cluster shows.
import { type AddonStage, type AnyObject, clusterResourceSetBindingKind } from '#api'
import type { Objects } from '#kube'
import { type Finding, isWorking } from '../health/finding.ts'
import { decideHealth } from '../health/health.ts'
import { type Check, observeTarget } from '../health/read.ts'
import type { ObservedPart } from '../observed.ts'
import type { StageContext } from '../stages/observe/observe-stages.ts'
import { type Part, toOwnPart } from './render-part.ts'
import { compareSet, complaintOf, namesAll, readBinding } from './resource-sets.ts'

/** Checks a part only when the one before it is delivered and healthy. */
export async function observeParts(
  context: StageContext,
  parts: readonly Part[],
  stage: AddonStage,
  sets: readonly AnyObject[],
  isAdopted: boolean,
  mayRead: boolean,
): Promise<readonly ObservedPart[]> {
  const { world, ports, payloads, presence, cluster, workload, nowMs } = context
  const binding = ports.resourceSets
    ? world.cache.get(clusterResourceSetBindingKind(ports.resourceSets), {
        namespace: cluster.namespace,
        name: cluster.name,
      })
    : undefined
  const observed: ObservedPart[] = []
  let isOpen = true
  for (const rendered of parts) {
    const set = sets.find((one) => one.metadata.name === rendered.set)
    // A Cluster that once needed a payload of its own keeps it.
    const own = toOwnPart(rendered, stage.name, cluster.name)
    const part = set && namesAll(set, own) ? own : rendered
    const hashes = new Map<string, string>()
    let isWritten =
      set !== undefined &&
      !set.metadata.deletionTimestamp &&
      compareSet(set, { cluster: cluster.name, gateLabel: stage.gateLabel, part }) === 'none'
    if (set) {
      for (const payload of part.payloads) {
        const live = await payloads.read(world.objects, cluster.namespace, payload, nowMs)
        if (live?.content === payload.hash) hashes.set(payload.name, live.hash)
        else isWritten = false
      }
    }
    const rows = readBinding(binding, part, hashes)
    const isDelivered = isWritten && rows.every((row) => row.equal)
    const isVisible: boolean = isOpen && mayRead && workload !== undefined && (isDelivered || isAdopted)
    const findings: readonly Finding[] | undefined = isVisible
      ? await observeChecks(workload!.objects, part.checks)
      : undefined
    const isHealthy: boolean = findings?.every(isWorking) ?? false
    const absence =
      mayRead && isDelivered && workload
        ? await presence.findAbsence(workload.objects, `${cluster.namespace}/${part.set}`, part.manifests, {
            isHealthy,
            nowMs,
          })
        : undefined
    isOpen = isOpen && isDelivered && isHealthy
    observed.push({ part, isWritten, rows, complaint: isDelivered ? undefined : complaintOf(set), findings, absence })
    if (isAdopted) break
  }
  return observed
}

async function observeChecks(objects: Objects, checks: readonly Check[]): Promise<readonly Finding[]> {
  return await Promise.all(checks.map(async (check) => decideHealth(check, await observeTarget(objects, check))))
}
