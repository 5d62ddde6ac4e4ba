// One cluster goes through every neighbouring pair of rows of the version matrix, by the shipped program and kubectl: from the oldest row
// that Flux supports, with the oldest Karpenter of that row pinned, to the newest. What others put on live objects is still there at the
// end.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AddonDelivery, type AnyObject, DeploymentKind, kindRef } from '#api'
import { compareVersions, eksRows, supports, versionsFor } from '#catalog'
import { type Connection, connect, loadKubeconfig, type Objects } from '#kube'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome } from '../support.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const KEY = { namespace: 'default', name: 'demo' }
const ROWS = eksRows()
  .map(({ line }) => line)
  .filter((line) => versionsFor('flux', line).length > 0)
  .sort(compareVersions)
const MARKED = [
  [kindRef('karpenter.sh/v1', 'NodePool', false), { name: 'default' }],
  [kindRef('karpenter.k8s.aws/v1', 'EC2NodeClass', false), { name: 'default' }],
  [kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease'), { namespace: 'kube-system', name: 'karpenter' }],
  [DeploymentKind, { namespace: 'flux-system', name: 'source-controller' }],
] as const
const MINE = 'example.com/mine'

const skip = !kubectlPath && 'kubectl is not installed'
describe('an upgrade through every row of the matrix', { skip, timeout: 900_000 }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let story: Story
  const delivery = async () => (await connection.objects.get<AddonDelivery>(AddonDelivery, KEY))!
  const stage = async (name: string) => (await delivery()).status?.stages?.find((one) => one.name === name)
  const workload = async <T>(use: (objects: Objects) => Promise<T>): Promise<T> => {
    const path = join(shipped.folder, 'workload.kubeconfig')
    writeFileSync(path, await shipped.captOk(['kubeconfig', 'demo', '--kubeconfig', home.kubeconfig]))
    const opened = connect(await loadKubeconfig({ path }))
    try {
      return await use(opened.objects)
    } finally {
      await opened.close()
    }
  }
  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const pin = async (row: string) => {
    const version = versionsFor('karpenter', row).at(-1)!
    const overrides = [{ stage: 'karpenter', version }]
    await kubectl('patch', 'addondelivery', 'demo', '--type', 'merge', '-p', JSON.stringify({ spec: { overrides } }))
    for (const reached of [`wantedVersion}=${version}`, 'state}=Healthy']) {
      const path = `--for=jsonpath={.status.stages[?(@.name=="karpenter")].${reached}`
      await kubectl('wait', path, 'addondelivery/demo', '--timeout=120s')
    }
    const one = await stage('karpenter')
    assert.deepEqual([one?.wantedVersion, one?.state], [version, 'Healthy'])
  }

  before(async () => {
    shipped = shippedProgram()
    const steady = (text: string) =>
      text.replace(/AGE +MESSAGE/g, 'AGE MESSAGE').replace(/(127\.0\.0\.1 +)\d+\w* *$/gm, '$1AGE')
    story = storyOf(shipped, () => home.kubeconfig, steady)
    home = await shipped.up('home', ['--engine', 'simulated'])
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    const example = readFileSync(join(ROOT, 'examples', 'simulation.yaml'), 'utf8')
    writeFileSync(join(shipped.folder, 'demo.yaml'), example.replace(/^ {2}version: .*$/m, `  version: "${ROWS[0]}"`))
    const applied = await story.capt(['apply', '-f', 'demo.yaml', '--wait', '3m'], { timeoutMs: 240_000 })
    assert.equal(applied.code, 0, applied.out + applied.err)
    await pin(ROWS[0]!)
    await workload(async (objects) => {
      for (const [kind, key] of MARKED) {
        const live = (await objects.get<AnyObject>(kind, key))!
        const finalizers = [...(live.metadata.finalizers ?? []), MINE]
        const metadata = { labels: { team: 'blue' }, annotations: { [MINE]: 'yes' }, finalizers }
        await objects.patch(kind, key, { type: 'merge', body: { metadata } })
      }
    })
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
  })

  for (const [index, to] of ROWS.slice(1).entries())
    it(`goes from ${ROWS[index]} to ${to}, in an order that the matrix allows`, async () => {
      const args = ['upgrade', 'demo', '--kubernetes', to, '--yes', '--wait', '3m']
      const { code, out, err } = await story.capt(args, { timeoutMs: 240_000 })
      assert.equal(code, 0, out + err)
      const plane = await kubectl('get', 'captcontrolplane', 'demo')
      assert.match(
        plane,
        new RegExp(`^NAME +READY +PHASE +VERSION .*\\ndemo +True +Ready +v${to.replace('.', '\\.')}\\.0 `),
      )
      assert.match(await kubectl('get', 'addondelivery', 'demo'), /^demo +demo +default +True +True /m)
      for (const name of ['flux', 'karpenter'] as const) {
        const one = await stage(name)
        assert.equal(one?.state, 'Healthy')
        assert.ok(supports(name, one.wantedVersion ?? '', to), `${name} ${one.wantedVersion} on ${to}`)
      }
      await workload(async (objects) => {
        for (const [kind, key] of MARKED) {
          const { labels, annotations, finalizers } = (await objects.get<AnyObject>(kind, key))!.metadata
          assert.equal(labels?.['team'], 'blue', kind.kind)
          assert.equal(annotations?.[MINE], 'yes', kind.kind)
          assert.ok(finalizers?.includes(MINE), kind.kind)
        }
      })
    })

  it('reads as golden/story-matrix-rows.txt holds it', () => story.assertGolden('story-matrix-rows'))
})
