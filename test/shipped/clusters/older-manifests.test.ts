// The add-on manifests of older proposals, given to the shipped program one block at a time, by capt apply and by kubectl:
// the cluster ends healthy, each block is answered, and nothing is left when the cluster is gone.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AddonDelivery, conditionOf, isTrue, kindRef, type UnknownObject } from '#api'
import { type Connection, connect, loadKubeconfig, type Objects } from '#kube'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const EXAMPLES = join(import.meta.dirname, '..', '..', '..', 'examples')
const HelmRelease = kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease')
const key = { namespace: 'default', name: 'cluster-1' }

const FLUX_RELEASE = `apiVersion: v1
kind: ConfigMap
metadata:
  name: fluxcd-install
  namespace: default
data:
  fluxcd.yaml: |
    apiVersion: helm.toolkit.fluxcd.io/v2beta1
    kind: HelmRelease
    metadata:
      name: flux2
      namespace: flux-system
    spec:
      chart:
        spec:
          chart: flux2
          version: "2.1.0"
`
const LABELS = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: cluster-1
  labels:
    fluxcd.io/enabled: "true"
    karpenter.sh/enabled: "true"
`
const [fluxSet, fluxJob, karpenterSet, karpenterRelease, binding, job] = readFileSync(
  join(EXAMPLES, 'addons-older-proposals.yaml'),
  'utf8',
).split(/^---\n/m) as [string, string, string, string, string, string]
/** Both proposals in their order; each has its own ConfigMap for Flux. */
const BLOCKS = [fluxSet, fluxJob, karpenterSet, karpenterRelease, fluxSet, FLUX_RELEASE, binding, job, LABELS]
const today = (block: string) => block.replace('addons.cluster.x-k8s.io/v1alpha3', 'addons.cluster.x-k8s.io/v1beta2')

describe('add-on manifests of older proposals, one block at a time', { concurrency: false }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let objects: Objects
  let story: Story

  const give = async (block: string) => {
    writeFileSync(join(shipped.folder, 'block.yaml'), block)
    const title = /^kind: (\S+)[\s\S]*?^ {2}name: (\S+)/m.exec(block)
    story.note(`block.yaml: ${title?.[1]} ${title?.[2]}`)
    return await story.capt(['apply', '-f', 'block.yaml'])
  }
  const delivery = async () => await objects.get<AddonDelivery>(AddonDelivery, key)
  const foreign = async () => conditionOf((await delivery()) ?? ({} as AddonDelivery), 'ForeignSets')
  const kubectl = (...args: readonly string[]) => shipped.kubectl(home.kubeconfig, args)
  const listed = async (kinds: string) => (await kubectl('get', kinds, '-A', '-o', 'name')).out

  before(async () => {
    shipped = shippedProgram()
    story = storyOf(shipped, () => home.kubeconfig)
    home = await shipped.up('home', ['--engine', 'simulated'])
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    objects = connection.objects
  })
  after(async () => {
    await connection?.close()
    await shipped.end()
  })

  it('leave nothing behind in any order, and each is answered', async () => {
    const [last, ...others] = BLOCKS.toReversed()
    const refused = await give(last!)
    assert.equal(refused.code, 1)
    assert.match(refused.err, /There is no Cluster default\/cluster-1 to put labels on/)
    for (const block of others) {
      const { code, out, err } = await give(block)
      assert.deepEqual([code, out], [0, ''], err)
      assert.match(err, /^note: .* is left out: /)
    }
    const notes = (await give(karpenterRelease)).err
    assert.match(
      notes,
      /Karpenter 1\.0\.7 is not kept: the version is chosen for the Kubernetes version of each Cluster/,
    )
  })

  it('end with a healthy cluster, whose labels alone the last block changes', async () => {
    const example = readFileSync(join(EXAMPLES, 'simulation.yaml'), 'utf8').replace(/name: demo$/gm, 'name: cluster-1')
    const bare = example.replace(/^ {4}(fluxcd\.io\/enabled|installation\.appthrust\.com\S+): .*\n/gm, '')
    // The namespace and the identity of the proposals: one setting drives the role and the release.
    const made = await give(
      bare.replace(
        '  controlPlaneConfig:\n',
        '  controlPlaneConfig:\n    karpenter: { namespace: karpenter, identity: IRSA }\n',
      ),
    )
    assert.equal(made.code, 0, made.err)
    for (const block of BLOCKS) assert.equal((await give(block)).code, 0)
    await waitUntil('the add-ons are there', async () => {
      const live = await delivery()
      return live?.status?.stages?.filter(({ state }) => state === 'Healthy').length === 3 && isTrue(live, 'Ready')
    })
    assert.equal(await foreign(), undefined)
    const path = join(shipped.folder, 'workload.kubeconfig')
    writeFileSync(path, await shipped.captOk(['kubeconfig', 'cluster-1', '--token', '--kubeconfig', home.kubeconfig]))
    const workload = connect(await loadKubeconfig({ path }))
    const release = await workload.objects.get<UnknownObject>(HelmRelease, {
      namespace: 'karpenter',
      name: 'karpenter',
    })
    await workload.close()
    const text = JSON.stringify(release)
    assert.match(text, /"eks\.amazonaws\.com\/role-arn":"arn:aws:iam::\d+:role\/KarpenterControllerRole-cluster-1"/)
    assert.ok(!text.includes('${'), 'every variable is filled in')
  })

  it('are named on the delivery when kubectl stored them, with the next step', {
    skip: !kubectlPath && 'needs kubectl',
  }, async () => {
    for (const block of BLOCKS.map(today).filter((one) => one !== today(binding) && one !== job)) {
      writeFileSync(join(shipped.folder, 'block.yaml'), block)
      const { code, err } = await story.kubectl(['apply', '-f', 'block.yaml'])
      assert.equal(code, 0, err)
    }
    await waitUntil('both sets are named', async () =>
      /fluxcd-installer.*karpenter-installer/.test((await foreign())?.message ?? ''),
    )
    const { message = '' } = (await foreign()) ?? {}
    assert.match(
      message,
      /ClusterResourceSet fluxcd-installer acts on fluxcd\.io\/enabled, which asks capt for flux: it would install Flux a second time/,
    )
    assert.match(
      message,
      /nobody fills in \$\{CLUSTER_ENDPOINT\}, \$\{CLUSTER_NAME\}, .* of ConfigMap karpenter-resources; its strategy is ApplyOnce/,
    )
    const events = await kubectl('get', 'events', '-A', '-o', 'json')
    assert.match(events.out, /kubectl delete clusterresourceset fluxcd-installer -n default/)
    assert.ok(isTrue((await delivery())!, 'AddonsHealthy'), 'what capt brought works')
    story.note(`condition ForeignSets: ${message}`)
    await story.kubectl(['delete', 'clusterresourceset', 'fluxcd-installer', 'karpenter-installer'])
    await waitUntil('the condition is over', async () => (await foreign())?.status === 'False')
  })

  it('leave nothing when the cluster is deleted', { skip: !kubectlPath && 'needs kubectl' }, async () => {
    assert.equal((await story.capt(['delete', 'cluster', 'cluster-1', '--yes', '--wait', '2m'])).code, 0)
    await waitUntil('everything is gone', async () => {
      const left = await listed('clusterresourcesets,clusterresourcesetbindings,addondeliveries,jobs,configmaps')
      return left
        .split('\n')
        .every((line) => line === '' || /configmap\/(kube-root-ca|fluxcd-install$|karpenter-resources$)/.test(line))
    })
  })

  it('reads as golden/story-older-manifests.txt holds it', { skip: !kubectlPath && 'needs kubectl' }, () =>
    story.assertGolden('story-older-manifests'),
  )
})
