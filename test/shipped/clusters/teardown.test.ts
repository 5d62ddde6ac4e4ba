// Clusters with machines of Karpenter, deleted by the shipped program and kubectl: its controller works, is dead, or the API of the cluster
// is gone. Each deletion ends, and the simulated cloud holds nothing, or exactly what was reported. Time passes faster for the home.
import assert from 'node:assert/strict'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { simulatedManifest } from '../../support/cluster/simulated-manifest.ts'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { assertLedger } from '../../support/teardown/ledger.ts'
import { simulatedCloud } from '../../support/teardown/whole-cluster.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome } from '../support.ts'

const CLOCK = join(import.meta.dirname, '../../support/shifted-clock.mjs')
const CLUSTERS = ['alive', 'dead', 'gone'] as const
type Name = (typeof CLUSTERS)[number]
/** Karpenter makes it for the EC2NodeClass, and deletes it with that one while it lives. */
const PROFILE = 'instance profile default_simulated'
const WEB = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeSelector: { karpenter.sh/nodepool: default }
      containers: [{ name: web, image: web, resources: { requests: { cpu: 1500m } } }]
`
const skip = !kubectlPath && 'kubectl is not installed'

describe('a cluster with machines of Karpenter that is deleted', { skip, timeout: 600_000 }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let story: Story
  let seconds = 0
  const machines = new Map<Name, readonly string[]>()

  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const file = (name: string) => join(shipped.folder, name)
  const shift = (more: number) => {
    seconds += more
    writeFileSync(file('days.new'), String(seconds / 86_400))
    renameSync(file('days.new'), file('days'))
  }
  const held = (name: Name) => simulatedCloud(connection.objects, { namespace: 'default', name })
  const reported = async (name: Name) => {
    const selector = `reason=LeftBehind,involvedObject.kind=Cluster,involvedObject.name=${name}`
    const messages = ['-o', 'jsonpath={range .items[*]}{.message}{"\\n"}{end}']
    const said = await kubectl('get', 'events', '--field-selector', selector, ...messages)
    return [...said.matchAll(/Left behind: (.*?)\. /g)].flatMap((match) => match[1]!.split(', '))
  }
  /** Waits for the end of the command while minutes pass for the home. */
  const deleted = async (name: Name) => {
    const ran = story.capt(['delete', 'cluster', name, '--yes', '--wait', '5m'], { timeoutMs: 310_000 })
    let isOver = false
    void ran.finally(() => {
      isOver = true
    })
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      shift(10)
    }
    const { code, out, err } = await ran
    assert.equal(code, 0, out + err)
    return out + err
  }

  before(async () => {
    shipped = shippedProgram()
    const steady = (text: string) => text.replace(/\bi-sim\w+/g, 'i-ID')
    story = storyOf(shipped, () => home.kubeconfig, steady)
    shift(0)
    const env = { NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: file('days'), SHIFTED_TIMERS_MS: '3000' }
    home = await shipped.up('home', ['--engine', 'simulated'], { env })
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    writeFileSync(file('clusters.yaml'), simulatedManifest(...CLUSTERS))
    writeFileSync(file('web.yaml'), WEB)
    const applied = await story.capt(['apply', '-f', 'clusters.yaml', '--wait', '4m'], { timeoutMs: 300_000 })
    assert.equal(applied.code, 0, applied.out + applied.err)
    for (const name of CLUSTERS) {
      const kubeconfig = await shipped.captOk(['kubeconfig', name, '--kubeconfig', home.kubeconfig])
      writeFileSync(file(`${name}.kubeconfig`), kubeconfig)
      await kubectl('--kubeconfig', `${name}.kubeconfig`, 'apply', '-f', 'web.yaml')
    }
    for (const name of CLUSTERS) {
      const available = ['wait', '--for=jsonpath={.status.availableReplicas}=1', 'deployment/web', '--timeout=120s']
      await kubectl('--kubeconfig', `${name}.kubeconfig`, ...available)
      machines.set(
        name,
        (await held(name)).filter((one) => /^instance \S+$/.test(one)),
      )
      assert.equal(machines.get(name)?.length, 1)
      assert.ok((await held(name)).includes(PROFILE))
    }
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
  })

  const endsWith = async (name: Name, left: readonly string[]) => {
    await kubectl('get', 'clusters,captclusters,captcontrolplanes,addondeliveries', '-o', 'name')
    await assertLedger({ held: () => held(name), reported: () => reported(name) }, left)
  }

  it('leaves nothing while Karpenter works: its machines are drained, then it goes', async () => {
    await deleted('alive')
    await endsWith('alive', [])
  })

  it('ends without Karpenter, whose finalizers nobody would take off, and names the machine that is left', async () => {
    const fault = ['create', 'configmap', 'capt-simulation', '-n', 'kube-system', '--from-literal=karpenter=crash']
    await kubectl('--kubeconfig', 'dead.kubeconfig', ...fault)
    const unavailable = ['--for=jsonpath={.status.availableReplicas}=0', '-n', 'kube-system', '--timeout=120s']
    await kubectl('--kubeconfig', 'dead.kubeconfig', 'wait', 'deployment/karpenter', ...unavailable)
    const said = await deleted('dead')
    for (const machine of machines.get('dead')!) assert.ok(said.includes(`Left behind: ${machine}, `), said)
    await endsWith('dead', [...machines.get('dead')!, PROFILE])
  })

  it('ends when the API of the cluster does not answer any more, and names what it could not look at', async () => {
    const pause = (paused: boolean) =>
      kubectl('patch', 'cluster', 'gone', '--type', 'merge', '-p', JSON.stringify({ spec: { paused } }))
    await pause(true)
    await kubectl('wait', '--for=condition=Paused', 'addondelivery/gone', 'captcontrolplane/gone', '--timeout=120s')
    const silent = readFileSync(file('gone.kubeconfig'), 'utf8').replace(/server: .*/, 'server: https://127.0.0.1:1')
    const body = JSON.stringify({ data: { value: Buffer.from(silent).toString('base64') } })
    const patch = ['patch', 'secret', 'gone-kubeconfig', '--type', 'merge', '-p', body]
    assert.equal((await shipped.kubectl(home.kubeconfig, patch)).code, 0)
    story.note('nobody answers at the address in the kubeconfig of cluster gone')
    await kubectl('delete', 'cluster', 'gone', '--wait=false')
    await pause(false)
    await deleted('gone')
    await endsWith('gone', [...machines.get('gone')!, PROFILE])
  })

  it('reads as golden/story-teardown.txt holds it', () => story.assertGolden('story-teardown'))
})
