// Hands the nodes over from the Cluster Autoscaler, and back again. The journal names what was before, first.
import { DeploymentKind } from '#api'
import { resizeNodeGroup } from '#aws'
import { addRefs, type Journal, type ResourceRef, readJournal, writeJournal } from '../journal.ts'
import { getOne } from '../kinds.ts'
import { type HandOverStep, parseSize } from '../plan/hand-over.ts'
import { describe, toRef } from './describe.ts'
import type { Site } from './site.ts'

export async function handOver(steps: readonly HandOverStep[], site: Site): Promise<void> {
  const changes = steps.filter((step) => step.do === 'change')
  const kept = await readJournal(site.objects)
  if (!kept || changes.length === 0) return
  const made = addRefs(
    kept.journal.made,
    changes.map(({ resource }) => toRef(resource)),
  )
  await writeJournal(site.objects, { ...kept.journal, made }, kept.object)
  for (const { resource } of changes) {
    site.report(`change ${describe(resource)}: ${resource.about}`)
    if (resource.type === 'autoscaler') await scale(resource, 0, site)
    else await resizeNodeGroup(site.aws, site.cluster.name, resource.name, resource.desired as never)
  }
}

/** Groups first: they have to take the pods of Karpenter's nodes. */
export async function takeBack({ made }: Journal, site: Site): Promise<void> {
  for (const ref of made) {
    if (ref.type !== 'node-group-size') continue
    site.report(`restore ${describe(ref)}`)
    await resizeNodeGroup(site.aws, site.cluster.name, ref.name, parseSize(ref.value ?? ''))
  }
  for (const ref of made) {
    if (ref.type !== 'autoscaler') continue
    site.report(`restore ${describe(ref)}`)
    await scale(ref, Number(ref.value), site)
  }
}

async function scale({ name: path }: ResourceRef, replicas: number, { objects }: Site): Promise<void> {
  const [namespace = '', name = ''] = path.split('/')
  const key = { namespace, name }
  // Somebody may have removed it since.
  if (await getOne(objects, DeploymentKind, key))
    await objects.patch(DeploymentKind, key, { type: 'merge', body: { spec: { replicas } } })
}
