// How soon a change of what a pipeline takes its manifests and variables from is seen, through the informers that a
// manager really has: labelled in a management cluster, metadata only everywhere.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonDelivery, AddonPipeline, type AnyObject, type ConfigMap, ConfigMapKind } from '#api'
import { defaultPipeline, SOURCE_LABEL } from '#controllers'
import { memoryCluster } from '#testing'
import { usersOf } from '../../../src/controllers/addon-delivery/source-wakes.ts'
import { informerOf } from '../../../src/controllers/shared/projections.ts'
import { createMemoryInformers } from '../../../src/testing/memory/informers.ts'
import { type AddonsWorld, addonsWorld, conditionStatus, HOME } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const settings = { namespace: 'default', name: 'settings' }
const text = (value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: default\ndata:\n  text: "${value}"\n`

function pipeline(): AddonPipeline {
  const shipped = defaultPipeline(HOME)
  const [flux] = shipped.spec.stages
  const { flux: _flux, ...rest } = flux!
  const resources = [{ kind: 'ConfigMap' as const, name: 'extra' }]
  return { ...shipped, spec: { ...shipped.spec, stages: [{ ...rest, name: 'extra', enabledBy: [], resources }] } }
}

const source = (value: string, labels: Readonly<Record<string, string>>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: HOME, name: 'extra', labels },
  data: { 'a.yaml': text(value) },
})

async function arrival(labels: Readonly<Record<string, string>>, value: string): Promise<void> {
  world = await addonsWorld({ pipeline: pipeline(), sourceInformer: informerOf(ConfigMapKind, false) })
  world.home.seed(ConfigMapKind, source(value, labels))
  const workload = await world.addCluster('demo')
  await world.until('ready', isReady)
  assert.equal(workload.peek<ConfigMap>(ConfigMapKind, settings)?.data?.['text'], value)
}

const seen = () => world.workloads.get('default/demo')?.peek<ConfigMap>(ConfigMapKind, settings)?.data?.['text']
const change = async () =>
  await world.home.others.patch(
    ConfigMapKind,
    { namespace: HOME, name: 'extra' },
    {
      type: 'merge',
      body: { data: { 'a.yaml': text('after') } },
    },
  )

describe('a source of a pipeline that changes', () => {
  it('is noticed at once when it has the label', async () => {
    await arrival({ [SOURCE_LABEL]: '' }, 'before')
    await change()
    await world.until('it arrives', () => seen() === 'after', 10)
  })

  it('is noticed within twelve minutes when it does not', async () => {
    await arrival({}, 'before')
    await change()
    await world.idle(10)
    assert.equal(seen(), 'before', 'nobody watches it')
    await world.until('it arrives', () => seen() === 'after', 725)
  })
})

describe('the users of a ConfigMap', () => {
  it('are the deliveries that name it, as manifests or as variables of their own cluster', async () => {
    world = await addonsWorld({ shipped: false })
    const { storage, seed } = memoryCluster({})
    const informers = createMemoryInformers(storage, 'sync')
    for (const kind of [AddonPipeline, AddonDelivery]) informers.register(kind)
    informers.start()
    seed(AddonPipeline, pipeline())
    const delivery = (name: string, namespace: string) =>
      ({
        apiVersion: AddonDelivery.apiVersion,
        kind: AddonDelivery.kind,
        metadata: { name, namespace },
        spec: { clusterName: name, pipelineRef: { name: 'default', namespace: HOME }, suspend: false, overrides: [] },
      }) as AnyObject
    for (const [name, namespace] of [
      ['one', 'a'],
      ['two', 'a'],
      ['one', 'b'],
    ] as const)
      seed(AddonDelivery, delivery(name, namespace))
    const users = (namespace: string, name: string) =>
      usersOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } }, informers)
        .map((key) => `${key.namespace}/${key.name}`)
        .sort()
    assert.deepEqual(users(HOME, 'extra'), ['a/one', 'a/two', 'b/one'])
    assert.deepEqual(users('a', 'extra'), [], 'manifests come from the namespace of the pipeline')
    assert.deepEqual(users('a', 'one-addons'), ['a/one'])
    assert.deepEqual(users('a', 'three-addons'), [])
    assert.deepEqual(users('a', 'fluxcd-install-2.9.5'), [])
  })
})
