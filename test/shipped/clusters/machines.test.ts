// The life of a CAPTMachineDeployment as a user has it: the shipped program, kubectl, real Terraform on the simulation
// templates. A ledger that the template itself writes proves that every instance was destroyed exactly once.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse, parseAllDocuments, stringify } from 'yaml'
import type { CAPTMachine, CAPTMachineDeployment, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { conditionOf } from '#api'
import { findTool } from '../../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const terraform = findTool('terraform')
const GROUP = 'infrastructure.cluster.x-k8s.io/v1beta1'

/** The shipped template with one more resource, which writes down what becomes of each instance. */
function machineTemplate(ledger: string): object {
  const text = readFileSync(join(ROOT, 'templates/simulation-machine.yaml'), 'utf8')
  const template = parse(text) as WorkspaceTemplate
  const { forProvider } = template.spec.template.spec
  const module = `${forProvider.module}
resource "terraform_data" "ledger" {
  input = { id = local.id }
  provisioner "local-exec" {
    command = "echo made \${self.input.id} >> ${ledger}"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo destroyed \${self.input.id} >> ${ledger}"
  }
}
`
  const spec = { ...template.spec.template.spec, forProvider: { ...forProvider, module } }
  return { ...template, spec: { template: { ...template.spec.template, spec } } }
}

/** The example without add-ons: machines need none. */
function cluster(): readonly object[] {
  const text = readFileSync(join(ROOT, 'examples/simulation.yaml'), 'utf8')
  return parseAllDocuments(text).map((document) => {
    const object = document.toJS() as { kind: string; metadata: { labels?: object } }
    const labels = { 'capt.appthrust.com/simulation': 'workload' }
    return object.kind === 'Cluster' ? { ...object, metadata: { ...object.metadata, labels } } : object
  })
}

const deployment = {
  apiVersion: GROUP,
  kind: 'CAPTMachineDeployment',
  metadata: { name: 'workers', labels: { 'cluster.x-k8s.io/cluster-name': 'demo' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { pool: 'workers' } },
    template: {
      metadata: { labels: { pool: 'workers' } },
      spec: {
        workspaceTemplateRef: { name: 'simulation-machine' },
        instanceType: 'm7i.large',
        subnetIds: ['subnet-a', 'subnet-b'],
        securityGroupIds: ['sg-a'],
        imageId: 'ami-a',
        labels: { tier: 'web' },
        drainTimeoutSeconds: 6,
      },
    },
  },
}

/** Pods on the Nodes, and a budget that lets none of them go. */
function guests(nodes: readonly string[]): readonly object[] {
  const labels = { app: 'guest' }
  const spec = { maxUnavailable: 0, selector: { matchLabels: labels } }
  const pods = nodes.map((nodeName, at) => ({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: `guest-${at}`, labels },
    spec: { nodeName, containers: [{ name: 'guest', image: 'guest' }] },
  }))
  const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'guest', labels }, spec }
  return [budget, ...pods]
}

describe('machines', { skip: !terraform || !kubectlPath ? 'terraform or kubectl is missing' : false }, () => {
  let shipped: Shipped
  let home: UpHome
  let workload: string
  let ledger: string
  before(async () => {
    shipped = shippedProgram()
    ledger = join(shipped.folder, 'ledger')
    workload = join(shipped.folder, 'workload')
    home = await shipped.up()
    await make(...cluster(), machineTemplate(ledger), deployment)
  })
  after(() => shipped.end())

  const kubectlAt = async (kubeconfig: string, ...args: string[]) => {
    const { code, out, err } = await shipped.kubectl(kubeconfig, args)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}`)
    return out
  }
  const kubectl = (...args: string[]) => kubectlAt(home.kubeconfig, ...args)
  const capt = (...args: string[]) => shipped.capt([...args, '--kubeconfig', home.kubeconfig])
  const captOk = (...args: string[]) => shipped.captOk([...args, '--kubeconfig', home.kubeconfig])
  const make = async (...objects: readonly object[]) => kubectl('apply', '-f', manifest(objects))
  const manifest = (objects: readonly object[]): string => {
    const file = join(shipped.folder, 'manifest.yaml')
    writeFileSync(file, objects.map((object) => stringify(object)).join('---\n'))
    return file
  }
  const read = async () =>
    JSON.parse(await kubectl('get', 'captmachinedeployment', 'workers', '-o', 'json')) as CAPTMachineDeployment
  const machines = async () =>
    (JSON.parse(await kubectl('get', 'captmachines', '-o', 'json')) as { items: readonly CAPTMachine[] }).items
  const nodes = async () => {
    const { out } = await shipped.kubectl(workload, ['get', 'nodes', '-l', 'tier=web', '-o', 'name'])
    return out.trim().split('\n').filter(Boolean)
  }
  /** The last run of each workspace. */
  const runs = async () => {
    const { items } = JSON.parse(await kubectl('get', 'wtapply', '-o', 'json')) as { items: WorkspaceTemplateApply[] }
    return items.map(({ metadata, status }) => `${metadata.name} ${status?.run?.id}`)
  }
  const entries = () => (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [])

  it('become Nodes of the cluster, with the labels of the machine', async () => {
    assert.match(await captOk('rollout', 'status', 'workers'), /workers is rolled out: 1 of 1 machines are updated/)
    writeFileSync(workload, await captOk('kubeconfig', 'demo'))
    const [machine] = await machines()
    assert.match(machine?.spec.providerID ?? '', /^aws:\/\/\/eu-west-1[abc]\/i-[0-9a-f]{17}$/)
    assert.equal(machine?.status?.initialization?.provisioned, true)
    assert.deepEqual(await nodes(), [`node/${machine?.status?.nodeRef?.name}`])
    assert.match(await kubectl('get', 'captmachines'), /CLUSTER\s+INSTANCE-ID\s+TYPE\s+READY\s+NODE\s+AGE/)
    assert.match(
      await kubectl('get', 'captmachinedeployments'),
      /NAME\s+READY\s+DESIRED\s+CURRENT\s+UPDATED\s+AVAILABLE\s+AGE\nworkers\s+True\s+1\s+1\s+1\s+1\s/,
    )
    const scale = await kubectl('get', 'captmachinedeployment', 'workers', '--subresource=scale', '-o', 'json')
    assert.partialDeepStrictEqual(JSON.parse(scale), {
      kind: 'Scale',
      status: { replicas: 1, selector: 'pool=workers' },
    })
    assert.match(
      await kubectl('explain', 'captmachinedeployment.spec.strategy.rollingUpdate'),
      /How fast RollingUpdate goes[\s\S]*maxSurge\s+<[\s\S]*How many machines may be added during an update/,
    )
  })

  it('report what cannot work, with the next step, and go on when it is corrected', async () => {
    const twin = { ...deployment, metadata: { ...deployment.metadata, name: 'twin' } }
    const { spec } = deployment.spec.template
    const lost = {
      ...{ apiVersion: GROUP, kind: 'CAPTMachine' },
      metadata: { name: 'lost', labels: deployment.metadata.labels },
      spec: {
        workspaceTemplateRef: spec.workspaceTemplateRef,
        instanceType: spec.instanceType,
        nodeGroupRef: { name: 'nowhere' },
      },
    }
    await make(twin, lost)
    const reason = (what: string) =>
      kubectl('get', what, '-o', 'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}')
    const message = (what: string) =>
      kubectl('get', what, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].message}')
    for (const [what, expected, hint] of [
      ['captmachinedeployment/twin', 'SelectorOverlap', /selects the same machines.*a label of its own/],
      ['captmachinedeployment/workers', 'SelectorOverlap', /twin of Cluster demo selects the same machines/],
      ['captmachine/lost', 'NodeGroupMissing', /nowhere does not exist.*spec\.nodeGroupRef/],
    ] as const) {
      await waitUntil(`${what} reports ${expected}`, async () => (await reason(what)) === expected)
      assert.match(await message(what), hint)
    }
    await kubectl('delete', 'captmachinedeployment/twin', 'captmachine/lost', '--timeout=60s')
    await captOk('rollout', 'status', 'workers')
    assert.equal((await machines()).length, 1)
    for (const [what, wrong, expected] of [
      [
        'an empty selector',
        { selector: {} },
        /spec\.selector: .*an empty selector would select every.*: set matchLabels/,
      ],
      [
        'another selector',
        { selector: { matchLabels: { pool: 'x' } } },
        /must match template.*give both the same labels/,
      ],
      ['negative replicas', { replicas: -1 }, /spec\.replicas: .*-1.* greater than or equal to 0/],
      [
        'no way to replace',
        { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
        /spec\.strategy\.rollingUpdate: .*cannot both be 0: .*; set one of them to 1 or more/,
      ],
      [
        'a type of no known form',
        { template: { ...deployment.spec.template, spec: { ...spec, instanceType: 'big' } } },
        /spec\.template\.spec\.instanceType: .*big/,
      ],
    ] as const) {
      const file = join(shipped.folder, 'refused.yaml')
      const metadata = { ...deployment.metadata, name: 'refused' }
      writeFileSync(file, stringify({ ...deployment, metadata, spec: { ...deployment.spec, ...wrong } }))
      const { code, err } = await shipped.kubectl(home.kubeconfig, ['apply', '-f', file])
      assert.equal(code, 1, what)
      assert.match(err, expected)
    }
  })

  it('scale up with kubectl, and labels change in place', async () => {
    const before = await runs()
    await kubectl('scale', 'captmachinedeployment', 'workers', '--replicas', '2')
    await captOk('rollout', 'status', 'workers')
    assert.equal((await nodes()).length, 2)
    const scaled = await runs()
    assert.equal(scaled.filter((run) => !before.includes(run)).length, 1, 'one run, for the new machine')
    assert.equal(scaled.length, before.length + 1)
    const body = { spec: { template: { spec: { labels: { tier: 'web', team: 'a' } } } } }
    await kubectl('patch', 'captmachinedeployment', 'workers', '--type', 'merge', '-p', JSON.stringify(body))
    const labelled = async () =>
      (await shipped.kubectl(workload, ['get', 'nodes', '-l', 'team=a', '-o', 'name'])).out.trim().split('\n')
        .length === 2
    await waitUntil('the label on every Node', labelled)
    assert.equal(entries().length, 2, 'no instance was made for it')
    assert.deepEqual(await runs(), scaled, 'and nothing was run')
  })

  it('stop an update at the first machine that fails, report it, and keep serving', async () => {
    const before = await nodes()
    const body = { spec: { template: { spec: { instanceType: 'm7i.huge' } } } }
    await kubectl('patch', 'captmachinedeployment', 'workers', '--type', 'merge', '-p', JSON.stringify(body))
    const { code, out } = await capt('rollout', 'status', 'workers')
    assert.equal(code, 1, out)
    assert.match(out, /workers is not rolled out: CAPTMachine workers-\S+: .*instance_type/)
    assert.match(out, /capt rollout undo workers/)
    const stopped = await read()
    assert.equal(stopped.status?.availableReplicas, 2)
    assert.equal(conditionOf(stopped, 'Available')?.status, 'True')
    assert.equal((await machines()).length, 3, 'one more than wanted, and no further')
    assert.deepEqual(await nodes(), before)
  })

  it('go back to the template before', async () => {
    assert.match(await captOk('rollout', 'history', 'workers'), /2 +current .*m7i\.huge[\s\S]*1 .*m7i\.large/)
    assert.match(await captOk('rollout', 'undo', 'workers'), /workers goes back to revision 1 \(m7i\.large\)/)
    await captOk('rollout', 'status', 'workers')
    assert.equal((await machines()).length, 2)
    assert.equal(entries().length, 2, 'machines that worked were kept')
  })

  it('scale down, drained within disruption budgets until the drain times out, and destroyed', async () => {
    const names = (await nodes()).map((name) => name.replace('node/', ''))
    await kubectlAt(workload, 'apply', '-f', manifest(guests(names)))
    await kubectlAt(workload, 'wait', '--for=condition=Ready', 'pod', '-l', 'app=guest', '--timeout=30s')
    await kubectl('scale', 'captmachinedeployment', 'workers', '--replicas', '1')
    const isGoing = async () => (await machines()).find(({ metadata }) => metadata.deletionTimestamp)
    const held = /Draining Node \S+: 1 pod left \((\S+)\); a disruption budget holds default\/guest-[01]$/
    await waitUntil('the budget holds a pod', async () => {
      const machine = await isGoing()
      return machine !== undefined && held.test(conditionOf(machine, 'Deleting')?.message ?? '')
    })
    const { name } = (await isGoing())!.metadata
    await kubectl('wait', '--for=delete', `captmachine/${name}`, '--timeout=120s')
    const [event] = (await kubectl('get', 'events', '--field-selector', 'reason=DrainTimedOut', '-o', 'name')).split(
      '\n',
    )
    assert.match(
      await kubectl('get', `${event}`, '-o', 'jsonpath={.message}'),
      /The drain was not over within 6 s; the instance is destroyed with default\/guest-[01]$/,
    )
    await kubectlAt(workload, 'delete', 'pdb,pod', '-l', 'app=guest')
    assert.equal((await nodes()).length, 1)
    assert.equal(entries().filter((entry) => entry.startsWith('destroyed')).length, 1)
  })

  it('are replaced by a restart, which is refused while the update is paused', async () => {
    const [before] = await machines()
    await captOk('rollout', 'pause', 'workers')
    const { code, err } = await capt('rollout', 'restart', 'workers')
    assert.equal(code, 1)
    assert.match(err, /CAPT_ROLLOUT_PAUSED\n +hint capt rollout resume workers/)
    await captOk('rollout', 'resume', 'workers')
    await captOk('rollout', 'restart', 'workers')
    await captOk('rollout', 'status', 'workers')
    const isReplaced = async () => {
      const now = await machines()
      return now.length === 1 && now[0]?.metadata.name !== before?.metadata.name
    }
    await waitUntil('another machine', isReplaced)
  })

  it('go before the control plane, and every instance is destroyed exactly once', async () => {
    await kubectl('delete', 'cluster', 'demo', '--timeout=180s')
    for (const kind of ['captmachinedeployments', 'captmachinesets', 'captmachines', 'wtapply'])
      assert.equal(await kubectl('get', kind, '-o', 'name'), '', kind)
    const made = entries().filter((entry) => entry.startsWith('made'))
    const destroyed = entries().filter((entry) => entry.startsWith('destroyed'))
    assert.deepEqual(
      destroyed.map((entry) => entry.split(' ')[1]).toSorted(),
      made.map((entry) => entry.split(' ')[1]).toSorted(),
    )
    assert.equal(new Set(made).size, 3)
  })
})
