// The life of a cluster in the embedded home, as a person lives it: real terraform, real kubectl, and a transcript that
// is compared as text. Ids, times and addresses do not appear in it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { type AnyObject, CAPTCluster, CAPTControlPlane, type Secret, SecretKind, WorkspaceTemplateApply } from '#api'
import { storyCluster, storyTemplates } from '../../support/cluster/story-manifests.ts'
import { compareGolden, firstLine, picture, transcript, withoutPaths } from '../../support/cluster/story-transcript.ts'
import {
  applies,
  ClusterKind,
  conditionIn,
  isTrue,
  kubectl,
  readLedger,
  type StoryHome,
  storyHome,
  terraform,
} from '../../support/cluster/story-world.ts'
import { run } from '../../support/tools.ts'

let world: StoryHome
before(async () => {
  world = await storyHome()
})
after(() => world.stop())

it('lives from three manifests to nothing left behind', { timeout: 180_000 }, async (test) => {
  const story = transcript()
  const ledgerFile = join(world.folder, 'ledger')
  let read = 0
  const ledger = () => {
    const lines = readLedger(ledgerFile)
    const fresh = lines.slice(read)
    read = lines.length
    return fresh
  }
  const hands = kubectl ? 'kubectl' : 'HTTP'
  test.diagnostic(`${world.home.manager.engine?.name}; by ${hands}`)
  const saw = async (name: string) => {
    for (const line of await picture(world, name)) story.saw(line)
  }
  const ready = async (name: string, version = '1.34') => {
    await world.until<CAPTControlPlane>(
      CAPTControlPlane,
      name,
      (plane) => isTrue(plane, 'Ready') && plane.status?.version === `v${version}.0`,
    )
    await world.until(CAPTCluster, name, (infra) => isTrue(infra, 'Ready'))
    await world.until(ClusterKind, name, (cluster) => isTrue(cluster, 'Available'))
  }
  /** What Terraform did, by its own hand; the simulated engine has no hands. */
  const expectLedger = (lines: readonly string[]) => {
    for (const line of lines) story.saw(`terraform: ${line}`)
    if (terraform) assert.deepEqual(ledger(), lines)
  }

  /** Only Terraform checks what a variable may be; its simulation does not. */
  const failingRun = async () => {
    story.chapter('a run that fails')
    story.did('tag the VPC with a key that AWS keeps for itself')
    await world.patch('captcluster', 'shop', { spec: { additionalTags: { 'aws:owner': 'me' } } })
    const failed = await world.until(CAPTCluster, 'shop', (infra) => isTrue(infra, 'Stalled'))
    const message = (object: AnyObject, type: string) =>
      withoutPaths(firstLine(conditionIn(object, type)?.message ?? ''))
    for (const type of ['Stalled', 'VPCReady']) story.saw(`CAPTCluster ${type}: ${message(failed, type)}`)
    const why = conditionIn(failed, 'Stalled')?.message
    const cluster = await world.until(
      ClusterKind,
      'shop',
      (found) => conditionIn(found, 'InfrastructureReady')?.message === why,
    )
    story.saw(`Cluster InfrastructureReady: ${message(cluster, 'InfrastructureReady')}`)
    story.saw(`still provisioned: ${(failed as CAPTCluster).status?.initialization?.provisioned}`)
    story.did('take the tag back')
    await world.patch('captcluster', 'shop', { spec: { additionalTags: null } })
    await ready('shop', '1.35')
    await saw('shop')
    expectLedger([])
  }

  story.chapter('create')
  await world.apply(storyTemplates(terraform ? ledgerFile : undefined))
  await world.apply(storyCluster('shop'))
  await world.apply(
    storyCluster('guest', { infra: { existingVpcId: 'vpc-77', existingSubnets: { private: ['subnet-7'] } } }),
  )
  story.did('apply two templates, the cluster shop, and the cluster guest with existingVpcId and existingSubnets')
  await ready('shop')
  await saw('shop')
  story.saw(`workload: ${(await workloadNamespaces(world, 'shop')).join(', ')}`)

  story.chapter('a VPC that exists already')
  await ready('guest')
  await saw('guest')
  const guest = await world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'guest-eks-controlplane-apply')
  story.saw(`given to Terraform: ${guest?.spec.variables['vpc_id']}, ${JSON.stringify(guest?.spec.values)}`)
  if (terraform)
    assert.deepEqual([...ledger()].sort(), ['create cluster guest', 'create cluster shop', 'create vpc shop-vpc'])

  story.chapter('upgrade')
  story.did('set the version of shop to 1.36')
  await world.patch('captcontrolplane', 'shop', { spec: { version: '1.36' } })
  await world.until(CAPTControlPlane, 'shop', (plane) => isTrue(plane, 'Stalled'))
  story.saw((await world.get(CAPTControlPlane, 'shop').then((plane) => conditionIn(plane, 'Stalled')?.message)) ?? '')
  story.did('set it to 1.35')
  await world.patch('captcontrolplane', 'shop', { spec: { version: '1.35' } })
  await ready('shop', '1.35')
  await saw('shop')
  expectLedger([])

  if (terraform) await failingRun()

  story.chapter('pause')
  story.did('pause shop, then tag its VPC')
  await world.patch('cluster', 'shop', { spec: { paused: true } })
  for (const kind of [CAPTCluster, CAPTControlPlane])
    await world.until(kind, 'shop', (object) => isTrue(object, 'Paused'))
  const vpc = () => world.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'shop-vpc')
  const before = await vpc()
  await world.patch('captcluster', 'shop', { spec: { additionalTags: { Team: 'shop' } } })
  await world.until(
    CAPTCluster,
    'shop',
    (infra) => conditionIn(infra, 'Paused')?.observedGeneration === infra.metadata.generation,
  )
  assert.deepEqual((await vpc())?.spec, before?.spec, 'nothing new is begun')
  story.saw(`CAPTCluster Paused: ${conditionIn(await world.get(CAPTCluster, 'shop'), 'Paused')?.message}`)
  story.did('let it go on')
  await world.patch('cluster', 'shop', { spec: { paused: false } })
  await world.until<WorkspaceTemplateApply>(
    WorkspaceTemplateApply,
    'shop-vpc',
    (apply) => apply.metadata.generation !== before?.metadata.generation && isTrue(apply, 'Ready'),
  )
  await ready('shop', '1.35')
  story.saw(`shop-vpc was given ${JSON.stringify((await vpc())?.spec.values)}`)

  story.chapter('delete, and keep the VPC')
  story.did('set retainVpcOnDelete of shop and delete it')
  await world.patch('captcluster', 'shop', { spec: { retainVpcOnDelete: true } })
  await world.until<WorkspaceTemplateApply>(
    WorkspaceTemplateApply,
    'shop-vpc',
    (apply) => apply.spec.retainWorkspaceOnDelete === true && isTrue(apply, 'Ready'),
  )
  await world.remove('cluster', 'shop')
  await world.untilGone(ClusterKind, 'shop')
  await saw('shop')
  story.saw(`labels of shop-vpc: ${JSON.stringify((await vpc())?.metadata.labels)}`)
  expectLedger(['destroy cluster shop'])

  story.chapter('delete')
  story.did('delete guest')
  const deleted = await world.capt('delete', 'cluster', 'guest', '--yes')
  assert.equal(deleted.code, 0, deleted.stderr)
  await world.untilGone(ClusterKind, 'guest')
  await saw('guest')
  expectLedger(['destroy cluster guest'])
  story.did('delete the VPC that was kept')
  await world.home.objects.patch(
    WorkspaceTemplateApply,
    { namespace: 'default', name: 'shop-vpc' },
    { type: 'merge', body: { spec: { retainWorkspaceOnDelete: false } } },
  )
  await world.home.objects.delete(WorkspaceTemplateApply, { namespace: 'default', name: 'shop-vpc' })
  await world.untilGone(WorkspaceTemplateApply, 'shop-vpc')
  expectLedger(['destroy vpc shop-vpc'])
  assert.deepEqual(await applies(world), [])
  const left: string[] = []
  for await (const secret of world.home.objects.list<Secret>(SecretKind, { namespace: 'default' }))
    left.push(secret.metadata.name)
  assert.deepEqual(left, [], 'no Secret is left behind')
  story.saw('nothing is left: no apply, no Secret')

  compareGolden('story-cluster.txt', story.text, terraform ? [] : ['a run that fails'])
})

/** Through the kubeconfig that people get. */
async function workloadNamespaces(home: StoryHome, cluster: string): Promise<readonly string[]> {
  const printed = await home.capt('kubeconfig', cluster)
  assert.equal(printed.code, 0, printed.stderr)
  const file = join(home.folder, `${cluster}.kubeconfig`)
  writeFileSync(file, printed.stdout, { mode: 0o600 })
  if (kubectl) {
    const ran = await run(kubectl, ['--kubeconfig', file, 'get', 'namespaces', '-o', 'name'], {
      env: { HOME: home.folder },
    })
    assert.equal(ran.code, 0, ran.err)
    return ran.out.split('\n').filter(Boolean)
  }
  const { openSession } = await import('#kube')
  const connected = await openSession({ kubeconfig: file }, {})
  try {
    const { body } = await connected.raw('/api/v1/namespaces')
    return (JSON.parse(body) as { items: { metadata: { name: string } }[] }).items.map(
      ({ metadata }) => `namespace/${metadata.name}`,
    )
  } finally {
    await connected.close()
  }
}
