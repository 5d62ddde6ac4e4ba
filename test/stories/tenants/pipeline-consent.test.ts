// A pipeline's stages are rendered from Secrets of its own namespace. These stories hold that no other namespace gets at
// them, or keeps the pipeline from being deleted, by naming the pipeline in a delivery of its own.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { AddonDelivery, AddonPipeline, ALLOW_NAMESPACES_ANNOTATION, ConfigMapKind, SecretKind } from '#api'
import { defaultPipeline } from '#controllers'
import { type AddonsWorld, addonsWorld, HOME } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const CANARY = 'canary-of-the-victim'
const victimKey = { namespace: 'victim', name: 'private' }
const attackKey = { namespace: 'default', name: 'attack' }

/** A pipeline of namespace `victim` whose one stage delivers a Secret of that namespace. */
function victimPipeline(): AddonPipeline {
  const shipped = defaultPipeline(HOME)
  const { flux: _flux, ...stage } = shipped.spec.stages[0]!
  return {
    ...shipped,
    metadata: victimKey,
    spec: {
      ...shipped.spec,
      allNamespaces: false,
      stages: [{ ...stage, name: 'private', enabledBy: [], resources: [{ kind: 'Secret', name: 'manifests' }] }],
    },
  }
}

/** The exploit: a tenant of `default` owns a Cluster and names the victim's pipeline in a delivery. */
async function attack(): Promise<void> {
  world = await addonsWorld({ shipped: false })
  const manifest = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: stolen\n  namespace: default\ndata:\n  text: ${CANARY}\n`
  world.home.seed(AddonPipeline, victimPipeline())
  world.home.seed(SecretKind, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'victim', name: 'manifests' },
    type: 'addons.cluster.x-k8s.io/resource-set',
    data: { 'a.yaml': Buffer.from(manifest).toString('base64') },
  } as never)
  await world.addCluster('mine')
  await world.home.others.create(AddonDelivery, {
    apiVersion: AddonDelivery.apiVersion,
    kind: AddonDelivery.kind,
    metadata: attackKey,
    spec: { clusterName: 'mine', pipelineRef: victimKey, suspend: false, overrides: [] },
  } as AddonDelivery)
}

const readyOf = () =>
  world.home
    .peek<AddonDelivery>(AddonDelivery, attackKey)
    ?.status?.conditions?.find((condition) => condition.type === 'Ready')
const stolen = () => world.workloads.get('default/mine')?.peek(ConfigMapKind, { namespace: 'default', name: 'stolen' })
const consent = async (namespaces: string | null) =>
  await world.home.others.patch(AddonPipeline, victimKey, {
    type: 'merge',
    body: { metadata: { annotations: { [ALLOW_NAMESPACES_ANNOTATION]: namespaces } } },
  })

describe('an AddonDelivery that names a pipeline of another namespace', () => {
  it('gets nothing of it without consent, and says whom to ask', async () => {
    await attack()
    await world.until('it is refused', () => readyOf()?.reason === 'PipelineForbidden')
    await world.idle(30)
    assert.equal(stolen(), undefined)
    assert.ok(readyOf()?.message.includes(ALLOW_NAMESPACES_ANNOTATION), readyOf()?.message)
    const copied = [...world.home.storage.list(SecretKind), ...world.home.storage.list(ConfigMapKind)]
    const leaks = copied.filter((object) => object.metadata.namespace === 'default')
    assert.deepEqual(leaks, [], 'nothing of the pipeline is written into the namespace that asked')
  })

  it('does not block the deletion of that pipeline', async () => {
    await attack()
    await world.until('it is refused', () => readyOf()?.reason === 'PipelineForbidden')
    await world.home.others.delete(AddonPipeline, victimKey)
    await world.until('the pipeline is gone', () => world.home.peek(AddonPipeline, victimKey) === undefined)
  })

  it('is served once the pipeline allows its namespace, and no longer when that is withdrawn', async () => {
    await attack()
    await consent('other, default')
    await world.until('it is delivered', () => stolen() !== undefined)
    await consent(null)
    await world.until('it is refused', () => readyOf()?.reason === 'PipelineForbidden')
    await world.home.others.delete(AddonPipeline, victimKey)
    await world.until('the pipeline is gone', () => world.home.peek(AddonPipeline, victimKey) === undefined)
  })
})
