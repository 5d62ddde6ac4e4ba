// A cluster that is ready and left alone costs its watches and nothing else: counted at the API server, in both the
// management API and the workload API, over ten minutes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { AddonDelivery, AddonPipeline } from '#api'
import { defaultPipeline } from '#controllers'
import { pushedClock } from '../../support/cluster/story-clock.ts'
import { storyCluster, storyTemplates } from '../../support/cluster/story-manifests.ts'
import { ClusterKind, isTrue, type Request, type StoryHome, storyHome } from '../../support/cluster/story-world.ts'

const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/simulation.yaml'), 'utf8')
const MINUTES = 10

const isWatch = ({ method, query }: Request) => method === 'GET' && new URLSearchParams(query).get('watch') === 'true'
const textOf = ({ method, path, query, code }: Request) => `${method} ${path}${query} ${code}`

/** Makes something ready, and answers what is asked for in the ten minutes after it. */
async function idle(make: (world: StoryHome) => Promise<void>): Promise<readonly Request[]> {
  const clock = pushedClock()
  const world = await storyHome({ clock })
  try {
    await make(world)
    await settle(world.requests)
    world.requests.length = 0
    await clock.push(MINUTES * 60_000)
    const watches = world.requests.filter(isWatch)
    assert.ok(watches.length > 0, 'watches end and begin again, so time did pass')
    assert.deepEqual(watches.filter(({ code }) => code !== 200).map(textOf), [])
    return world.requests.filter((request) => !isWatch(request))
  } finally {
    await world.stop()
  }
}

/** Until nothing has been asked for a while: status writes and events come a moment after Ready. */
async function settle(requests: readonly unknown[]): Promise<void> {
  for (let calm = 0, before = -1, turns = 0; calm < 8 && turns < 200; turns++) {
    calm = requests.length === before ? calm + 1 : 0
    before = requests.length
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

describe('ten minutes in the life of a ready cluster', () => {
  it('cost nothing but watches', { timeout: 120_000 }, async () => {
    const asked = await idle(async (world) => {
      // Without a pipeline nothing delivers add-ons, and nothing looks after them.
      const { name } = defaultPipeline('default').metadata
      await world.until(AddonPipeline, name, () => true)
      await world.home.objects.delete(AddonPipeline, { namespace: 'default', name })
      await world.untilGone(AddonPipeline, name)
      await world.apply(storyTemplates(undefined))
      await world.apply(storyCluster('shop'))
      await world.until(ClusterKind, 'shop', (cluster) => isTrue(cluster, 'Available'))
    })
    assert.deepEqual(asked.map(textOf), [])
  })

  it('cost one look at the add-ons where there are some, and no write', { timeout: 120_000 }, async () => {
    const asked = await idle(async (world) => {
      await world.apply(EXAMPLE)
      await world.until(ClusterKind, 'demo', (cluster) => isTrue(cluster, 'Available'))
      await world.until(AddonDelivery, 'demo', (delivery) => isTrue(delivery, 'Ready'))
    })
    assert.deepEqual(asked.filter(({ method }) => method !== 'GET').map(textOf), [])
    // Every look begins with the kubeconfig.
    const looks = asked.filter(({ path }) => path.endsWith('/secrets/demo-kubeconfig'))
    assert.ok(looks.length <= 2, `${looks.length} looks`)
    assert.ok(asked.length <= 40 * looks.length, `${asked.length} reads`)
  })
})
