// The oldest node of a workload cluster: read once before a control plane is upgraded, a page at a time.
import semver from 'semver'
import { type Key, NodeKind, type UnknownObject } from '#api'
import { fieldsOf } from '#lib'
import type { Workloads } from '../shared/workload.ts'

/** Enough to see a trend, few enough for any cluster. */
const MOST_NODES = 2_000

export async function oldestNodeOf(workloads: Workloads, cluster: Key): Promise<string | undefined> {
  const workload = await workloads.open(cluster)
  if (!workload) return undefined
  let oldest: semver.SemVer | undefined
  let count = 0
  for await (const node of workload.objects.list<UnknownObject>(NodeKind)) {
    const version = semver.coerce(kubeletVersion(node))
    if (version && (!oldest || version.compare(oldest) < 0)) oldest = version
    if (++count >= MOST_NODES) break
  }
  return oldest && `v${oldest.version}`
}

function kubeletVersion({ status }: UnknownObject): string | undefined {
  const { kubeletVersion: version } = fieldsOf(fieldsOf(status)['nodeInfo'])
  return typeof version === 'string' ? version : undefined
}
