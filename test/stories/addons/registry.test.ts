// Karpenter from a private registry: its login reaches the workload cluster, follows a change, goes when it is no longer
// named, and shows up nowhere else.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  AddonDelivery,
  type AddonPipeline,
  ConfigMapKind,
  kindRef,
  type Secret,
  SecretKind,
  type UnknownObject,
} from '#api'
import { defaultPipeline } from '#controllers'
import { type AddonsWorld, addonsWorld, Cluster, conditionStatus, HOME } from '../../support/addons/world.ts'

let world: AddonsWorld
afterEach(async () => await world.close())

const CANARY = 'canary-of-the-registry'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const OCIRepository = kindRef('source.toolkit.fluxcd.io/v1', 'OCIRepository')
const karpenterSource = { namespace: 'kube-system', name: 'karpenter' }
const copyKey = { namespace: 'kube-system', name: 'karpenter-registry' }
const probeCopyKey = { namespace: 'flux-system', name: 'capt-probe-registry' }

function pipeline(): AddonPipeline {
  const shipped = defaultPipeline(HOME)
  const stages = shipped.spec.stages.map((stage) =>
    stage.karpenter
      ? {
          ...stage,
          karpenter: {
            ...stage.karpenter,
            chart: 'oci://registry.example/karpenter/karpenter',
            source: { secretRef: { name: 'registry-login' }, insecure: false },
          },
        }
      : stage,
  )
  return { ...shipped, spec: { ...shipped.spec, stages } }
}

const login = (text: string, annotations: Record<string, string>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: HOME, name: 'registry-login', annotations },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': base64(text) },
})
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const workload = () => world.workloads.get('default/demo')!
const copied = (key = copyKey) => {
  const value = workload().peek<Secret>(SecretKind, key)?.data?.['.dockerconfigjson']
  return value && Buffer.from(value, 'base64').toString('utf8')
}

describe('Karpenter from a private registry', () => {
  it('waits for the Secret, needs its consent, and brings the login beside the source and its probe', async () => {
    world = await addonsWorld({ pipeline: pipeline() })
    await world.addCluster('demo', { labels: { 'installation.appthrust.com/eks-karpenter': 'enabled' } })
    await world.until('the Secret is missed', () => world.stage('demo', 'karpenter')?.reason === 'SourceMissing')
    world.home.seed(SecretKind, login(CANARY, {}))
    await world.until('consent is missed', () => world.stage('demo', 'karpenter')?.reason === 'StageRefused', 900)
    assert.match(world.stage('demo', 'karpenter')?.message ?? '', /does not allow clusters of namespace default/)
    assert.equal(copied(), undefined)

    await world.home.others.patch(
      SecretKind,
      { namespace: HOME, name: 'registry-login' },
      { type: 'merge', body: { metadata: { annotations: { 'capt.appthrust.com/allow-namespaces': 'default' } } } },
    )
    await world.until('ready', isReady, 900)
    assert.equal(copied(), CANARY)
    assert.equal(copied(probeCopyKey), CANARY)
    assert.partialDeepStrictEqual(workload().peek<UnknownObject>(OCIRepository, karpenterSource), {
      spec: { url: 'oci://registry.example/karpenter/karpenter', secretRef: { name: 'karpenter-registry' } },
    })

    const spoken = JSON.stringify([world.delivery('demo'), world.events, world.log.lines])
    const maps = JSON.stringify(world.home.storage.list(ConfigMapKind))
    for (const text of [CANARY, base64(CANARY)]) assert.ok(!spoken.includes(text) && !maps.includes(text))

    await world.home.others.patch(
      SecretKind,
      { namespace: HOME, name: 'registry-login' },
      { type: 'merge', body: { data: { '.dockerconfigjson': base64('rotated') } } },
    )
    await world.until('the new login arrives', () => copied() === 'rotated' && copied(probeCopyKey) === 'rotated', 900)
  })

  it('loses the copies when a delivery names another registry, and when the add-on is withdrawn', async () => {
    world = await addonsWorld({ pipeline: pipeline() })
    world.home.seed(SecretKind, login(CANARY, { 'capt.appthrust.com/allow-namespaces': '*' }))
    await world.addCluster('demo', { labels: { 'installation.appthrust.com/eks-karpenter': 'enabled' } })
    await world.until('ready', isReady)
    const override = async (overrides: readonly object[]) =>
      await world.home.others.patch(
        AddonDelivery,
        { namespace: 'default', name: 'demo' },
        { type: 'merge', body: { spec: { overrides } } },
      )
    await override([{ stage: 'karpenter', chart: 'oci://mirror.example/karpenter', source: { insecure: true } }])
    await world.until('the copies are gone', () => copied() === undefined && copied(probeCopyKey) === undefined, 900)
    assert.partialDeepStrictEqual(workload().peek<UnknownObject>(OCIRepository, karpenterSource), {
      spec: { url: 'oci://mirror.example/karpenter', insecure: true },
    })
    await override([])
    await world.until('ready again', () => isReady() && copied() === CANARY, 900)

    await world.home.others.patch(
      Cluster,
      { namespace: 'default', name: 'demo' },
      {
        type: 'merge',
        body: {
          metadata: { labels: { 'installation.appthrust.com/eks-karpenter': null, 'fluxcd.io/enabled': 'true' } },
        },
      },
    )
    await world.until('withdrawn', () => world.stage('demo', 'karpenter')?.state === 'NotWanted', 1800)
    assert.equal(copied(), undefined)
  })
})
