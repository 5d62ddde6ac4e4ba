import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AddonDelivery, type AddonPipeline, type CAPTControlPlane } from '#api'
import { memoryCluster } from '#testing'
import { imageStep, type NodeImageState, nodeImageOf, setNodeImage } from './node-image.ts'
import { planUpgrade } from './plan.ts'

const delivery = { namespace: 'default', name: 'demo' }
const OLD = 'al2023@v20261001'
const NEW = 'al2023@v20261102'
const image = (over: Partial<NodeImageState> = {}): NodeImageState => ({
  delivery,
  offered: OLD,
  chosen: undefined,
  waiting: undefined,
  ...over,
})

describe('the image of the nodes in an upgrade', () => {
  for (const [says, state, wanted, expected] of [
    ['stays while nobody asks', image(), undefined, undefined],
    ['is the one that is asked for', image(), NEW, `${OLD} -> ${NEW}: spec.variables.NODE_IMAGE of AddonDelivery demo`],
    ['is left alone when it is the one', image({ chosen: NEW }), NEW, undefined],
    ['stays as it was chosen', image({ chosen: NEW }), undefined, undefined],
    [
      'follows a newer pin of the control plane',
      image({ chosen: OLD, offered: NEW }),
      undefined,
      `${OLD} -> ${NEW}: takes spec.variables.NODE_IMAGE of AddonDelivery demo away`,
    ],
    ['stays of another family', image({ chosen: 'bottlerocket@v1.1', offered: NEW }), undefined, undefined],
    ['is unknown without an answer of the template', image({ offered: undefined }), undefined, undefined],
    ['is nothing to a cluster without a pool of this kind', undefined, undefined, undefined],
  ] as const)
    it(says, () => {
      const step = imageStep(state, wanted)
      assert.equal(step && `${step.from} -> ${step.to}: ${step.how}`, expected)
    })

  for (const [says, state, wanted, message] of [
    ['the newest whatever it is', image(), 'al2023@latest', /is not the alias of one image/],
    ['one where the pipeline names it', undefined, NEW, /no node pool of this cluster boots/],
  ] as const)
    it(`is never ${says}`, () =>
      assert.throws(() => imageStep(state, wanted), { code: 'CAPT_UPGRADE_REFUSED', message }))

  it('is chosen again with the Kubernetes version, or last when one is asked for', () => {
    const state = {
      cluster: delivery,
      controlPlane: delivery,
      kubernetes: '1.35',
      requested: '1.35',
      hasTopology: false,
      isSettled: true,
      stops: [],
      components: [],
      nodeImage: image(),
    }
    const steps = (wanted?: string) => planUpgrade(state, '1.36', wanted).steps.map(({ to, by }) => `${to} ${by}`)
    assert.deepEqual(steps(), ['1.36 capt', 'what EKS recommends for 1.36 itself'])
    assert.deepEqual(steps(NEW), ['1.36 capt', `${NEW} capt`])
  })
})

describe('the image of the nodes in a cluster', () => {
  const stages = (amiAlias?: string) =>
    ({
      spec: { stages: [{ name: 'node-pool', nodePool: { name: 'default', ...(amiAlias ? { amiAlias } : {}) } }] },
    }) as unknown as AddonPipeline
  const controlPlane = {
    status: { workspaceStatus: { atProvider: { outputs: { karpenter: { node_image: OLD } } } } },
  } as unknown as CAPTControlPlane
  const delivered = (generation = 1, state = 'Healthy') =>
    ({
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'AddonDelivery',
      metadata: { ...delivery, generation },
      spec: { clusterName: 'demo', pipelineRef: { name: 'default' }, overrides: [], variables: { OTHER: 'x' } },
      status: {
        stages: [{ name: 'node-pool', state, startedAt: '2026-01-01T00:00:00Z' }],
        conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '', observedGeneration: 1 }],
      },
    }) as unknown as AddonDelivery

  it('is read from the control plane, and settled when the pool was seen to work with it', () => {
    assert.deepEqual(nodeImageOf(delivered(), stages(), controlPlane), image())
    assert.match(nodeImageOf(delivered(2), stages(), controlPlane)?.waiting ?? '', /^stage node-pool is Healthy/)
    assert.match(nodeImageOf(delivered(1, 'Checking'), stages(), controlPlane)?.waiting ?? '', /is Checking/)
    assert.equal(nodeImageOf(delivered(), stages(NEW), controlPlane), undefined, 'the pipeline names its own')
  })

  it('is written beside the other variables of the delivery, and taken away again', async () => {
    const { objects } = memoryCluster()
    await objects.create(AddonDelivery, delivered())
    const variables = async () => (await objects.get<AddonDelivery>(AddonDelivery, delivery))?.spec.variables
    await setNodeImage(objects, image(), NEW)
    assert.deepEqual(await variables(), { OTHER: 'x', NODE_IMAGE: NEW })
    await setNodeImage(objects, image({ chosen: NEW }), OLD)
    assert.deepEqual(await variables(), { OTHER: 'x' })
  })
})
