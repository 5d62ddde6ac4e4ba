// Pools of nodes under core Cluster API: a MachinePool made from the ClusterClass becomes a node group, core counts its
// Nodes, an upgrade reaches them after the control plane, and they go before it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { CAPTMachinePool, type KindRef, machinePoolKind, type WorkspaceTemplateApply } from '#api'
import { connect } from '#kube'
import { nodePoolExample } from '../../../scripts/templates.ts'
import { nodesOf, syncNodes, toGroup } from '../../../src/simulation/node-groups.ts'
import { accessOf } from '../support/api.ts'
import { VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { toText } from '../support/manifests.ts'
import { prove } from '../support/proofs.ts'
import { contractOf, eventually, startWorld, type World } from '../support/world.ts'

const NAME = 'pools'
const TEXT = readFileSync(join(import.meta.dirname, '../../../examples/topology.yaml'), 'utf8')
const SELECTOR = { labelSelector: `cluster.x-k8s.io/cluster-name=${NAME}` }

/** The topology example with one pool of two nodes. */
function manifests(): Loose[] {
  const objects = parseAllDocuments(TEXT).map((document) => document.toJS() as Loose)
  const cluster = objects.find(({ kind }) => kind === 'Cluster')!
  cluster['metadata'] = { name: NAME, labels: {} }
  const { topology } = cluster['spec']
  topology.workers = { machinePools: [{ class: 'node-group', name: 'workers', replicas: 2 }] }
  topology.variables.push(
    { name: 'nodeGroupTemplate', value: 'simulation-node-group' },
    { name: 'nodeScaling', value: { minSize: 1, maxSize: 5 } },
    { name: 'nodeLabels', value: { team: 'a' } },
  )
  return [...(nodePoolExample().filter(({ kind }) => kind === 'WorkspaceTemplate') as Loose[]), ...objects]
}

for (const version of VERSIONS.capi)
  describe(`a pool of nodes with Cluster API ${version}`, () => {
    let world: World
    let stopNodes: () => Promise<void>
    const MachinePool = machinePoolKind(contractOf(version))
    const until = (what: string, check: () => boolean | Promise<boolean>, seconds = 240) =>
      eventually(world, what, check, seconds)
    const only = async (kind: KindRef): Promise<Loose> => {
      const found = await world.api.list(kind, SELECTOR)
      assert.equal(found.length, 1, `one ${kind.kind}`)
      return found[0]!
    }
    const counts = async (replicas: number): Promise<boolean> => {
      const [pool] = await world.api.list(MachinePool, SELECTOR)
      return pool?.['status']?.readyReplicas === replicas && pool['status'].replicas === replicas
    }
    const setTopology = async (change: (topology: Loose) => void) => {
      const { topology } = (await world.api.get(world.kinds.cluster, NAME))['spec']
      change(topology)
      await world.api.patch(world.kinds.cluster, NAME, { spec: { topology } })
    }

    before(async () => {
      world = await startWorld(version)
      await world.play({ namespace: 'default', name: NAME })
      stopNodes = playNodes(world)
    })
    after(async () => {
      await stopNodes?.()
      await world?.stop()
    })

    it('becomes nodes that core finds by their provider ids', async () => {
      world.management.kubectl(['apply', '-f', '-'], toText(manifests()))
      await until('core counts two ready nodes', () => counts(2))
      const pool = await only(CAPTMachinePool)
      assert.equal(pool['spec'].providerIDList.length, 2)
      assert.deepEqual(pool['spec'].labels, { team: 'a' })
      assert.equal(pool['status'].initialization.provisioned, true)
      const { status } = await only(MachinePool)
      assert.equal(status.nodeRefs.length, 2)
      prove('MachinePool', version, 'from a ClusterClass, nodes found by provider id', '2')
    })

    it('is scaled by the topology', async () => {
      await setTopology((topology) => {
        topology['workers'].machinePools[0].replicas = 3
      })
      await until('core counts three ready nodes', () => counts(3))
      prove('MachinePool', version, 'scaled by the topology', '2 to 3')
    })

    it('is upgraded after the control plane', async () => {
      await setTopology((topology) => {
        topology['version'] = 'v1.36.0'
      })
      await until('the nodes have the new version', async () => {
        const [plane, pool] = [await only(world.kinds.plane), await only(CAPTMachinePool)]
        const isNew = pool['status'].version === '1.36'
        if (isNew) assert.equal(plane['status'].version, 'v1.36.0', 'never before the control plane')
        return isNew && (await counts(3))
      })
      prove('MachinePool', version, 'upgraded after its control plane')
    })

    it('goes before the control plane', async () => {
      await world.api.remove(world.kinds.cluster, NAME)
      await until('the cluster is gone', async () => {
        const pools = await world.api.list(CAPTMachinePool, SELECTOR)
        const [plane] = await world.api.list(world.kinds.plane, SELECTOR)
        if (pools.length > 0) assert.equal(plane?.['metadata'].deletionTimestamp, undefined)
        return !(await world.api.find(world.kinds.cluster, NAME))
      })
      assert.deepEqual(await world.api.list(world.kinds.apply, SELECTOR), [])
      prove('MachinePool', version, 'deleted before its control plane')
    })
  })

/** Makes the Nodes that the node groups of the simulation ask for, as the embedded home does. */
function playNodes(world: World): () => Promise<void> {
  const connection = connect(accessOf(world.workload, 'actors'))
  let ended = false
  const loop = (async () => {
    while (!ended) {
      const applies = (await world.api.list(world.kinds.apply, SELECTOR)) as unknown as WorkspaceTemplateApply[]
      const groups = applies.flatMap((apply) => toGroup(apply) ?? [])
      await syncNodes(connection.objects, groups.flatMap(nodesOf), Date.now())
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  })()
  return async () => {
    ended = true
    await loop.catch(() => undefined)
    await connection.close()
  }
}
