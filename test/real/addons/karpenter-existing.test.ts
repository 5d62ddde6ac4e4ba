// capt karpenter through the program as built, on a real API server: planned, installed, verified, upgraded and uninstalled,
// killed at every write of it, and account and cluster are as they were. AWS is moto with the stand-in; simulation actors
// play Flux and Karpenter.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ConfigMap, ConfigMapKind, DeploymentKind } from '#api'
import { CLUSTER } from '../../support/aws/existing-account.ts'
import { bringDeployment, bringFlux } from '../../support/aws/existing-workload.ts'
import { findMoto } from '../../support/aws/moto.ts'
import { reportMissing } from '../../support/tools.ts'
import { EC2NodeClass, NodePool } from '../support/addons-world.ts'
import { type ExistingWorld, startExistingWorld } from '../support/existing-world.ts'
import { VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { prove } from '../support/proofs.ts'

const program = findMoto()
if (program === undefined) reportMissing('moto')
const JOURNAL = { namespace: 'kube-system', name: 'capt-karpenter' }

if (program)
  describe('Karpenter on an existing EKS cluster, whose API is a real one', () => {
    let world: ExistingWorld
    let untouched: Awaited<ReturnType<ExistingWorld['observe']>>

    before(async () => {
      world = await startExistingWorld(program, 'existing')
      await bringFlux(world.objects)
      await bringDeployment(world.objects, 'kube-system', 'cluster-autoscaler')
      untouched = await world.observe()
    })
    after(() => world?.close())

    /**
     * Runs the command and kills it at the first write to AWS or to the cluster that is chosen: when it is lost, before it
     * arrives, otherwise after it was done and before the answer. Answers false when the command ended before.
     */
    async function killedAt(
      isChosen: (write: string) => boolean,
      isLost: boolean,
      ...args: readonly string[]
    ): Promise<boolean> {
      const { standIn } = world.account.moto
      const running = world.shipped.start(['karpenter', ...args], { env: world.account.env })
      let isDead = false
      const kill = (write: string): boolean => {
        if (isDead || !isChosen(write)) return false
        isDead = true
        return running.child.kill('SIGKILL')
      }
      standIn.before = ({ isWrite, subject }) =>
        isLost && isWrite && kill(subject) ? { code: 'Lost', status: 500 } : undefined
      standIn.after = ({ isWrite, subject }) => void (!isLost && isWrite && kill(subject))
      world.endpoint.onWrite = (method, path) => (kill(`${method} ${path}`) && isLost ? false : undefined)
      const ended = await running.ended
      standIn.before = standIn.after = world.endpoint.onWrite = undefined
      if (ended !== 'SIGKILL') assert.equal(ended, 0, running.out() + running.err())
      return ended === 'SIGKILL'
    }

    /**
     * Runs the command again and again, each time to the first write that was not the last one of an attempt yet. Killed after
     * its very last write, a removal is over: the journal is gone.
     */
    async function killedAtEachWrite(...args: readonly string[]): Promise<number> {
      const lasts = new Set<string>()
      for (;;) {
        const counts = new Map<string, number>()
        const isNew = (write: string) => {
          const count = (counts.get(write) ?? 0) + 1
          counts.set(write, count)
          const known = lasts.size
          return lasts.add(`${write} ${count}`).size > known
        }
        if (!(await killedAt(isNew, lasts.size % 2 === 0, ...args))) return lasts.size
        if (args[0] === 'uninstall' && !(await world.objects.get(ConfigMapKind, JOURNAL))) return lasts.size
        assert.ok(lasts.size < 120, 'it never ends')
      }
    }

    it('plans without changing anything', async () => {
      const { out } = await world.ok('plan', '--version', '1.13.0')
      assert.match(out, /release karpenter +create +chart 1\.13\.0 by Flux, 2 replicas/)
      assert.match(out, /image +al2023@v20261102: what EKS recommends for Kubernetes 1\.35 today, pinned/)
      assert.deepEqual(await world.observe(), untouched)
    })

    it('is rolled back after a kill at any write, and nothing is left', async () => {
      const options = ['--version', '1.13.0', '--yes', '--wait', '5m']
      let kills = 0
      const isNth = (n: number) => () => n-- === 1
      while (await killedAt(isNth(kills + 1), kills % 2 === 0, 'install', CLUSTER, ...options)) {
        kills += 1
        const hasJournal = (await world.objects.get(ConfigMapKind, JOURNAL)) !== undefined
        if (hasJournal) await world.ok('install', '--rollback', '--yes', '--wait', '5m')
        assert.deepEqual(await world.account.account(), untouched.account, `after write ${kills}`)
        assert.equal(await world.objects.get(ConfigMapKind, JOURNAL), undefined)
      }
      assert.ok(kills > 25, `${kills} kills`)
      await world.ok('uninstall', '--yes', '--wait', '5m')
      await world.untilLike(untouched)
      assert.deepEqual(await world.observe(), untouched)
      prove('capt karpenter', VERSIONS.kube, 'rolled back after a kill at any write', `${kills} kills`)
    })

    it('is installed by a command that is killed at each write, and a pod gets a node', async () => {
      const options = ['--version', '1.13.0', '--replace-cluster-autoscaler', '--yes', '--wait', '5m']
      const kills = await killedAtEachWrite('install', CLUSTER, ...options)
      assert.ok(kills > 10, `${kills} kills`)
      prove('capt karpenter', VERSIONS.kube, 'installed by a command killed at each write', `${kills} kills`)
      const { out } = await world.ok('verify', '--probe')
      assert.match(out, /probe pod +fine/)
      const made = (await world.account.account()) as {
        roles: string[]
        profiles: string[]
        queues: string[]
        rules: object[]
      }
      assert.deepEqual(
        [made.roles, made.profiles, made.queues.length, made.rules.length],
        [
          ['KarpenterControllerRole-demo', 'KarpenterNodeRole-demo', 'nodes'],
          ['KarpenterNodeInstanceProfile-demo'],
          1,
          5,
        ],
      )
      const nodeClass = (await world.objects.get(EC2NodeClass, { name: 'default' })) as Loose | undefined
      assert.deepEqual(nodeClass?.['spec'].amiSelectorTerms, [{ alias: 'al2023@v20261102' }])
      assert.match((await world.ok('verify')).out, /NodePool default +fine/)
    })

    it('has nothing to do a second time', async () => {
      const there = await world.observe()
      assert.match((await world.ok('install', '--replace-cluster-autoscaler', '--yes')).out, /^Nothing to do/)
      assert.deepEqual(await world.observe(), there)
    })

    it('is upgraded: permissions, definitions and chart', async () => {
      const { err } = await world.ok('upgrade', '--yes')
      assert.match(err, /change release karpenter/)
      const deployment = (await world.objects.get(DeploymentKind, {
        namespace: 'kube-system',
        name: 'karpenter',
      })) as Loose
      assert.equal(deployment['metadata'].labels['app.kubernetes.io/version'], '1.14.1')
      const journal = await world.objects.get<ConfigMap>(ConfigMapKind, JOURNAL)
      assert.match(journal!.data!['journal']!, /"phase":"installed".*"version":"1\.14\.1"/)
    })

    it('is uninstalled by a command that is killed at each write, and account and cluster are as they were', async () => {
      const kills = await killedAtEachWrite('uninstall', CLUSTER, '--yes', '--wait', '5m')
      assert.ok(kills > 10, `${kills} kills`)
      prove('capt karpenter', VERSIONS.kube, 'uninstalled by a command killed at each write', `${kills} kills`)
      assert.equal(await world.objects.get(ConfigMapKind, JOURNAL), undefined)
      await assert.rejects(async () => await world.objects.get(NodePool, { name: 'default' }), {
        reason: 'KindNotServed',
      })
      await world.untilLike(untouched)
      assert.deepEqual(await world.observe(), untouched)
      prove(
        'capt karpenter',
        VERSIONS.kube,
        'plan to uninstall, account and cluster as before',
        `${Object.keys(untouched.cluster).length} objects`,
      )
    })
  })
