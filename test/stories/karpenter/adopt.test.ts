// An EKS cluster that capt did not make, adopted through the shipped program and kubectl: kubeconfig and add-ons work, a deletion detaches
// it, and the account is as it was. AWS is moto with the stand-in; the workload behind the Kubernetes API is simulated.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { parseAllDocuments } from 'yaml'
import {
  AddonDelivery,
  type AnyObject,
  CAPTControlPlane,
  CAPTMachine,
  CAPTMachinePool,
  clusterKind,
  conditionOf,
  DeploymentKind,
  isTrue,
  type KindRef,
  kindRef,
  NamespaceKind,
  PodKind,
  type Secret,
  SecretKind,
  ServiceKind,
  type UnknownObject,
  WorkspaceTemplateApply,
} from '#api'
import { connect, loadKubeconfig } from '#kube'
import { renderSimulatedChart } from '../../../src/simulation/flux/charts.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../../shipped/support.ts'
import { CLUSTER, type ExistingCluster, REGION, startExistingCluster } from '../../support/aws/existing-cluster.ts'
import { findMoto } from '../../support/aws/moto.ts'
import { type Story, storyOf } from '../../support/golden/story.ts'

const HelmReleaseKind: KindRef = {
  group: 'helm.toolkit.fluxcd.io',
  version: 'v2',
  kind: 'HelmRelease',
  plural: 'helmreleases',
  namespaced: true,
}
const ServiceAccountKind = kindRef('v1', 'ServiceAccount')
const ROOT = join(import.meta.dirname, '../../..')
const program = findMoto()
const skip = (program === undefined && 'not installed: moto') || (!kubectlPath && 'not installed: kubectl')

/** What moto makes up, names of machines, and an age before the last column. */
const steady = (text: string) =>
  text
    .replace(/\b(vpc|subnet|sg)-[0-9a-f]{8,}/g, '$1-ID')
    .replace(/\/id\/[0-9A-Za-z]+/g, '/id/ISSUER')
    .replace(/demo-machines-[a-z0-9]+-[a-z0-9]{5}\b/g, 'demo-machines-ID')
    .replace(/AGE +MESSAGE/g, 'AGE MESSAGE')
    .replace(/(127\.0\.0\.1 +)\d+\w* *$/gm, '$1AGE')

describe('capt adopt', { skip, timeout: 600_000 }, () => {
  let shipped: Shipped
  let site: ExistingCluster
  let home: UpHome
  let story: Story
  let connection: ReturnType<typeof connect>
  let untouched: Readonly<Record<string, unknown>>

  before(async () => {
    shipped = shippedProgram()
    story = storyOf(shipped, () => home.kubeconfig, steady)
    site = await startExistingCluster(program!, shipped.folder)
    untouched = await site.account()
    const service = { selector: { app: 'source-controller' }, ports: [{ port: 80 }] }
    const metadata = { name: 'source-controller', namespace: 'flux-system' }
    await site.objects.create(ServiceKind, { apiVersion: 'v1', kind: 'Service', metadata, spec: service } as never)
    home = await shipped.up('home', ['--engine', 'simulated'], { env: site.env })
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
    await site?.close()
  })

  const key = { namespace: 'default', name: CLUSTER }
  const adopt = (...more: readonly string[]) =>
    story.capt(['adopt', ...more], { env: { ...shipped.env, ...site.env }, timeoutMs: 180_000 })
  const plane = () => connection.objects.get<CAPTControlPlane>(CAPTControlPlane, key)

  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { cwd: ROOT, timeoutMs: 180_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }

  const detached = () =>
    waitUntil('the end of the Cluster', async () => {
      const left = await connection.objects.get(clusterKind('v1beta2'), key)
      return left === undefined && (await plane()) === undefined
    })

  it('prints the manifest and changes nothing without --yes', async () => {
    const { code, out, err } = await adopt(CLUSTER)
    assert.equal(code, 0, err)
    assert.match(err, /EKS cluster demo, Kubernetes 1\.35, in vpc-/)
    assert.match(err, /Flux \S+ runs and is left as it is/)
    const kinds = parseAllDocuments(out).map((document) => (document.toJS() as { kind: string }).kind)
    assert.deepEqual(kinds, ['CAPTCluster', 'CAPTControlPlane', 'Cluster'])
    assert.equal(await plane(), undefined)
    assert.match((await adopt('absent')).err, /CAPT_KARPENTER_CLUSTER/)
    assert.match((await adopt(CLUSTER, '--karpenter')).err, /CAPT_ADOPT_KARPENTER/)
  })

  it('makes the cluster usable: version, endpoint, kubeconfig and add-ons, without a Terraform run', async () => {
    const { code, out, err } = await adopt(CLUSTER, '--flux', '--yes', '--wait', '2m')
    assert.equal(code, 0, out + err)
    const found = (await plane())!
    assert.equal(found.status?.phase, 'Ready')
    assert.equal(found.status?.version, 'v1.35.0')
    assert.equal(conditionOf(found, 'Adopted')?.status, 'True')
    assert.match(await kubectl('get', 'captcontrolplane', CLUSTER), /^demo +True +Ready +v1\.35\.0 +127\.0\.0\.1 /m)
    const secret = await connection.objects.get<Secret>(SecretKind, { ...key, name: `${CLUSTER}-kubeconfig` })
    assert.match(Buffer.from(secret!.data!['value']!, 'base64').toString(), /token: k8s-aws-v1\./)
    const nodes = await shipped.capt(['kubeconfig', CLUSTER, '--kubeconfig', home.kubeconfig])
    assert.equal(nodes.code, 0, nodes.err)
    const delivery = await connection.objects.get<AddonDelivery>(AddonDelivery, key)
    assert.match(delivery?.status?.stages?.find(({ name }) => name === 'flux')?.adopted ?? '', /^2\./)
    for await (const apply of connection.objects.list(WorkspaceTemplateApply, {})) assert.fail(apply.metadata.name)
  })

  it('has node groups and machines that capt makes for it, by runs that wait for no other', async () => {
    await kubectl('apply', '-f', 'examples/node-pool.yaml', '-f', 'examples/machines.yaml')
    const provisioned = '--for=jsonpath={.status.initialization.provisioned}=true'
    await kubectl('wait', provisioned, 'captmachinepool/demo-workers', '--timeout=120s')
    await kubectl(
      'wait',
      '--for=jsonpath={.status.replicas}=2',
      'captmachinedeployment/demo-machines',
      '--timeout=120s',
    )
    await kubectl('wait', '--for=condition=InstanceReady', 'captmachines', '--all', '--timeout=120s')
    const all = async <T extends AnyObject>(kind: KindRef): Promise<readonly T[]> => {
      const found: T[] = []
      for await (const one of connection.objects.list<T>(kind, { namespace: 'default' })) found.push(one)
      return found
    }
    const machines = await all<CAPTMachine>(CAPTMachine)
    assert.deepEqual(
      machines.map((machine) => conditionOf(machine, 'InstanceReady')?.status),
      ['True', 'True'],
    )
    const pools = await all<CAPTMachinePool>(CAPTMachinePool)
    assert.deepEqual(
      pools.map(({ status }) => status?.initialization?.provisioned),
      [true],
    )
    const runs = await all<WorkspaceTemplateApply>(WorkspaceTemplateApply)
    for (const { metadata, spec } of runs) {
      assert.partialDeepStrictEqual(spec.variables, { cluster_name: CLUSTER, region: REGION }, metadata.name)
      assert.deepEqual(spec.waitForWorkspaces ?? [], [], metadata.name)
    }
    assert.equal(runs.length, pools.length + machines.length)
  })

  it('takes over a Karpenter that Helm installed, with its namespace, version and values', async () => {
    const namespace = 'karpenter'
    await site.objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const values = { replicas: 1, settings: { clusterName: CLUSTER } }
    const chart = { chart: 'karpenter', namespace, release: 'karpenter', version: '1.13.0', values }
    for (const object of renderSimulatedChart(chart))
      await site.objects.create(object.kind === 'Deployment' ? DeploymentKind : ServiceAccountKind, object)
    assert.match((await adopt(CLUSTER, '--karpenter')).err, /no Helm release with the name karpenter/)
    const release = { name: 'karpenter', chart: { metadata: { version: '1.13.0' } }, config: values }
    const packed = gzipSync(JSON.stringify(release)).toString('base64')
    await site.objects.create(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'helm.sh/release.v1',
      metadata: {
        name: 'sh.helm.release.v1.karpenter.v1',
        namespace,
        labels: { owner: 'helm', name: 'karpenter', status: 'deployed', version: '1' },
      },
      data: { release: Buffer.from(packed).toString('base64') },
    } as never)
    const { code, out, err } = await adopt(CLUSTER, '--karpenter')
    assert.equal(code, 0, err)
    const documents = parseAllDocuments(out).map((document) => document.toJS() as Record<string, never>)
    const pipeline = documents.find(({ kind }) => kind === 'AddonPipeline') as unknown as {
      spec: { stages: { karpenter?: object }[] }
    }
    assert.partialDeepStrictEqual(pipeline.spec.stages.find(({ karpenter }) => karpenter)?.karpenter, {
      namespace,
      version: '1.13.0',
      values,
    })
    assert.match((await adopt(CLUSTER, '--karpenter', '--yes')).err, /Cluster demo is there already/)
  })

  it('is detached by a deletion: the EKS cluster, its account and its Flux are as they were', async () => {
    const shop = { namespace: 'default', name: 'shop' }
    const balancer = { type: 'LoadBalancer', selector: { app: 'shop' }, ports: [{ port: 80 }] }
    await site.objects.create(ServiceKind, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: shop,
      spec: balancer,
    } as never)
    const args = ['delete', 'cluster', CLUSTER, '--yes', '--wait', '2m']
    const gone = await story.capt(args, { timeoutMs: 180_000 })
    assert.equal(gone.code, 0, gone.out + gone.err)
    await detached()
    assert.match(gone.out + gone.err, /control plane: detached/)
    assert.match(gone.out + gone.err, /EKS cluster demo and its workloads, which capt did not make/)
    assert.deepEqual(await site.account(), untouched)
    for (const kind of [CAPTMachine, CAPTMachinePool, WorkspaceTemplateApply])
      for await (const { metadata } of connection.objects.list(kind, {})) assert.fail(`${kind.kind} ${metadata.name}`)
    const service = await site.objects.get(ServiceKind, shop)
    assert.ok(service && !service.metadata.deletionTimestamp, 'load balancers of a cluster that lives stay')
    const answer = await site.moto.rest('eks', 'eu-west-1', 'GET', `/clusters/${CLUSTER}`)
    assert.equal(((await answer.json()) as { cluster: { status: string } }).cluster.status, 'ACTIVE')
    const flux = { namespace: 'flux-system', name: 'helm-controller' }
    assert.ok(await site.objects.get(DeploymentKind, flux), 'a Flux that capt did not deliver stays')
    assert.ok(await site.objects.get(DeploymentKind, { namespace: 'karpenter', name: 'karpenter' }))
  })

  it('takes Karpenter over without a restart, and keeps it when the cluster is detached', async () => {
    const release = { namespace: 'karpenter', name: 'karpenter' }
    const pods = async () => {
      const found: (string | undefined)[] = []
      for await (const { metadata } of site.objects.list(PodKind, { namespace: release.namespace }))
        found.push(metadata.uid)
      return found
    }
    await waitUntil('the pod of Karpenter', async () => (await pods()).length === 1)
    const [running, deployment] = [await pods(), await site.objects.get<UnknownObject>(DeploymentKind, release)]
    const { code, out, err } = await adopt(CLUSTER, '--karpenter', '--yes')
    assert.equal(code, 0, out + err)
    const read = () => site.objects.get<AnyObject & { readonly spec: object }>(HelmReleaseKind, release)
    const isReady = async () => {
      const live = await read()
      return live !== undefined && isTrue(live, 'Ready')
    }
    await waitUntil('the HelmRelease of Karpenter is ready', isReady, 120_000)
    assert.partialDeepStrictEqual((await read())?.spec, {
      releaseName: 'karpenter',
      values: { replicas: 1, settings: { clusterName: CLUSTER } },
    })
    const after = await site.objects.get<UnknownObject>(DeploymentKind, release)
    assert.deepEqual(after?.['spec'], deployment?.['spec'])
    assert.deepEqual(await pods(), running, 'the same pod')
    await kubectl('delete', 'cluster', CLUSTER, '--timeout=120s')
    await detached()
    assert.equal(await kubectl('get', 'clusters,captclusters,captcontrolplanes'), '')
    const kept = await read()
    assert.ok(kept && !kept.metadata.deletionTimestamp)
    assert.ok(await site.objects.get(DeploymentKind, release))
    assert.deepEqual(await site.account(), untouched)
  })

  it('reads as golden/story-adopt.txt holds it', () => story.assertGolden('story-adopt'))
})
