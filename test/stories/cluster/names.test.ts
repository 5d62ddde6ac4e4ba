// Names and places that trip others up: one name in two namespaces, the longest name there is, and the regions of other
// partitions, each as a whole cluster from manifest to a workload that answers, and back to nothing.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { type AnyObject, CAPTCluster, NamespaceKind, type Secret, SecretKind } from '#api'
import { storyCluster, storyTemplates } from '../../support/cluster/story-manifests.ts'
import { applies, ClusterKind, isTrue, type StoryHome, storyHome } from '../../support/cluster/story-world.ts'

const LONGEST = `a${'b'.repeat(61)}c`
const CASES = [
  { namespace: 'team-a', name: 'demo', region: 'us-gov-west-1' },
  { namespace: 'team-b', name: 'demo', region: 'cn-north-1' },
  { namespace: 'team-b', name: LONGEST, region: 'eu-west-1' },
] as const

let world: StoryHome
before(async () => {
  world = await storyHome()
})
after(() => world.stop())

it('one name in two namespaces, 63 characters, GovCloud and China all work', { timeout: 180_000 }, async () => {
  const { objects } = world.home
  for (const namespace of ['team-a', 'team-b']) {
    await objects.create<AnyObject>(NamespaceKind, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    })
    await world.apply(storyTemplates(undefined).replaceAll('\nmetadata:\n', `\nmetadata:\n  namespace: ${namespace}\n`))
  }
  for (const { namespace, name, region } of CASES) {
    const infra = { region, vpcTemplateRef: { name: 'story-vpc' } }
    await world.apply(storyCluster(name, { namespace, infra }))
  }
  for (const { namespace, name, region } of CASES) {
    await world.until(ClusterKind, name, (cluster) => isTrue(cluster, 'Available'), { namespace })
    const infra = await world.get<CAPTCluster>(CAPTCluster, name, namespace)
    assert.deepEqual(infra?.status?.availabilityZones, [`${region}a`, `${region}b`])
    const secret = await world.get<Secret>(SecretKind, `${name}-kubeconfig`, namespace)
    const kubeconfig = Buffer.from(secret?.data?.['value'] ?? '', 'base64').toString()
    assert.ok(kubeconfig.includes(`/workloads/${namespace}/${name}`), 'each has a workload of its own')
  }
  for (const { namespace, name } of CASES) await world.remove('cluster', name, namespace)
  for (const { namespace, name } of CASES) await world.untilGone(ClusterKind, name, namespace)
  for (const namespace of ['team-a', 'team-b']) {
    assert.deepEqual(await applies(world, namespace), [])
    const left: string[] = []
    for await (const { metadata } of objects.list<Secret>(SecretKind, { namespace })) left.push(metadata.name)
    assert.deepEqual(left, [])
  }
})
