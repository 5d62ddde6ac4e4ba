// Karpenter on an EKS cluster that has neither Flux nor a helm beside it, through the shipped program: both ways are named,
// Flux comes first on request and goes last, and stays when somebody else uses it. Killed in between, the commands continue.
import assert from 'node:assert/strict'
import { accessSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  type ConfigMap,
  ConfigMapKind,
  CustomResourceDefinitionKind,
  DeploymentKind,
  type KindRef,
  NamespaceKind,
  type UnknownObject,
} from '#api'
import { type Shipped, shippedProgram, waitUntil } from '../../shipped/support.ts'
import { CLUSTER, type ExistingCluster, startExistingCluster } from '../../support/aws/existing-cluster.ts'
import { findMoto } from '../../support/aws/moto.ts'
import type { Ran } from '../../support/tools.ts'

const program = findMoto()
const FLUX = 'flux-system'
const LABEL = 'capt.appthrust.com/karpenter=flux'
const JOURNAL = { namespace: 'kube-system', name: 'capt-karpenter' }
const kind = (group: string, version: string, kind: string, plural: string, namespaced = true): KindRef => ({
  group,
  version,
  kind,
  plural,
  namespaced,
})
const HelmReleaseKind = kind('helm.toolkit.fluxcd.io', 'v2', 'HelmRelease', 'helmreleases')
const CLUSTER_WIDE = [
  CustomResourceDefinitionKind,
  NamespaceKind,
  kind('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', false),
  kind('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBinding', 'clusterrolebindings', false),
]

describe('a cluster with neither Flux nor helm', {
  skip: program === undefined && 'not installed: moto',
  timeout: 600_000,
}, () => {
  let shipped: Shipped
  let site: ExistingCluster
  let untouched: Readonly<Record<string, unknown>>
  let env: Record<string, string>

  before(async () => {
    shipped = shippedProgram()
    site = await startExistingCluster(program!, shipped.folder, { hasFlux: false })
    untouched = await site.account()
    env = { ...shipped.env, ...site.env, PATH: withoutHelm(shipped.env['PATH']!) }
  })
  after(async () => {
    await site?.close()
    await shipped?.end()
  })

  const karpenter = (verb: string, ...more: readonly string[]): Promise<Ran> =>
    shipped.capt(['karpenter', verb, CLUSTER, ...more], { env })
  const ok = async (verb: string, ...more: readonly string[]): Promise<Ran> => {
    const ran = await karpenter(verb, ...more)
    assert.equal(ran.code, 0, ran.out + ran.err)
    return ran
  }
  /** Runs it until it ends by itself; each attempt is killed a few writes to the Kubernetes API later than the one before. */
  const killedAtWrites = async (step: number, verb: string, ...more: readonly string[]): Promise<number> => {
    for (let kills = 0; ; kills++) {
      assert.ok(kills < 40, 'it never ends')
      let writes = 0
      const running = shipped.start(['karpenter', verb, CLUSTER, ...more], { env })
      site.endpoint.onWrite = () => {
        if (++writes === step * (kills + 1)) running.child.kill('SIGKILL')
      }
      const ended = await running.ended
      site.endpoint.onWrite = undefined
      if (ended === 'SIGKILL') continue
      assert.equal(ended, 0, running.out() + running.err())
      return kills
    }
  }
  const labelled = async () => {
    const names: string[] = []
    for (const one of [...CLUSTER_WIDE, DeploymentKind])
      for await (const { metadata } of site.objects.list(one, { labelSelector: LABEL })) names.push(metadata.name)
    return names
  }
  const hasFlux = async () =>
    (await site.objects.get(DeploymentKind, { namespace: FLUX, name: 'helm-controller' })) !== undefined

  it('is refused with both ways out, and nothing is changed', async () => {
    const { code, err } = await karpenter('plan')
    assert.equal(code, 1)
    assert.match(err, /no Flux runs in the cluster, and there is no helm on the PATH {2}CAPT_KARPENTER_NO_INSTALLER/)
    assert.match(err, /install helm 3\.8 or newer, or let capt bring Flux into the cluster: --with-flux/)
    assert.deepEqual(await site.account(), untouched)
  })

  it('shows Flux as a step of its own, before everything else', async () => {
    const { out } = await ok('plan', '--with-flux')
    assert.match(out, /installed by +flux: brought by capt, chosen by --with-flux/)
    assert.match(out, /steps +\d+ to create.*\n\W*Flux in flux-system +create/)
    assert.equal(await hasFlux(), false)
  })

  it('never writes over what another Flux left', async () => {
    await site.objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: FLUX } })
    const { code, err } = await karpenter('install', '--with-flux', '--yes')
    assert.equal(code, 1)
    assert.match(
      err,
      /--with-flux: a Flux that capt did not bring left namespace flux-system {2}CAPT_KARPENTER_FOREIGN/,
    )
    await site.objects.delete(NamespaceKind, { name: FLUX })
    await untilGone()
    assert.deepEqual(await site.account(), untouched)
  })

  it('loses a half-installed Flux again by --rollback', async () => {
    const running = shipped.start(['karpenter', 'install', CLUSTER, '--with-flux', '--yes'], { env })
    let writes = 0
    site.endpoint.onWrite = () => {
      if (++writes === 9) running.child.kill('SIGKILL')
    }
    assert.equal(await running.ended, 'SIGKILL')
    site.endpoint.onWrite = undefined
    assert.ok((await labelled()).length > 3)
    await ok('install', '--rollback', '--yes')
    assert.deepEqual(await labelled(), [])
    assert.equal(await site.objects.get(ConfigMapKind, JOURNAL), undefined)
  })

  it('gets Flux and then Karpenter by a command that is killed again and again', async () => {
    const kills = await killedAtWrites(11, 'install', '--with-flux', '--yes', '--wait', '1m')
    assert.ok(kills >= 2, `${kills} kills`)
    const { made } = JSON.parse((await site.objects.get<ConfigMap>(ConfigMapKind, JOURNAL))!.data!['journal']!) as {
      made: { type: string }[]
    }
    assert.equal(made[0]?.type, 'flux')
    assert.equal(made.filter(({ type }) => type === 'flux').length, 1)
    const controller = await site.objects.get<UnknownObject>(DeploymentKind, {
      namespace: FLUX,
      name: 'helm-controller',
    })
    assert.match(JSON.stringify(controller), /"key":"CriticalAddonsOnly"/, 'it runs where Karpenter runs')
    assert.match((await ok('install', '--yes')).out, /^Nothing to do/, 'the choice is kept without the flag')
    await ok('verify')
  })

  it('keeps Flux while somebody else uses it, and says who', async () => {
    await site.objects.create(HelmReleaseKind, {
      apiVersion: 'helm.toolkit.fluxcd.io/v2',
      kind: 'HelmRelease',
      metadata: { namespace: 'default', name: 'shop' },
      spec: { interval: '1h', suspend: true, chartRef: { kind: 'OCIRepository', name: 'shop' } },
    } as never)
    const dry = await ok('uninstall', '--dry-run')
    assert.match(dry.err, /keep {4}Flux in flux-system: used by HelmRelease default\/shop/)
    const { err } = await ok('uninstall', '--yes', '--wait', '1m')
    assert.match(err, /keep Flux in flux-system: used by HelmRelease default\/shop/)
    assert.equal(await hasFlux(), true)
    assert.deepEqual(await site.account(), untouched)
    await site.objects.delete(HelmReleaseKind, { namespace: 'default', name: 'shop' })
  })

  it('takes it for a Flux of the cluster afterwards, and removes its own by a command that is killed again and again', async () => {
    const { out } = await ok('plan')
    assert.match(out, /installed by +flux: Flux \S+ runs in the cluster/)
    assert.doesNotMatch(out, /Flux in flux-system/)
    await removeLabelled()
    await ok('install', '--with-flux', '--yes', '--wait', '1m')
    const kills = await killedAtWrites(5, 'uninstall', '--yes', '--wait', '1m')
    assert.ok(kills >= 2, `${kills} kills`)
    assert.deepEqual(await labelled(), [])
    assert.equal(await hasFlux(), false)
    await assert.rejects(async () => await site.objects.get(HelmReleaseKind, { namespace: 'default', name: 'shop' }), {
      reason: 'KindNotServed',
    })
    assert.deepEqual(await site.account(), untouched)
    assert.equal(await site.objects.get(ConfigMapKind, JOURNAL), undefined)
  })

  const untilGone = () =>
    waitUntil('the end of the namespace', async () => !(await site.objects.get(NamespaceKind, { name: FLUX })))

  /** As `flux uninstall` would. */
  async function removeLabelled(): Promise<void> {
    for (const one of CLUSTER_WIDE)
      for await (const { metadata } of site.objects.list(one, { labelSelector: LABEL }))
        await site.objects.delete(one, { name: metadata.name })
    await untilGone()
  }
})

function withoutHelm(path: string): string {
  const hasHelm = (folder: string) => {
    try {
      accessSync(join(folder, 'helm'))
      return true
    } catch {
      return false
    }
  }
  return path
    .split(delimiter)
    .filter((folder) => !hasHelm(folder))
    .join(delimiter)
}
