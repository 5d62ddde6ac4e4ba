// Karpenter handed over from Terraform's helm_release to delivery, by the shipped program and kubectl with real Terraform. The providers
// helm and aws are not real: a provider of the test keeps helm_release and aws_iam_role in memory, so that an uninstall would show there.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AddonPipeline, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { loadState, readState } from '#engine'
import { connect, loadKubeconfig } from '#kube'
import { type NoteProvider, startNoteProvider } from '../../support/engine/note-provider.ts'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { findTool, run } from '../../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const missing = [findTool('terraform') ? [] : ['terraform'], kubectlPath ? [] : ['kubectl']].flat()
const skip = missing.length > 0 && `${missing.join(' and ')} not installed`

const IAM = `resource "aws_iam_role" "controller" {
  name        = "KarpenterController-demo"
  description = "of the controller" # kept
}`
const RELEASE = `resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.13.0"
  depends_on = [aws_iam_role.controller]
}`
const MODULE = `provider "helm" {}

${IAM}

# The controller.
${RELEASE}

output "role" {
  value = aws_iam_role.controller.name
}
`
const REMOVED = `removed {
  from = helm_release.karpenter

  lifecycle {
    destroy = false
  }
}`

describe('capt karpenter migrate, with stand-ins for the providers helm and aws', { skip }, () => {
  let shipped: Shipped
  let home: UpHome
  let provider: NoteProvider
  let story: Story
  let connection: ReturnType<typeof connect>
  before(async () => {
    provider = await startNoteProvider({
      sources: ['registry.terraform.io/hashicorp/helm', 'registry.terraform.io/hashicorp/aws'],
      types: { helm_release: ['namespace', 'repository', 'chart', 'version'], aws_iam_role: ['description'] },
    })
    shipped = shippedProgram()
    story = storyOf(shipped, () => home.kubeconfig)
    home = await shipped.up()
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
    await provider?.close()
  })

  const key = (name: string) => ({ namespace: 'default', name })
  const indent = (text: string) => text.trimEnd().replace(/^(?=.)/gm, '          ')
  const template = (module: string) => `# Kept as it is.
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: eks-controlplane-template-v2}   # of the seed
spec:
  template:
    spec:
      forProvider:
        source: Inline
        env: [{name: TF_REATTACH_PROVIDERS, value: '${provider.reattach}'}]
        module: |
${indent(module)}
`
  const write = (name: string, text: string) => {
    const file = join(shipped.folder, name)
    writeFileSync(file, text)
    return file
  }
  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const addresses = async () => readState((await loadState(connection.objects, key('demo-eks')))!)?.addresses
  const refused = async (args: readonly string[], code: RegExp) => {
    const ran = await story.capt(['karpenter', 'migrate', ...args])
    assert.notEqual(ran.code, 0)
    assert.match(ran.err, code)
    return ran
  }

  it('refuses what would destroy or change IAM, and leaves everything as it was', async () => {
    const original = template(MODULE)
    const file = write('template.yaml', original)
    const more = `---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplateApply
metadata: {name: demo-eks, labels: {cluster.x-k8s.io/cluster-name: demo}}
spec: {templateRef: {name: eks-controlplane-template-v2}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo}
spec: {clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}}
`
    await kubectl('apply', '-f', file)
    await kubectl('apply', '-f', write('more.yaml', more))
    await kubectl('wait', 'wtapply/demo-eks', '--for=condition=Ready', '--timeout=120s')
    assert.deepEqual([...provider.pages.keys()].sort(), ['KarpenterController-demo', 'karpenter'])

    const renamed = write(
      'renamed.yaml',
      template(MODULE.replaceAll('"controller"', '"other"').replaceAll('.controller', '.other')),
    )
    await refused(['-f', renamed], /delete aws_iam_role\.controller.*CAPT_MIGRATE_DESTROYS/)
    const changed = write('changed.yaml', template(MODULE.replace('of the controller', 'of another')))
    await refused(['-f', changed], /CAPT_MIGRATE_IAM/)
    const used = write('used.yaml', template(`${MODULE}output "chart" {\n  value = helm_release.karpenter.chart\n}\n`))
    await refused(['-f', used], /CAPT_MIGRATE_REFERENCED/)
    await refused(['-f', write('none.yaml', template(IAM))], /CAPT_MIGRATE_NO_RELEASE/)
    await refused(['-f', file, '--cluster', 'absent', '--yes'], /absent/)
    assert.deepEqual(await addresses(), ['aws_iam_role.controller', 'helm_release.karpenter'])
    assert.equal(readFileSync(file, 'utf8'), original)
    let left: string[] = []
    const isGone = async () => {
      left = []
      for (const kind of [WorkspaceTemplate, WorkspaceTemplateApply])
        for await (const one of connection.objects.list(kind, {})) left.push(one.metadata.name)
      return !left.some((name) => /-(migrate|plan)-/.test(name))
    }
    await waitUntil('the end of what was made for the plans', isGone, 60_000, () => left.join(', '))
  })

  it('shows what it will do, and with --dry-run does nothing', async () => {
    const file = join(shipped.folder, 'template.yaml')
    const ran = await story.capt(['karpenter', 'migrate', '-f', file, '--cluster', 'demo', '--dry-run'])
    assert.equal(ran.code, 0, ran.err)
    assert.equal(ran.out, 'Nothing was changed (--dry-run)\n')
    assert.equal(
      ran.err,
      `WorkspaceTemplate eks-controlplane-template-v2
  forget  helm_release.karpenter (main.tf, line 9): the chart karpenter stays installed
  keep    aws_iam_role.controller
note: provider helm has nothing left to do; remove it after the run that forgets the release
  deliver karpenter 1.13.0 in namespace karpenter to demo, without values: the state does not have them
plan of demo-eks: 1 to forget, 0 to destroy, 0 changes of IAM
`,
    )
    assert.equal(await connection.objects.get(AddonPipeline, key('karpenter-demo')), undefined)
  })

  it('forgets the release without an uninstall, keeps IAM, and hands the release to the delivery by its name and namespace', async () => {
    const file = join(shipped.folder, 'template.yaml')
    const before = new Map(provider.pages)
    const args = ['karpenter', 'migrate', '-f', file, '--out', file, '--cluster', 'demo', '--yes']
    const { code, err } = await story.capt(args)
    assert.equal(code, 0, err)
    assert.equal(
      readFileSync(file, 'utf8'),
      template(MODULE.replace(RELEASE, REMOVED)),
      'every other byte is as it was',
    )
    assert.deepEqual(await addresses(), ['aws_iam_role.controller'])
    assert.deepEqual(provider.pages, before, 'neither the release nor the role was touched')

    const karpenter = '{.spec.stages[?(@.name=="karpenter")].karpenter}{"\\n"}'
    const stage = await kubectl('get', 'addonpipeline', 'karpenter-demo', '-o', `jsonpath=${karpenter}`)
    assert.partialDeepStrictEqual(JSON.parse(stage), { namespace: 'karpenter', version: '1.13.0' })
    const labels = await kubectl('get', 'cluster', 'demo', '-o', 'jsonpath={.metadata.labels}{"\\n"}')
    assert.partialDeepStrictEqual(JSON.parse(labels), {
      'fluxcd.io/enabled': 'true',
      'installation.appthrust.com/eks-karpenter': 'enabled',
      'capt.appthrust.com/addon-pipeline': 'karpenter-demo',
    })

    await kubectl('apply', '-f', file)
    const again = await story.capt(args)
    assert.equal(again.code, 0, again.err)
    assert.match(again.err, /helm_release\.karpenter has its removed block already/)
    assert.match(again.err, /has none of helm_release\.karpenter: nothing to forget/)
  })

  it('does the same to a root module that people run themselves', async () => {
    provider.pages.clear()
    const folder = join(shipped.folder, 'infra')
    mkdirSync(folder)
    writeFileSync(join(folder, 'main.tf'), RELEASE)
    writeFileSync(join(folder, 'iam.tf'), IAM)
    const env = { TF_REATTACH_PROVIDERS: provider.reattach }
    const migrate = (...more: readonly string[]) =>
      shipped.capt(['karpenter', 'migrate', '--module', 'infra', ...more], {
        cwd: shipped.folder,
        env: { ...shipped.env, ...env },
      })
    const terraform = async (...words: readonly string[]) => {
      const ran = await run(findTool('terraform')!, words, { cwd: folder, env: { ...shipped.env, ...env } })
      assert.equal(ran.code, 0, ran.err)
      return ran.out
    }
    await terraform('init')
    await terraform('apply', '-auto-approve')
    writeFileSync(join(folder, 'more.tf'), 'locals {\n  a = local.absent\n}\n')
    assert.match((await migrate('--yes')).err, /local value with the name "absent"[\s\S]*CAPT_MIGRATE_PLAN/)
    assert.equal(readFileSync(join(folder, 'main.tf'), 'utf8'), RELEASE)
    writeFileSync(join(folder, 'more.tf'), '')
    const ran = await migrate('--yes')
    assert.equal(ran.code, 0, ran.err)
    assert.match(ran.err, /1 to forget, 0 to destroy, 0 changes of IAM/)
    assert.equal(readFileSync(join(folder, 'main.tf'), 'utf8'), REMOVED)
    assert.equal(readFileSync(join(folder, 'iam.tf'), 'utf8'), IAM)
    await terraform('apply', '-auto-approve')
    assert.equal(provider.pages.size, 2, 'the release is still installed')
    assert.equal(await terraform('state', 'list'), 'aws_iam_role.controller\n')
    assert.deepEqual(
      readdirSync(shipped.folder).filter((name) => name.startsWith('.capt')),
      [],
      'the copy that was planned is gone',
    )
  })

  it('reads as golden/story-migrate.txt holds it', () => story.assertGolden('story-migrate'))
})
