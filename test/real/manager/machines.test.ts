// Machines under core Cluster API: a MachineDeployment, made from the ClusterClass or as docs/machines.md has it, becomes
// instances and Nodes; core scales, drains, rolls, upgrades and deletes them. The first version runs real Terraform.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { CAPTMachine, CAPTMachineTemplate, kindRef, machineKind, NodeKind, PodKind } from '#api'
import { loadState } from '#engine'
import { TEMPLATES } from '../../../scripts/template-modules.ts'
import { workspaceTemplate } from '../../../scripts/templates.ts'
import { conditionOf, isTrue, openApi } from '../support/api.ts'
import { auditMark, requestsSince } from '../support/audit.ts'
import { VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { machinesOfPage } from '../support/managers/page-machines.ts'
import { toText } from '../support/manifests.ts'
import { playMachines } from '../support/play-machines.ts'
import { prove } from '../support/proofs.ts'
import { contractOf, eventually, startWorld, type World } from '../support/world.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** As the page calls it. */
const NAME = 'demo'
const OF_CLUSTER = `cluster.x-k8s.io/cluster-name=${NAME}`
const OF_TOPOLOGY = 'topology.cluster.x-k8s.io/deployment-name=classed'
const OF_PAGE = 'pool=batch'

/** The topology example with two machines. The simulated template has the name that class and page use. */
function topology(): Loose[] {
  const objects = parseAllDocuments(readFileSync(join(ROOT, 'examples/topology.yaml'), 'utf8')).map(
    (document) => document.toJS() as Loose,
  )
  const cluster = objects.find(({ kind }) => kind === 'Cluster')!
  cluster['metadata'] = { name: NAME, labels: {} }
  cluster['spec'].topology.workers = { machineDeployments: [{ class: 'machine', name: 'classed', replicas: 1 }] }
  cluster['spec'].topology.variables.push({ name: 'nodeLabels', value: { team: 'a' } })
  return [workspaceTemplate(TEMPLATES.simulatedMachine, { name: TEMPLATES.machine.folder }) as Loose, ...objects]
}

/** Allows nothing. */
const BUDGET = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'guest', namespace: 'default' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'guest' } } },
}

for (const version of VERSIONS.capi)
  describe(`machines with Cluster API ${version}`, () => {
    let world: World
    let workload: ReturnType<typeof openApi>
    let stopNodes: () => Promise<void>
    const contract = contractOf(version)
    const isReal = version === VERSIONS.capi[0]
    const Machine = machineKind(contract)
    const MachineDeployment = kindRef(`cluster.x-k8s.io/${contract}`, 'MachineDeployment')
    const until = (what: string, check: () => boolean | Promise<boolean>, seconds = 240) =>
      eventually(world, what, check, seconds)
    const machines = (labelSelector: string) => world.api.list(Machine, { labelSelector })
    const nodeOf = async (machine: Loose) => await workload.find(NodeKind, machine['status']?.nodeRef?.name ?? 'none')
    const infraOf = (machine: Loose) => world.api.get(CAPTMachine, machine['spec'].infrastructureRef.name)
    /** All of them run, and core has found their Nodes. */
    const runs = async (labelSelector: string, count: number, is: (machine: Loose) => boolean = () => true) => {
      const found = await machines(labelSelector)
      const isUp = ({ status }: Loose) => status?.phase === 'Running' && status.nodeRef?.name
      return found.length === count && found.every((machine) => isUp(machine) && is(machine))
    }

    before(async () => {
      world = await startWorld(version, {
        audit: true,
        ...(isReal ? {} : { manager: { args: ['--engine', 'simulated'] } }),
      })
      await world.play({ namespace: 'default', name: NAME })
      workload = openApi(world.workload)
      stopNodes = playMachines(world.management, world.workload)
    })
    after(async () => {
      await stopNodes?.()
      workload?.close()
      await world?.stop()
    })

    it('come from a ClusterClass, for the version of the topology', async () => {
      world.management.kubectl(['apply', '-f', '-'], toText(topology()))
      await until('core has found the Node', () => runs(OF_TOPOLOGY, 1))
      const [machine] = await machines(OF_TOPOLOGY)
      const infra = await infraOf(machine!)
      const node = await nodeOf(machine!)
      assert.equal(machine!['spec'].providerID, infra['spec'].providerID)
      assert.equal(node?.['spec'].providerID, infra['spec'].providerID)
      assert.equal(infra['spec'].nodeGroupRef.name, `${NAME}-eks-controlplane-apply`)
      assert.deepEqual([infra['status'].version, node?.['status'].nodeInfo.kubeletVersion], ['1.35', 'v1.35.0'])
      await until('its Node has the labels', async () => (await nodeOf(machine!))?.['metadata'].labels.team === 'a')
      prove('MachineDeployment', version, 'from a ClusterClass, for its version')
    })

    it('start with the bootstrap data of their core Machine', async () => {
      const [machine] = await machines(OF_TOPOLOGY)
      const { dataSecretName } = machine!['spec'].bootstrap
      const secret = await world.api.get(world.kinds.secret, dataSecretName)
      const userData = Buffer.from(secret['data'].value, 'base64').toString()
      assert.match(userData, new RegExp(`"kind": "NodeConfig"[\\s\\S]*"name": "${NAME}"`))
      const apply = await world.api.get(world.kinds.apply, `${(await infraOf(machine!))['metadata'].name}-machine`)
      assert.equal(apply['spec'].variables.user_data_secret, dataSecretName)
      if (!isReal) return
      const { name, namespace, uid } = apply['metadata']
      const owner = { name, namespace, uid, apiVersion: apply['apiVersion'], kind: apply['kind'] }
      const state = await loadState(world.api.client, owner)
      assert.ok(state?.includes(createHash('sha256').update(userData).digest('hex')), 'Terraform was given it')
      prove('MachineDeployment', version, 'bootstrap data in the state of Terraform')
    })

    it('come from a MachineDeployment as the page has it, and scale with kubectl', async () => {
      world.management.kubectl(['apply', '-f', '-'], toText(machinesOfPage('v1.35.0', contract)))
      world.management.kubectl(['scale', 'machinedeployment', 'batch', '--replicas', '1'])
      await until('one runs', () => runs(OF_PAGE, 1))
      world.management.kubectl(['scale', 'machinedeployment', 'batch', '--replicas', '2'])
      await until('two run', () => runs(OF_PAGE, 2))
      const ids = (await machines(OF_PAGE)).map(({ spec }) => spec.providerID)
      assert.equal(new Set(ids).size, 2)
      prove('MachineDeployment', version, 'scaled by kubectl', '1 to 2')
    })

    it('are drained by core before an update replaces them', async () => {
      const [first] = await machines(OF_PAGE)
      const { name: nodeName } = first!['status'].nodeRef
      world.workload.kubectl(['apply', '-f', '-'], JSON.stringify(podOn(nodeName)))
      const mark = auditMark(world.workload)
      const template = await world.api.get(CAPTMachineTemplate, 'batch')
      const spec = { ...template['spec'].template.spec, instanceType: 'm7i.xlarge' }
      const { apiVersion, kind } = CAPTMachineTemplate
      const metadata = { name: 'batch-2', namespace: 'default' }
      await world.api.create(CAPTMachineTemplate, { apiVersion, kind, metadata, spec: { template: { spec } } })
      const infrastructureRef = { name: metadata.name }
      await world.api.patch(MachineDeployment, 'batch', { spec: { template: { spec: { infrastructureRef } } } })
      const old = (await machines(OF_PAGE)).map(({ metadata }) => metadata.name)
      await until('both are new', () => runs(OF_PAGE, 2, ({ metadata }) => !old.includes(metadata.name)))
      for (const machine of await machines(OF_PAGE))
        assert.equal((await infraOf(machine))['spec'].instanceType, 'm7i.xlarge')
      assert.equal(await workload.find(PodKind, 'guest'), undefined)
      assert.equal(await workload.find(NodeKind, nodeName), undefined)
      const evictions = requestsSince(world.workload, mark).filter(
        ({ subresource, name }) => subresource === 'eviction' && name === 'guest',
      )
      assert.ok(evictions.length > 0 && evictions.every(({ agent }) => !agent.startsWith('capt')), 'core evicted it')
      prove('MachineDeployment', version, 'rolled, drained by core', '2 machines')
    })

    it('without a core Machine are drained by capt, within disruption budgets', async () => {
      const { spec } = (await world.api.get(CAPTMachineTemplate, 'batch'))['spec'].template
      const metadata = { name: 'alone', namespace: 'default', labels: { 'cluster.x-k8s.io/cluster-name': NAME } }
      await world.api.create(CAPTMachine, { apiVersion: CAPTMachine.apiVersion, kind: 'CAPTMachine', metadata, spec })
      await until('it is healthy', async () => isTrue(await world.api.get(CAPTMachine, 'alone'), 'NodeHealthy'))
      const { nodeRef } = (await world.api.get(CAPTMachine, 'alone'))['status']
      world.workload.kubectl(['apply', '-f', '-'], toText([BUDGET, podOn(nodeRef.name)]))
      // A budget protects what runs: the API server evicts a pod that is pending whatever its budget says.
      await until('the pod runs', async () => (await workload.get(PodKind, 'guest'))['status'].phase === 'Running')
      await world.api.remove(CAPTMachine, 'alone')
      const held = /1 pod left \(default\/guest\); a disruption budget holds default\/guest/
      await until('the budget holds the pod', async () =>
        held.test(conditionOf(await world.api.find(CAPTMachine, 'alone'), 'Deleting')?.['message']),
      )
      world.workload.kubectl(['delete', 'pdb', 'guest'])
      await until('it is gone', async () => !(await world.api.find(CAPTMachine, 'alone')))
      assert.equal(await workload.find(PodKind, 'guest'), undefined)
      assert.equal(await workload.find(NodeKind, nodeRef.name), undefined)
      prove('CAPTMachine', version, 'on its own, drained within a disruption budget')
    })

    it('are upgraded after the control plane, by the version of the topology', async () => {
      await world.api.patch(world.kinds.cluster, NAME, { spec: { topology: { version: 'v1.36.0' } } })
      const [plane] = await world.api.list(world.kinds.plane, { labelSelector: OF_CLUSTER })
      await until('the machine is new', async () => {
        const found = await machines(OF_TOPOLOGY)
        const isNew = found.some(({ spec }) => spec.version === 'v1.36.0')
        const { status } = await world.api.get(world.kinds.plane, plane!['metadata'].name)
        if (isNew) assert.equal(status.version, 'v1.36.0', 'never before the control plane')
        return isNew && (await runs(OF_TOPOLOGY, 1))
      })
      const [machine] = await machines(OF_TOPOLOGY)
      assert.equal((await nodeOf(machine!))?.['status'].nodeInfo.kubeletVersion, 'v1.36.0')
      prove('MachineDeployment', version, 'upgraded after its control plane', '1.35 to 1.36')
    })

    it('go with their MachineDeployment', async () => {
      await world.api.remove(MachineDeployment, 'batch')
      await until('its machines are gone', async () => (await machines(OF_PAGE)).length === 0)
      const left = await world.api.list(CAPTMachine, { labelSelector: OF_CLUSTER })
      assert.equal(left.length, 1, 'those of the topology stay')
    })

    it('go before the control plane, and leave nothing', async () => {
      await world.api.remove(world.kinds.cluster, NAME)
      await until('the cluster is gone', async () => {
        const infra = await world.api.list(CAPTMachine, { labelSelector: OF_CLUSTER })
        const [plane] = await world.api.list(world.kinds.plane, { labelSelector: OF_CLUSTER })
        if (infra.length > 0) assert.equal(plane?.['metadata'].deletionTimestamp, undefined)
        return !(await world.api.find(world.kinds.cluster, NAME))
      })
      assert.deepEqual(await world.api.list(world.kinds.apply, { labelSelector: OF_CLUSTER }), [])
      prove('MachineDeployment', version, 'deleted before its control plane')
    })
  })

/** A pod that a drain has to evict. */
function podOn(nodeName: string): object {
  const spec = { nodeName, containers: [{ name: 'guest', image: 'registry.k8s.io/pause:3.10' }] }
  const metadata = { name: 'guest', namespace: 'default', labels: { app: 'guest' } }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec }
}
