// What a reader follows: the fleet, or one cluster with at most one of its runs. First everything, then what changed.
import type { ClusterSections } from '#dashboard'
import type { Clock } from '#lib'
import { type Channel, createPacer } from './channel.ts'
import { rowOf, sectionsOf } from './cluster-sections.ts'
import { followRun } from './run-view.ts'
import type { World } from './world.ts'

const FLEET_MS = 250
const CLUSTER_MS = 150

type FleetWorld = Pick<World, 'ids' | 'objectsOf' | 'onChange'>

export function followFleet(world: FleetWorld, channel: Channel, clock: Clock): void {
  const sent = new Map<string, string>()
  const dirty = new Set<string>()
  const rowsOf = (ids: Iterable<string>) =>
    [...ids].flatMap((id) => {
      const objects = world.objectsOf(id)
      return objects ? [rowOf(objects)] : []
    })
  const send = createPacer(channel, clock, FLEET_MS, () => {
    const rows = rowsOf(dirty)
    const gone = [...dirty].filter((id) => sent.has(id) && !rows.some((row) => row.id === id))
    dirty.clear()
    const set = rows.filter((row) => {
      const text = JSON.stringify(row)
      if (sent.get(row.id) === text) return false
      sent.set(row.id, text)
      return true
    })
    for (const id of gone) sent.delete(id)
    if (set.length + gone.length > 0) channel.send('rows', { set, gone })
  })
  const stop = world.onChange((id) => {
    dirty.add(id)
    send()
  })
  channel.closed.addEventListener('abort', stop, { once: true })
  const rows = rowsOf(world.ids())
  for (const row of rows) sent.set(row.id, JSON.stringify(row))
  channel.send('fleet', { rows })
}

interface ClusterTopic {
  readonly id: string
  /** Name of the apply whose log and plan are followed. */
  readonly run?: string
}

export function followCluster(world: World, channel: Channel, clock: Clock, { id, run }: ClusterTopic): void {
  const sent = new Map<string, string>()
  let wasThere: boolean | undefined
  const namespace = id.split('/')[0]!
  const runView = run === undefined ? undefined : followRun(world.objects, { namespace, name: run }, channel, clock)
  const send = createPacer(channel, clock, CLUSTER_MS, () => {
    const objects = world.objectsOf(id)
    if (!objects) {
      if (wasThere !== false) channel.send('cluster', { gone: true, sections: {} })
      wasThere = false
      return
    }
    wasThere = true
    const sections = sectionsOf(objects, world.eventsOf(objects))
    const changed = Object.entries(sections).filter(([name, section]) => {
      const text = JSON.stringify(section)
      if (sent.get(name) === text) return false
      sent.set(name, text)
      return true
    })
    if (changed.length > 0)
      channel.send('cluster', { gone: false, sections: Object.fromEntries(changed) as Partial<ClusterSections> })
    runView?.refresh(objects.applies.find(({ metadata }) => metadata.name === run))
  })
  const stop = world.onChange((changed) => {
    if (changed === id) send()
  })
  channel.closed.addEventListener('abort', stop, { once: true })
  send()
}
