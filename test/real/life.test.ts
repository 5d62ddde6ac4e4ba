// The life of a cluster with core Cluster API in charge: provisioned, initialized, available, add-ons, upgrade, pause,
// deletion in order. Terraform is real, its resources are terraform_data.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { VERSIONS } from './lab.ts'
import type { Loose } from './loose.ts'
import { prove } from './proofs.ts'
import { eventually, startWorld, type World } from './world.ts'

const EXAMPLE = readFileSync(join(import.meta.dirname, '..', '..', 'examples', 'simulation.yaml'), 'utf8')
const demo = { namespace: 'default', name: 'demo' }

for (const version of VERSIONS.capi) {
  describe(`a cluster's life with Cluster API ${version}`, () => {
    let world: World
    const get = (...args: string[]) => JSON.parse(world.management.kubectl(['get', ...args, '-o', 'json'])) as Loose
    const exists = (...args: string[]) =>
      world.management.kubectl(['get', ...args, '--ignore-not-found', '-o', 'name']).trim() !== ''
    const condition = (object: Loose, type: string) =>
      object['status']?.conditions?.find((item: { type: string }) => item.type === type)
    const isTrue = (kind: string, type: string) => condition(get(kind, 'demo'), type)?.status === 'True'

    before(async () => {
      world = await startWorld(version)
      await world.play(demo)
    })
    after(async () => {
      await world?.stop()
    })

    it('goes from one manifest to an available cluster', async () => {
      world.management.kubectl(['apply', '-f', '-'], EXAMPLE)
      await eventually(world, 'CAPTCluster is ready', () => isTrue('captcluster', 'Ready'))
      await eventually(world, 'CAPTControlPlane is available', () => isTrue('captcontrolplane', 'Available'))
      await eventually(world, 'core sees an initialized control plane', () => {
        const { status = {} } = get('cluster', 'demo')
        return (
          status.initialization?.controlPlaneInitialized === true ||
          condition({ status }, 'ControlPlaneInitialized')?.status === 'True'
        )
      })
      const cluster = get('cluster', 'demo')
      assert.equal(cluster['spec'].controlPlaneEndpoint.host, '127.0.0.1')
      assert.equal(cluster['status'].phase, 'Provisioned')
      prove('Cluster API', version, 'manifest to provisioned and initialized')
    })

    it('brings Flux, then Karpenter, through the real ClusterResourceSet controller', async () => {
      await eventually(world, 'the delivery is ready', () => isTrue('addondelivery', 'Ready'), 180)
      const { stages } = get('addondelivery', 'demo')['status']
      for (const stage of stages) assert.equal(stage.delivered.equal, true, `${stage.name}: binding hash equals ours`)
      prove('ClusterResourceSet', version, 'Flux, gate, Karpenter, node pool; binding hash equals ours')
    })

    it('upgrades one minor version', async () => {
      world.management.kubectl([
        'patch',
        'captcontrolplane',
        'demo',
        '--type=merge',
        '-p',
        '{"spec":{"version":"v1.36.0"}}',
      ])
      await eventually(
        world,
        'the control plane runs 1.36',
        () => get('captcontrolplane', 'demo')['status'].version === 'v1.36.0',
      )
      await eventually(world, 'everything is ready again', () => isTrue('captcontrolplane', 'Ready'))
    })

    it('does nothing while paused and goes on afterwards', async () => {
      world.management.kubectl(['patch', 'cluster', 'demo', '--type=merge', '-p', '{"spec":{"paused":true}}'])
      await eventually(world, 'the control plane is paused', () => isTrue('captcontrolplane', 'Paused'))
      world.management.kubectl([
        'patch',
        'captcontrolplane',
        'demo',
        '--type=merge',
        '-p',
        '{"spec":{"additionalTags":{"paused":"yes"}}}',
      ])
      await new Promise((resolve) => setTimeout(resolve, 3000))
      const values = () => JSON.stringify(get('workspacetemplateapply', 'demo-eks-controlplane-apply')['spec'])
      assert.ok(!values().includes('"paused"'), 'nothing reaches Terraform while paused')
      world.management.kubectl(['patch', 'cluster', 'demo', '--type=merge', '-p', '{"spec":{"paused":false}}'])
      await eventually(world, 'the tag reaches Terraform', () => values().includes('"paused":"yes"'))
      await eventually(world, 'the run has ended', () => {
        const apply = get('workspacetemplateapply', 'demo-eks-controlplane-apply')
        return (
          condition(apply, 'Ready')?.status === 'True' && apply['status'].appliedHash === apply['status'].observedHash
        )
      })
      await eventually(world, 'everything is ready again', () => isTrue('captcontrolplane', 'Ready'))
    })

    it('is deleted in order and leaves nothing behind', async () => {
      world.management.kubectl(['delete', 'cluster', 'demo', '--wait=false'])
      await eventually(world, 'the Cluster is gone', () => !exists('cluster', 'demo'), 180)
      const left = world.management.kubectl([
        'get',
        'captcluster,captcontrolplane,workspacetemplateapply,addondelivery',
        '-A',
        '-o',
        'name',
      ])
      assert.equal(left.trim(), '')
      const secrets = world.management.kubectl(['get', 'secrets', '-n', 'default', '-o', 'name']).trim().split('\n')
      assert.deepEqual(
        secrets.filter((name) => !name.endsWith('simulated-workload')),
        [],
      )
      prove('deletion', version, 'add-ons, control plane, network; nothing left')
    })
  })
}
