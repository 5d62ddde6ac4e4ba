// A cluster from a ClusterClass: core's topology controller makes the parts under names of its own, variables reach
// Terraform, and neither an upgrade nor a rebase onto another class replaces anything.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import type { KindRef } from '#api'
import { conditionOf } from '../support/api.ts'
import { auditMark, describeRequests, isWrite, type Request, requestsSince } from '../support/audit.ts'
import { VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { toText } from '../support/manifests.ts'
import { prove } from '../support/proofs.ts'
import { eventually, startWorld, type World } from '../support/world.ts'

const version = VERSIONS.capi[0]
const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/topology.yaml'), 'utf8')
const documents = parseAllDocuments(EXAMPLE).map((document) => document.toJS() as Loose)
const { name } = documents.find(({ kind }) => kind === 'Cluster')!['metadata'] as { name: string }
const SELECTOR = { labelSelector: `cluster.x-k8s.io/cluster-name=${name}` }
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

describe(`a cluster from a ClusterClass with Cluster API ${version}`, () => {
  let world: World
  const kinds = () => world.kinds
  const cluster = () => world.api.get(kinds().cluster, name)
  const until = (what: string, check: () => boolean | Promise<boolean>, seconds = 240) =>
    eventually(world, what, check, seconds)
  const only = async (kind: KindRef): Promise<Loose> => {
    const found = await world.api.list(kind, SELECTOR)
    assert.equal(found.length, 1, `one ${kind.kind}`)
    return found[0]!
  }
  const parts = async () => [await only(kinds().infra), await only(kinds().plane)] as const
  const uids = async () => (await parts()).map(({ metadata }) => metadata.uid)
  const applies = () => world.api.list(kinds().apply, SELECTOR)
  /** Nobody has anything left to do: every condition is of the current generation, and all options are applied. */
  const settled = async () => {
    const found = await cluster()
    const runs = await applies()
    const isApplied = ({ status }: Loose) =>
      status?.appliedHash !== undefined && status.appliedHash === status.observedHash
    const deliveries = await world.api.list(kinds().delivery)
    return (
      [...runs, ...(await parts()), ...deliveries].every((object) => isCurrent(object, 'Ready')) &&
      runs.every(isApplied) &&
      ['Available', 'TopologyReconciled'].every((type) => isCurrent(found, type))
    )
  }
  const setVariable = async (variable: string, value: unknown) => {
    const { topology } = (await cluster())['spec']
    const variables = topology.variables.map((one: Loose) => (one['name'] === variable ? { ...one, value } : one))
    await world.api.patch(kinds().cluster, name, { spec: { topology: { ...topology, variables } } })
  }

  before(async () => {
    world = await startWorld(version, { audit: true })
    await world.play({ namespace: 'default', name })
  })
  after(async () => {
    await world?.stop()
  })

  it('comes up with parts that core names, and values from its variables', async () => {
    world.management.kubectl(['apply', '-f', '-'], EXAMPLE)
    await until('it is available', settled)
    const [infra, plane] = await parts()
    assert.notEqual(plane['metadata'].name, name)
    assert.equal(infra['spec'].region, 'eu-west-1')
    assert.equal(infra['spec'].vpcTemplateRef.name, 'simulation-vpc')
    for (const part of [infra, plane]) assert.deepEqual(part['spec'].additionalTags, { Environment: 'demo' })
    const { topology } = (await cluster())['spec']
    assert.equal(plane['spec'].version, topology.version)
    assert.equal((await world.api.get(kinds().secret, `${name}-kubeconfig`))['type'], 'cluster.x-k8s.io/secret')
    prove('ClusterClass', version, 'variables to Terraform, names given by core')
  })

  it('takes a changed variable to Terraform in place', async () => {
    const before = await uids()
    await setVariable('tags', { Environment: 'changed' })
    await until('the tag reaches every run', async () =>
      (await applies()).every((apply) => JSON.stringify(apply['spec'].values).includes('changed')),
    )
    await until('it has settled', settled)
    assert.deepEqual(await uids(), before)
  })

  it('is upgraded by the version of the topology', async () => {
    await world.api.patch(kinds().cluster, name, { spec: { topology: { version: 'v1.36.0' } } })
    await until('1.36 runs', async () => (await only(kinds().plane))['status'].version === 'v1.36.0')
    await until('core has seen it', settled)
    prove('ClusterClass', version, 'upgrade by topology', 'v1.35.0 to v1.36.0')
  })

  it('is rebased onto another class without replacing anything', async () => {
    const before = await uids()
    world.management.kubectl(['apply', '-f', '-'], toText(secondClass()))
    await world.api.patch(kinds().cluster, name, { spec: { topology: { classRef: { name: 'second' } } } })
    const isRebased = async () => {
      const [infra, plane] = await parts()
      const from = (object: Loose) => object['metadata'].annotations['cluster.x-k8s.io/cloned-from-name']
      return from(infra) === 'second' && from(plane) === 'second'
    }
    await until('its parts come from the other class', isRebased)
    await until('the class adds a tag', async () =>
      (await applies()).some((apply) => JSON.stringify(apply['spec'].values).includes('"Class":"second"')),
    )
    await until('it has settled', settled)
    assert.deepEqual(await uids(), before)
    assert.equal(conditionOf(await cluster(), 'TopologyReconciled')?.['status'], 'True')
    prove('ClusterClass', version, 'rebase in place, nothing replaced')
  })

  it('is not fought over: nobody writes anything for half a minute', async () => {
    const writesIn = async (seconds: number) => {
      const mark = auditMark(world.management)
      await pause(seconds)
      // Events arrive late; and the topology controller asks by dry-run whether something would change.
      const isOf = ({ user, resource, path }: Request) =>
        user !== 'system:apiserver' && resource !== 'events' && !path.includes('dryRun=All')
      return requestsSince(world.management, mark).filter((one) => isWrite(one) && isOf(one))
    }
    // Core's own last write may come late; a fight would never give us this pause.
    await until('five seconds pass without a write', async () => (await writesIn(5)).length === 0)
    assert.deepEqual(describeRequests(await writesIn(30)), '')
    prove('ClusterClass', version, 'writes of capt and core to a settled cluster in 30 s', '0')
  })

  it('goes, and its class can go then', async () => {
    await world.api.remove(kinds().cluster, name)
    await until('it is gone', async () => !(await world.api.find(kinds().cluster, name)))
    assert.deepEqual(await applies(), [])
    // Core's webhook forgets the cluster a moment after it has gone.
    await until('its classes can go', () => {
      world.management.kubectl(['delete', 'clusterclass', 'capt', 'second', '--ignore-not-found', '--timeout=30s'])
      return true
    })
    prove('ClusterClass', version, 'cluster deleted, then its classes')
  })
})

/** The condition is true, and about the object as it is now. */
function isCurrent(object: Loose, type: string): boolean {
  const condition = conditionOf(object, type)
  return condition?.['status'] === 'True' && condition['observedGeneration'] === object['metadata'].generation
}

/** The same class under another name, with one tag more on the control plane. */
function secondClass(): Loose[] {
  const kinds = ['ClusterClass', 'CAPTClusterTemplate', 'CAPTControlPlaneTemplate']
  const copies = documents.filter(({ kind }) => kinds.includes(kind)).map((object) => structuredClone(object))
  for (const copy of copies) {
    copy['metadata'].name = 'second'
    if (copy['kind'] !== 'ClusterClass') continue
    copy['spec'].infrastructure.ref.name = 'second'
    copy['spec'].controlPlane.ref.name = 'second'
    copy['spec'].patches.push({
      name: 'class',
      definitions: [
        {
          selector: {
            apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1',
            kind: 'CAPTControlPlaneTemplate',
            matchResources: { controlPlane: true },
          },
          jsonPatches: [{ op: 'add', path: '/spec/template/spec/additionalTags', value: { Class: 'second' } }],
        },
      ],
    })
  }
  return copies
}
