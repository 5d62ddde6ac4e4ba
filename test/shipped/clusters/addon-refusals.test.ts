// What people ask of add-ons and cannot have, by the shipped program and kubectl: versions that skip a step or go back, definitions with
// stored versions, nodes that may not drain, and sinks that redirect or hang. Nothing is written before it is refused, and each refusal
// says how to go on. Time passes faster for the home.
import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { simulatedManifest } from '../../support/cluster/simulated-manifest.ts'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const CLOCK = join(import.meta.dirname, '../../support/shifted-clock.mjs')
const MESSAGES = ['-o', 'jsonpath={range .items[*]}{.message}{"\\n"}{end}']
const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' }, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
      spec: {
        nodeSelector: { 'karpenter.sh/nodepool': 'default' },
        containers: [{ name: 'web', image: 'web', resources: { requests: { cpu: '1500m' } } }],
      },
    },
  },
}
const skip = !kubectlPath && 'kubectl is not installed'

describe('what add-ons are refused', { skip, timeout: 600_000 }, () => {
  let shipped: Shipped
  let home: UpHome
  let story: Story
  let seconds = 0
  const closing: (() => void)[] = []

  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const inWorkload = (...args: readonly string[]) => kubectl('--kubeconfig', 'workload.kubeconfig', ...args)
  const file = (name: string) => join(shipped.folder, name)
  const shift = (more: number) => {
    seconds += more
    writeFileSync(file('days.new'), String(seconds / 86_400))
    renameSync(file('days.new'), file('days'))
  }
  const override = (stage: string, version: string) =>
    kubectl(
      'patch',
      'addondelivery',
      'demo',
      '--type',
      'merge',
      '-p',
      JSON.stringify({ spec: { overrides: [{ stage, version }] } }),
    )
  const untilStage = (stage: string, field: string) =>
    kubectl(
      'wait',
      `--for=jsonpath={.status.stages[?(@.name=="${stage}")].${field}`,
      'addondelivery/demo',
      '--timeout=120s',
    )
  const errorOf = (stage: string) =>
    kubectl('get', 'addondelivery', 'demo', '-o', `jsonpath={.status.stages[?(@.name=="${stage}")].lastError}{"\\n"}`)
  const deliveredTag = () =>
    inWorkload('get', 'ocirepository', 'karpenter', '-n', 'kube-system', '-o', 'jsonpath={.spec.ref.tag}{"\\n"}')
  async function sink(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    const server = createServer(answer)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  }
  /** The home reads the Secret again after a minute. */
  const setSink = async (what: string, url: string) => {
    const secret = ['create', 'secret', 'generic', 'capt-notification', `--from-literal=url=${url}`]
    await shipped.kubectl(home.kubeconfig, ['delete', 'secret', 'capt-notification', '--ignore-not-found'])
    assert.equal((await shipped.kubectl(home.kubeconfig, secret)).code, 0)
    story.note(`Secret capt-notification names ${what}`)
    shift(61)
  }

  before(async () => {
    shipped = shippedProgram()
    // The home is ahead of the commands.
    const steady = (text: string) =>
      text
        .replace(/\bweb-\w+-0/g, 'web-POD')
        .replace(/\bdefault-\w{5,}\b/g, 'default-ID')
        .replace(/in \d+\w* \(\d{4}-[^)]*\)/g, 'LATER')
    story = storyOf(shipped, () => home.kubeconfig, steady)
    shift(0)
    home = await shipped.up('home', ['--engine', 'simulated'], {
      env: { NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: file('days'), SHIFTED_TIMERS_MS: '3000' },
    })
    const manifest = simulatedManifest('demo').replace(/^ {2}version: .*$/m, '  version: "1.34"')
    writeFileSync(file('demo.yaml'), manifest)
    const applied = await story.capt(['apply', '-f', 'demo.yaml', '--wait', '3m'], { timeoutMs: 240_000 })
    assert.equal(applied.code, 0, applied.out + applied.err)
    const kubeconfig = await shipped.captOk(['kubeconfig', 'demo', '--kubeconfig', home.kubeconfig])
    writeFileSync(file('workload.kubeconfig'), kubeconfig)
    await override('karpenter', '1.12.0')
    await untilStage('karpenter', 'wantedVersion}=1.12.0')
    await untilStage('karpenter', 'state}=Healthy')
  })
  after(async () => {
    for (const close of closing) close()
    await shipped?.end()
  })

  const stored = (...storedVersions: readonly string[]) =>
    inWorkload(
      'patch',
      'crd',
      'nodepools.karpenter.sh',
      '--subresource=status',
      '--type',
      'merge',
      '-p',
      JSON.stringify({ status: { storedVersions } }),
    )

  it('definitions with stored versions stop an upgrade, and a sink that redirects is not followed', async () => {
    let followed = 0
    const target = await sink((_request, response) => {
      followed += 1
      response.end()
    })
    await setSink(
      'a sink that redirects to a private address',
      await sink((_request, response) => response.writeHead(307, { location: target }).end()),
    )
    await stored('v1beta1', 'v1')
    await override('karpenter', '1.13.0')
    await untilStage('karpenter', 'lastError.code}=CAPT_KARPENTER_STORED_VERSIONS')
    assert.match(await errorOf('karpenter'), /nodepools\.karpenter\.sh are still stored as v1beta1/)
    assert.equal(await deliveredTag(), '1.12.0\n', 'nothing is written before')
    const failed = ['get', 'events', '--field-selector', 'reason=NotificationFailed', ...MESSAGES]
    await waitUntil('the Event', async () => (await shipped.kubectl(home.kubeconfig, failed)).out !== '')
    assert.equal(
      await kubectl(...failed),
      'The notice StageFailed was not delivered: the sink answers with a redirect (307)\n',
    )
    assert.equal(followed, 0)
    await stored('v1')
    await override('karpenter', '1.12.0')
    await untilStage('karpenter', 'state}=Healthy')
  })

  it('an upgrade that skips Karpenter 1.0 is refused, and a sink that hangs holds up nothing and is tried again', async () => {
    const ids: unknown[] = []
    await setSink(
      'a sink that does not answer the first time',
      await sink((request, response) => {
        ids.push(request.headers['x-capt-id'])
        if (ids.length > 1) response.writeHead(204).end()
      }),
    )
    const label = ['label', 'deployment', 'karpenter', '-n', 'kube-system', '--overwrite']
    await inWorkload(...label, 'app.kubernetes.io/version=0.37.8')
    await override('karpenter', '1.13.0')
    await untilStage('karpenter', 'lastError.code}=CAPT_KARPENTER_STEP_SKIPPED')
    assert.match(await errorOf('karpenter'), /1\.0 must convert its objects first/)
    assert.equal(await deliveredTag(), '1.12.0\n', 'nothing is written before')
    await inWorkload(...label, 'app.kubernetes.io/version=1.12.0')
    await override('karpenter', '1.12.0')
    await waitUntil('the first try', () => ids.length > 0)
    await untilStage('karpenter', 'state}=Healthy')
    await waitUntil('the same notice again', () => ids.lastIndexOf(ids[0]) > 0)
    await kubectl('delete', 'secret', 'capt-notification')
  })

  it('Kubernetes goes neither back nor over a minor version, and Flux not back', async () => {
    const back = await story.capt(['upgrade', 'demo', '--kubernetes', '1.33', '--yes'])
    assert.equal(back.code, 1)
    assert.match(back.err, /EKS does not go back/)
    const set = (version: string) =>
      kubectl('patch', 'captcontrolplane', 'demo', '--type', 'merge', '-p', JSON.stringify({ spec: { version } }))
    for (const [version, reason] of [
      ['1.33', 'DowngradeRefused'],
      ['1.36', 'UpgradeSkipsVersion'],
    ] as const) {
      await set(version)
      const stalled = '{.status.conditions[?(@.type=="Stalled")]'
      await kubectl('wait', `--for=jsonpath=${stalled}.reason}=${reason}`, 'captcontrolplane/demo', '--timeout=120s')
      await kubectl('get', 'captcontrolplane', 'demo', '-o', `jsonpath=${stalled}.message}{"\\n"}`)
      const asked = '{.spec.variables.kubernetes_version}{"\\n"}'
      const apply = ['get', 'workspacetemplateapply', 'demo-eks-controlplane-apply', '-o', `jsonpath=${asked}`]
      assert.equal(await kubectl(...apply), '1.34\n', 'Terraform was asked for nothing')
    }
    await set('1.34')
    await kubectl('wait', '--for=condition=Ready', 'captcontrolplane/demo', '--timeout=120s')
    await override('flux', '2.8.8')
    await untilStage('flux', 'lastError.code}=CAPT_FLUX_NEWER')
    assert.match(await errorOf('flux'), /capt does not go back/)
    await kubectl('patch', 'addondelivery', 'demo', '--type', 'merge', '-p', '{"spec":{"overrides":[]}}')
    await kubectl('wait', '--for=condition=Ready', 'addondelivery/demo', '--timeout=120s')
  })

  it('an add-on whose nodes may not drain stays, names what holds it, and goes by itself afterwards', async () => {
    writeFileSync(file('web.json'), JSON.stringify(WEB))
    await inWorkload('apply', '-f', 'web.json')
    await inWorkload('wait', '--for=jsonpath={.status.availableReplicas}=1', 'deployment/web', '--timeout=120s')
    await inWorkload('create', 'poddisruptionbudget', 'web', '--selector=app=web', '--max-unavailable=0')
    // It limits what Karpenter does by itself, and holds no removal.
    const none = '{"spec":{"disruption":{"budgets":[{"nodes":"0"}]}}}'
    await inWorkload('patch', 'nodepool', 'default', '--type', 'merge', '-p', none)
    const short = await story.capt(['withdraw', 'demo', 'karpenter', '--yes', '--wait', '5s'])
    assert.equal(short.code, 3, short.out + short.err)
    const stalled = '{.status.conditions[?(@.type=="Stalled")]'
    const stuck = async () => {
      shift(60)
      const args = ['get', 'addondelivery', 'demo', '-o', `jsonpath=${stalled}.reason}`]
      await new Promise((resolve) => setTimeout(resolve, 500))
      return (await shipped.kubectl(home.kubeconfig, args)).out === 'RemovalStuck'
    }
    await waitUntil('the removal is stuck', stuck)
    const said = await kubectl('get', 'addondelivery', 'demo', '-o', `jsonpath=${stalled}.message}{"\\n"}`)
    assert.match(said, /held by .*Pod default\/web-\S+ \(karpenter\.sh\/do-not-disrupt\)/)
    assert.match(said, /PodDisruptionBudget default\/web \(allows no disruption\)/)
    assert.match((await story.capt(['describe', 'cluster', 'demo'])).out, /karpenter\.sh\/do-not-disrupt/)
    await inWorkload('get', 'deployments', '-n', 'kube-system', '-o', 'name')
    await inWorkload('annotate', 'pods', '-l', 'app=web', 'karpenter.sh/do-not-disrupt-')
    await inWorkload('delete', 'poddisruptionbudget', 'web')
    const gone = `--for=jsonpath={.status.stages[?(@.name=="karpenter")].state}=NotWanted`
    let isOver = false
    const waiting = kubectl('wait', gone, 'addondelivery/demo', '--timeout=120s').finally(() => {
      isOver = true
    })
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      shift(10)
    }
    await waiting
    assert.equal(await kubectl('get', 'configmap', 'demo-simulated-instances', '--ignore-not-found', '-o', 'name'), '')
  })

  it('reads as golden/story-addon-refusals.txt holds it', () => story.assertGolden('story-addon-refusals'))
})
