// The life of a cluster with core Cluster API in charge: provisioned, initialized, available, add-ons, upgrade, pause,
// deletion in order; kept and foreign networks. Terraform is real, its resources are terraform_data.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { conditionOf, isTrue } from '../support/api.ts'
import { auditMark, describeRequests, isWrite, type Request, requestsSince } from '../support/audit.ts'
import { capiBinary, VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { clusterManifests, EXAMPLE, toText } from '../support/manifests.ts'
import { prove } from '../support/proofs.ts'
import { type Recorder, record, describe as story } from '../support/recorder.ts'
import { contractOf, eventually, startWorld, type World } from '../support/world.ts'

const demo = { namespace: 'default', name: 'demo' }
const PARTS = ['demo', 'kept', 'used', 'foreign']
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

for (const version of VERSIONS.capi) {
  describe(`a cluster's life with Cluster API ${version}`, () => {
    const contract = contractOf(version)
    let world: World
    let recorder: Recorder
    const kinds = () => world.kinds
    const get = (kind: keyof World['kinds'], name = 'demo') => world.api.get(kinds()[kind], name)
    const find = (kind: keyof World['kinds'], name = 'demo') => world.api.find(kinds()[kind], name)
    const holds = async (kind: keyof World['kinds'], type: string, name = 'demo') => isTrue(await get(kind, name), type)
    const until = (what: string, check: () => boolean | Promise<boolean>, seconds?: number) =>
      eventually(world, what, check, seconds)
    const clusterctl = (...args: string[]) =>
      execFileSync(capiBinary(version, 'clusterctl'), args, {
        encoding: 'utf8',
        env: { ...process.env, KUBECONFIG: world.management.kubeconfig, CLUSTERCTL_DISABLE_VERSIONCHECK: 'true' },
      })

    before(async () => {
      world = await startWorld(version, { audit: true })
      const { cluster, infra, plane, apply, delivery } = world.kinds
      recorder = await record(world.management, [cluster, infra, plane, apply, delivery])
      await world.play(demo)
    })
    after(async () => {
      await recorder?.stop()
      await world?.stop()
    })

    it('goes from one manifest to an available cluster', async () => {
      world.management.kubectl(['apply', '-f', '-'], EXAMPLE)
      await until('CAPTCluster is ready', () => holds('infra', 'Ready'))
      await until('CAPTControlPlane is available', () => holds('plane', 'Available'))
      await until('core sees an available cluster', async () => isAvailable(await get('cluster')))
      // Core writes conditions, spec and status one after the other.
      await until('core reports the phase', async () => (await get('cluster'))['status'].phase === 'Provisioned')
      const { port } = new URL(world.workload.url)
      const { controlPlaneEndpoint } = (await get('cluster'))['spec']
      assert.deepEqual(controlPlaneEndpoint, { host: '127.0.0.1', port: Number(port) })
      prove('Cluster API', version, 'manifest to provisioned, initialized and available', `contract ${contract}`)
    })

    it('keeps both versions of the contract on its own kinds', async () => {
      const infra = await get('infra')
      assert.partialDeepStrictEqual(infra['status'], { ready: true, initialization: { provisioned: true } })
      const plane = await get('plane')
      assert.partialDeepStrictEqual(plane['status'], {
        ready: true,
        initialized: true,
        initialization: { controlPlaneInitialized: true },
        externalManagedControlPlane: true,
        version: 'v1.35.0',
        versions: [{ version: 'v1.35.0' }],
      })
      assert.equal(plane['spec'].controlPlaneEndpoint.host, '127.0.0.1')
      const kubeconfig = await get('secret', 'demo-kubeconfig')
      assert.equal(kubeconfig['type'], 'cluster.x-k8s.io/secret')
      assert.equal(kubeconfig['metadata'].labels['cluster.x-k8s.io/cluster-name'], 'demo')
      assert.deepEqual(Object.keys(kubeconfig['data']), ['value'])
      const [owner] = kubeconfig['metadata'].ownerReferences
      assert.deepEqual([owner.kind, owner.controller], ['CAPTControlPlane', true])
    })

    it('brings Flux, then Karpenter, through the real ClusterResourceSet controller', async () => {
      await until('the delivery is ready', () => holds('delivery', 'Ready'), 480)
      const { stages } = (await get('delivery'))['status']
      for (const stage of stages) assert.equal(stage.delivered.equal, true, `${stage.name}: binding hash equals ours`)
    })

    it('is readable in clusterctl describe', async () => {
      const look = () => clusterctl('describe', 'cluster', 'demo', '--show-resourcesets', '--grouping=false')
      // Core writes the condition of a set after its binding, which is what the delivery goes by.
      await until('core has written the last condition', () => !/False|Unknown/.test(look())).catch(() => undefined)
      const text = look()
      for (const row of [/Cluster.*demo .*True/, /CAPTCluster.*demo .*True/, /CAPTControlPlane.*demo.*True/])
        assert.match(text, row)
      for (const set of ['fluxcd-installer-demo', 'karpenter-installer-demo']) assert.ok(text.includes(set), text)
      assert.doesNotMatch(text, /False|Unknown/)
      const conditions = clusterctl('describe', 'cluster', 'demo', '--show-conditions=CAPTControlPlane')
      assert.match(conditions, /AddonsHealthy/)
      prove('clusterctl', version, 'describe shows the cluster, its network and its control plane')
    })

    it('has not let a condition flap on the way', () => {
      assert.deepEqual(recorder.flaps(), [], story(recorder.changes))
    })

    it('is left alone once it has settled: nobody writes anything for a minute', async () => {
      await until('the control plane is ready', () => holds('plane', 'Ready'))
      const writesIn = async (seconds: number) => {
        const [here, there] = [auditMark(world.management), auditMark(world.workload)]
        await pause(seconds)
        const requests = [...requestsSince(world.management, here), ...requestsSince(world.workload, there)]
        return requests.filter(isWrite).filter(({ user }) => user !== 'system:apiserver')
      }
      // Core's own last write to a binding may come late; a fight would never give us this pause.
      await until('twenty seconds pass without a write', async () => (await writesIn(20)).length === 0, 300)
      assert.deepEqual(describeRequests(await writesIn(60)), '')
      prove('settled cluster', version, 'writes of capt, core and actors in 60 s', '0')
    })

    it('upgrades one minor version', async () => {
      const from = recorder.changes.length
      await world.api.patch(kinds().plane, 'demo', { spec: { version: 'v1.36.0' } })
      await until('the control plane runs 1.36', async () => (await get('plane'))['status'].version === 'v1.36.0')
      await until('everything is ready again', () => holds('plane', 'Ready'))
      await until('add-ons follow', () => holds('delivery', 'Ready'), 480)
      assert.ok(await holds('plane', 'Available'))
      const lost = recorder.changes
        .slice(from)
        .filter(({ fact }) => /^(Available|ControlPlaneAvailable)=False/.test(fact))
      assert.deepEqual(lost, [], 'the API server was there all the time')
      prove('upgrade', version, 'one minor version, available all the time', 'v1.35.0 to v1.36.0')
    })

    it('does nothing while paused and goes on afterwards', async () => {
      await world.api.patch(kinds().cluster, 'demo', { spec: { paused: true } })
      for (const kind of ['infra', 'plane'] as const) await until(`${kind} is paused`, () => holds(kind, 'Paused'))
      await world.api.patch(kinds().plane, 'demo', { spec: { additionalTags: { paused: 'yes' } } })
      const mark = auditMark(world.management)
      await pause(3)
      const wanted = async () => JSON.stringify((await get('apply', 'demo-eks-controlplane-apply'))['spec'])
      assert.ok(!(await wanted()).includes('"paused"'), 'nothing reaches Terraform while paused')
      const writes = requestsSince(world.management, mark).filter((one) => one.user === 'capt' && isWrite(one))
      const isTold = ({ resource, subresource }: Request) => subresource === 'status' || resource === 'events'
      assert.deepEqual(describeRequests(writes.filter((one) => !isTold(one))), '')
      await world.api.patch(kinds().cluster, 'demo', { spec: { paused: false } })
      await until('the tag reaches Terraform', async () => (await wanted()).includes('"paused":"yes"'))
      await until('the run has ended', async () => {
        const apply = await get('apply', 'demo-eks-controlplane-apply')
        return isTrue(apply, 'Ready') && apply['status'].appliedHash === apply['status'].observedHash
      })
      // Ready stayed True all the while; that it is no longer paused comes with the next word about it.
      await until(
        'it says that it is no longer paused',
        async () => conditionOf(await get('plane'), 'Paused')?.['status'] === 'False',
      )
      await until('everything is ready again', () => holds('plane', 'Ready'))
      prove('pause', version, 'no run and no write but the condition')
    })

    it('uses a network that exists, keeps one that is to stay, and leaves one alone that others manage', async () => {
      const plain = { 'capt.appthrust.com/addon-pipeline': 'none' }
      for (const name of ['kept', 'used'])
        world.management.kubectl(['apply', '-f', '-'], JSON.stringify(secretFor(world, name)))
      const vpcTemplateRef = null
      const vpcConfig = null
      world.management.kubectl(
        ['apply', '-f', '-'],
        toText([
          ...clusterManifests({ name: 'kept', labels: plain, infra: { retainVpcOnDelete: true } }),
          ...clusterManifests({
            name: 'used',
            labels: plain,
            infra: { existingVpcId: 'vpc-0123', vpcTemplateRef, vpcConfig, existingSubnets: { private: ['subnet-1'] } },
          }),
          ...clusterManifests({
            name: 'foreign',
            labels: plain,
            infra: { existingVpcId: 'vpc-0456', vpcTemplateRef, vpcConfig },
            infraAnnotations: { 'cluster.x-k8s.io/managed-by': 'somebody' },
          }).filter(({ kind }) => kind !== 'CAPTControlPlane'),
        ]),
      )
      for (const name of ['kept', 'used']) await until(`${name} is available`, () => holds('plane', 'Available', name))
      assert.equal((await get('infra', 'used'))['status'].vpcId, 'vpc-0123')
      assert.equal(await find('apply', 'used-vpc'), undefined, 'no run for a network that exists')

      await until('core owns the foreign network', async () =>
        Boolean((await get('infra', 'foreign'))['metadata'].ownerReferences),
      )
      await world.api.patchStatus(kinds().infra, 'foreign', { ready: true, initialization: { provisioned: true } })
      await until('core believes its manager', async () => {
        const { status } = await get('cluster', 'foreign')
        return status.infrastructureReady === true || status.initialization?.infrastructureProvisioned === true
      })
      const touched = requestsSince(world.management).filter(
        (one) => one.user === 'capt' && one.name === 'foreign' && isWrite(one),
      )
      assert.deepEqual(describeRequests(touched), '')
      prove('networks', version, 'existing used, externally managed untouched')
    })

    it('is deleted in order and leaves nothing behind', async () => {
      for (const name of PARTS) await world.api.remove(kinds().cluster, name)
      for (const name of PARTS) await until(`Cluster ${name} is gone`, async () => !(await find('cluster', name)), 600)
      // Each kind has a watch of its own, and none of them is bound to be as quick as our question.
      const last = ['Cluster demo', 'CAPTCluster demo', 'CAPTControlPlane demo', 'WorkspaceTemplateApply demo-vpc']
      await until('the watches have reported it', () => last.every((what) => recorder.has(what, 'gone')))
      const order = [
        recorder.when('Cluster demo', 'deleting'),
        recorder.when('AddonDelivery demo', 'TornDown=True Removed'),
        recorder.when('WorkspaceTemplateApply demo-eks-controlplane-apply', 'deleting'),
        recorder.when('WorkspaceTemplateApply demo-eks-controlplane-apply', 'gone'),
        recorder.when('CAPTControlPlane demo', 'gone'),
        recorder.when('WorkspaceTemplateApply demo-vpc', 'deleting'),
        recorder.when('WorkspaceTemplateApply demo-vpc', 'gone'),
        recorder.when('CAPTCluster demo', 'gone'),
        recorder.when('Cluster demo', 'gone'),
      ]
      assert.deepEqual(
        order,
        order.toSorted((one, other) => one - other),
        story(recorder.changes),
      )
      prove('deletion', version, 'add-ons, control plane, network, in this order')
    })

    it('keeps what was to be kept from the garbage collector, and nothing else', async () => {
      const leftovers = async () => {
        const left: string[] = []
        for (const kind of ['infra', 'plane', 'delivery', 'set', 'binding', 'secret', 'config'] as const)
          for (const { metadata } of await world.api.list(kinds()[kind], { namespace: 'default' }))
            if (!/simulated-workload$|^kube-root-ca.crt$|kept-vpc/.test(metadata.name))
              left.push(`${kind} ${metadata.name}`)
        return left
      }
      // The collector works in the background and does not report its end; then it gets time to take too much.
      await until('the rest is collected', async () => (await leftovers()).length === 0).catch(() => undefined)
      assert.deepEqual(await leftovers(), [])
      await pause(5)
      const applies = await world.api.list(kinds().apply)
      assert.deepEqual(
        applies.map(({ metadata }) => metadata.name),
        ['kept-vpc'],
      )
      const [kept] = applies as [Loose]
      assert.equal(kept['metadata'].ownerReferences, undefined)
      assert.equal(kept['metadata'].labels['capt.appthrust.com/retained'], 'true')
      assert.ok(isTrue(kept, 'Ready'))
      const ofKept = (await world.api.list(kinds().secret, { namespace: 'default' })).filter(({ metadata }) =>
        metadata.name.includes('kept-vpc'),
      )
      assert.ok(ofKept.length > 0, 'the state of the kept network')
      await world.api.remove(kinds().apply, 'kept-vpc')
      await until('the kept apply lets go', async () => !(await find('apply', 'kept-vpc')))
      const state = (await world.api.list(kinds().secret, { namespace: 'default' })).filter(({ metadata }) =>
        metadata.name.startsWith('tfstate-'),
      )
      assert.equal(state.length, 1, 'the state stays, so that the network can be adopted')
      prove('retention', version, 'real garbage collector; state stays')
    })
  })
}

function isAvailable(cluster: Loose): boolean {
  const { conditions = [], v1beta2 } = cluster['status'] ?? {}
  const says = (list: Loose[], type: string) => list.some((item) => item['type'] === type && item['status'] === 'True')
  return v1beta2 ? says(v1beta2.conditions, 'Available') && says(conditions, 'Ready') : says(conditions, 'Available')
}

function secretFor({ workload }: World, name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name: `${name}-simulated-workload` },
    stringData: { endpoint: workload.url, ca: workload.caPem, token: workload.tokenOf('capt') },
  }
}
