// A cluster that is ready and left alone costs its watches and nothing else: counted at the API server, in both the
// management API and the workload API, over ten minutes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { AddonDelivery } from '#api'
import { pushedClock } from './story-clock.ts'
import { ClusterKind, isTrue, type Request, storyHome } from './story-world.ts'

const EXAMPLE = readFileSync(join(import.meta.dirname, '../examples/simulation.yaml'), 'utf8')
const MINUTES = 10

it('asks for nothing but its watches when it is ready and idle', { timeout: 180_000 }, async () => {
  const clock = pushedClock()
  const world = await storyHome({ clock })
  try {
    await world.apply(EXAMPLE)
    await world.until(ClusterKind, 'demo', (cluster) => isTrue(cluster, 'Available'))
    await world.until(AddonDelivery, 'demo', (delivery) => isTrue(delivery, 'Ready'))
    await settle(world.requests)
    world.requests.length = 0
    await clock.push(MINUTES * 60_000)
    const watches = world.requests.filter(isWatch)
    const others = world.requests.filter((request) => !isWatch(request))
    assert.deepEqual(others.map(textOf), [])
    assert.ok(watches.length > 0, 'watches end and begin again, so time did pass')
    assert.deepEqual(watches.filter(({ code }) => code !== 200).map(textOf), [])
    for (const [kind, name, type] of [
      [ClusterKind, 'demo', 'Available'],
      [AddonDelivery, 'demo', 'Ready'],
    ] as const)
      assert.ok(isTrue((await world.get(kind, name))!, type), `${kind.kind} is still ${type}`)
  } finally {
    await world.stop()
  }
})

const isWatch = ({ method, query }: Request) => method === 'GET' && new URLSearchParams(query).get('watch') === 'true'
const textOf = ({ method, path, query, code }: Request) => `${method} ${path}${query} ${code}`

/** Until nothing has been asked for a while: status writes and events come a moment after Ready. */
async function settle(requests: readonly unknown[]): Promise<void> {
  for (let calm = 0, before = -1, turns = 0; calm < 8 && turns < 200; turns++) {
    calm = requests.length === before ? calm + 1 : 0
    before = requests.length
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}
