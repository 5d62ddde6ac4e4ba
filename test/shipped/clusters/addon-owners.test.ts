// Add-ons that others have a part in, by the shipped program and kubectl: Karpenter from a private registry that a delivery names, and a
// Flux that flux bootstrap takes over.
import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { planted } from '../../support/secrets/planted.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome } from '../support.ts'

const EXAMPLE = join(import.meta.dirname, '../../../examples/simulation.yaml')
const LOGIN = planted('of-the-registry')
const CHART = 'oci://registry.example/karpenter/karpenter'
const skip = !kubectlPath && 'kubectl is not installed'

describe('add-ons that others have a part in', { skip, timeout: 600_000 }, () => {
  let shipped: Shipped
  let home: UpHome
  let story: Story
  const ok = async (ran: Promise<{ code: number; out: string; err: string }>) => {
    const { code, out, err } = await ran
    assert.equal(code, 0, out + err)
    return out
  }
  const kubectl = (...args: readonly string[]) => ok(story.kubectl(args, { timeoutMs: 130_000 }))
  const inWorkload = (...args: readonly string[]) => kubectl('--kubeconfig', 'workload.kubeconfig', ...args)
  const untilStage = (stage: string, field: string) =>
    kubectl(
      'wait',
      `--for=jsonpath={.status.stages[?(@.name=="${stage}")].${field}`,
      'addondelivery/demo',
      '--timeout=120s',
    )

  before(async () => {
    shipped = shippedProgram()
    story = storyOf(shipped, () => home.kubeconfig)
    home = await shipped.up('home', ['--engine', 'simulated'])
    copyFileSync(EXAMPLE, join(shipped.folder, 'demo.yaml'))
    await ok(story.capt(['apply', '-f', 'demo.yaml', '--wait', '3m'], { timeoutMs: 240_000 }))
    const kubeconfig = await shipped.captOk(['kubeconfig', 'demo', '--kubeconfig', home.kubeconfig])
    writeFileSync(join(shipped.folder, 'workload.kubeconfig'), kubeconfig)
    const auths = { 'registry.example': { auth: Buffer.from(`capt:${LOGIN}`).toString('base64') } }
    writeFileSync(join(shipped.folder, 'login.json'), JSON.stringify({ auths }))
  })
  after(() => shipped?.end())

  it('Karpenter comes from a private registry once its login is there, and the login is shown nowhere', async () => {
    const overrides = [{ stage: 'karpenter', chart: CHART, source: { secretRef: { name: 'registry-login' } } }]
    await kubectl('patch', 'addondelivery', 'demo', '--type', 'merge', '-p', JSON.stringify({ spec: { overrides } }))
    await untilStage('karpenter', 'reason}=SourceMissing')
    assert.match(await ok(story.capt(['describe', 'cluster', 'demo'])), /registry-login/)
    const type = '--type=kubernetes.io/dockerconfigjson'
    await kubectl('create', 'secret', 'generic', 'registry-login', type, '--from-file=.dockerconfigjson=login.json')
    // It goes on by itself within a minute, too.
    await ok(story.capt(['retry', 'adeliv', 'demo']))
    await untilStage('karpenter', 'state}=Healthy')
    const source = ['get', 'ocirepository', 'karpenter', '-n', 'kube-system']
    const shown = await inWorkload(...source, '-o', 'jsonpath={.spec.url} {.spec.secretRef.name}{"\\n"}')
    assert.equal(shown, `${CHART} karpenter-registry\n`)
    for (const kind of ['addondelivery', 'events', 'configmaps', 'clusterresourcesets'])
      assert.ok(!(await ok(shipped.kubectl(home.kubeconfig, ['get', kind, '-A', '-o', 'yaml']))).includes(LOGIN), kind)
  })

  it('a Flux that flux bootstrap takes over is handed over: used, and neither written nor removed by capt', async () => {
    const label = ['label', 'deployment', 'source-controller', 'helm-controller', '-n', 'flux-system']
    const owner = ['kustomize.toolkit.fluxcd.io/name=flux-system', 'kustomize.toolkit.fluxcd.io/namespace=flux-system']
    await inWorkload(...label, ...owner)
    await ok(story.capt(['retry', 'adeliv', 'demo']))
    // Silent when it is gone already, so this is no part of the transcript.
    const gone = ['wait', '--for=delete', 'clusterresourceset/fluxcd-installer-demo', '--timeout=120s']
    await ok(shipped.kubectl(home.kubeconfig, gone, { timeoutMs: 130_000 }))
    await kubectl('wait', '--for=condition=Ready', 'addondelivery/demo', '--timeout=120s')
    const messages = ['-o', 'jsonpath={range .items[*]}{.message}{"\\n"}{end}']
    const handed = await kubectl('get', 'events', '--field-selector', 'reason=HandedOver', ...messages)
    assert.match(handed, /kept by flux bootstrap, Kustomization flux-system/)
    await kubectl('label', 'cluster', 'demo', 'fluxcd.io/enabled-', 'installation.appthrust.com/eks-karpenter-')
    await kubectl('annotate', 'addondelivery', 'demo', 'capt.appthrust.com/confirm-removal=flux,karpenter,node-pool')
    await untilStage('flux', 'state}=NotWanted')
    const left = await inWorkload('get', 'deployments', '-n', 'flux-system', '-o', 'name')
    assert.deepEqual(left.trim().split('\n'), ['deployment.apps/helm-controller', 'deployment.apps/source-controller'])
  })

  it('reads as golden/story-addon-owners.txt holds it', () => story.assertGolden('story-addon-owners'))
})
