// capt karpenter on a cluster without Flux, through the program as built: the real helm brings Karpenter's own charts into a
// real API server. The charts come from the Go module proxy, because the public registry is not reached from here: that one
// argument of helm is replaced on its way, nothing else.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { DeploymentKind } from '#api'
import { CLUSTER } from '../../support/aws/existing-account.ts'
import { findMoto } from '../../support/aws/moto.ts'
import { reportMissing } from '../../support/tools.ts'
import { type ExistingWorld, startExistingWorld } from '../support/existing-world.ts'
import { chartsFolder } from '../support/karpenter-definitions.ts'
import { binary, until, VERSIONS } from '../support/lab.ts'
import { playReplicaSets } from '../support/play-replica-sets.ts'
import { prove } from '../support/proofs.ts'

const program = findMoto()
if (program === undefined) reportMissing('moto')

interface HelmEntry {
  readonly name: string
  readonly namespace: string
  readonly status: string
  readonly revision: string
}

if (program)
  describe('Karpenter by helm on an existing EKS cluster, whose API is a real one', () => {
    let world: ExistingWorld
    let endReplicaSets: (() => Promise<void>) | undefined
    let untouched: Awaited<ReturnType<ExistingWorld['observe']>>

    before(async () => {
      world = await startExistingWorld(program, 'existing-helm')
      endReplicaSets = playReplicaSets(world.kube)
      const helm = join(world.shipped.folder, 'tools', 'helm')
      writeFileSync(helm, helmWithCharts(['1.12.1', '1.14.1']))
      chmodSync(helm, 0o755)
      untouched = await world.observe()
    })
    after(async () => {
      await endReplicaSets?.()
      await world?.close()
    })

    const releases = (): readonly (readonly string[])[] => {
      const args = ['list', '-A', '-a', '-o', 'json', '--kubeconfig', world.kube.kubeconfig]
      const entries = JSON.parse(execFileSync(binary('helm'), args, { encoding: 'utf8' })) as HelmEntry[]
      return entries.map(({ name, namespace, status, revision }) => [name, namespace, status, revision]).sort()
    }

    /** Both die when helm waits for the controller, which does not become ready as long as nobody plays its ReplicaSet. */
    async function killedWithHelm(verb: string, ...args: readonly string[]): Promise<void> {
      await endReplicaSets?.()
      const running = world.shipped.start(['karpenter', verb, CLUSTER, ...args], { env: world.account.env })
      const controller = { namespace: 'kube-system', name: 'karpenter' }
      await until('helm waits for the controller', async () =>
        Boolean(await world.objects.get(DeploymentKind, controller)),
      )
      for (const pid of world.shipped.processes()) process.kill(pid, 'SIGKILL')
      await running.ended
      endReplicaSets = playReplicaSets(world.kube)
    }

    it('is planned by helm', async () => {
      const { out } = await world.ok('plan', '--version', '1.12.1')
      assert.match(out, /release karpenter +create +chart 1\.12\.1 by helm, 2 replicas/)
      assert.deepEqual(await world.observe(), untouched)
    })

    it('is installed although an earlier attempt was killed together with its helm', async () => {
      await killedWithHelm('install', '--version', '1.12.1', '--yes', '--wait', '5m')
      assert.deepEqual(releases().at(0), ['karpenter', 'kube-system', 'pending-install', '1'])
      // helm gets the same time for its own work, beside whatever else this machine does.
      const { err } = await world.ok('install', '--version', '1.12.1', '--yes', '--wait', '2m')
      assert.match(err, /waiting for another helm on release karpenter: it is pending-install/)
      assert.match(err, /removing kube-system\/sh\.helm\.release\.v1\.karpenter\.v1, pending-install/)
      assert.deepEqual(releases(), [
        ['karpenter', 'kube-system', 'deployed', '1'],
        ['karpenter-crd', 'kube-system', 'deployed', '2'],
      ])
      assert.match((await world.ok('verify')).out, /NodePool default +fine/)
    })

    it('has nothing to do a second time', async () => {
      const there = await world.observe()
      assert.match((await world.ok('install', '--yes')).out, /^Nothing to do/)
      assert.deepEqual(await world.observe(), there)
    })

    it('is upgraded: definitions, then the controller', async () => {
      await world.ok('upgrade', '--version', '1.14.1', '--yes', '--wait', '5m')
      assert.deepEqual(releases(), [
        ['karpenter', 'kube-system', 'deployed', '2'],
        ['karpenter-crd', 'kube-system', 'deployed', '3'],
      ])
    })

    it('is uninstalled, and account and cluster are as they were', async () => {
      await world.ok('uninstall', '--yes', '--wait', '5m')
      assert.deepEqual(releases(), [])
      await world.untilLike(untouched)
      assert.deepEqual(await world.observe(), untouched)
      prove(
        'capt karpenter',
        `helm ${VERSIONS.helm}`,
        'by helm, plan to uninstall',
        "Karpenter's charts 1.12.1, 1.14.1",
      )
    })
  })

/** The real helm; a chart in the public registry is taken from the folder of the version that --version names. */
function helmWithCharts(versions: readonly string[]): string {
  const folders = versions.map((version) => `${version}) charts='${chartsFolder(version)}' ;;`)
  return `#!/bin/sh
previous=
for argument; do
  case "$previous" in --version) version=$argument ;; esac
  previous=$argument
done
case "$version" in ${folders.join(' ')} esac
for argument; do
  shift
  case "$argument" in oci://public.ecr.aws/karpenter/*) argument=$charts/\${argument##*/} ;; esac
  set -- "$@" "$argument"
done
exec '${binary('helm')}' "$@"
`
}
