// What people see: help, errors, tables and trees, printed by the commands themselves against the embedded API.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ALL_KINDS, toCustomResourceDefinition } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { capt } from '../support/cli-io.ts'

const VPC_TEMPLATE = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata:
  name: network
spec:
  template:
    metadata: {description: A network., version: 1.2.0, tags: {team: platform}}
    spec:
      forProvider:
        source: Inline
        module: |
          output "vpc_id" { value = "vpc-1" }
`
const CLUSTER = `${VPC_TEMPLATE}---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: demo
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: CAPTCluster, name: demo}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: CAPTCluster
metadata:
  name: demo
spec:
  region: eu-west-1
  vpcTemplateRef:
    name: network
`

describe('the command line', () => {
  let folder: string
  let server: ApiServer
  let flags: string[]
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'capt-cli-'))
    server = await startApiServer({
      dataDir: join(folder, 'home'),
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster as never },
    })
    await server.ready()
    flags = ['--kubeconfig', file('kubeconfig', server.kubeconfig())]
  })
  after(async () => {
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('lists its commands and shows usage, examples and options', async () => {
    const overview = await capt(['--help'])
    assert.equal(overview.code, 0)
    for (const word of ['demo', 'up', 'apply', 'describe', 'karpenter convert'])
      assert.match(overview.stdout, new RegExp(`^  ${word} `, 'm'))
    const help = await capt(['apply', '--help'])
    assert.match(help.stdout, /^Usage: capt apply \[options\]\n[\s\S]*\n# One file\ncapt apply -f cluster\.yaml\n/)
    assert.match(help.stdout, /-f, --filename FILE/)
  })

  it('takes connection options before the command too', async () => {
    const { code, stderr } = await capt([...flags, '-n', 'default', 'get', 'wtapply'])
    assert.deepEqual([code, stderr], [0, 'No workspacetemplateapplies in namespace default\n'])
  })

  it('refuses a command it does not know, proposes the one that was meant, and exits 2', async () => {
    const { code, stderr } = await capt(['aply'])
    assert.deepEqual(
      { code, stderr },
      { code: 2, stderr: 'error: there is no command "aply"\n  hint did you mean apply?\n' },
    )
  })

  it('refuses an option it does not know with exit code 2 and the way to help', async () => {
    const { code, stderr } = await capt(['get', 'clusters', '--colour'])
    assert.equal(code, 2)
    assert.match(stderr, /^error: Unknown option '--colour'/)
    assert.match(stderr, /CAPT_USAGE\n {2}hint capt get --help\n$/)
  })

  it('names file, document and line of a wrong manifest and applies nothing', async () => {
    const both = CLUSTER.replace('region: eu-west-1', 'region: eu-west-1\n  existingVpcId: vpc-0123')
    const path = file('both.yaml', both)
    const { code, stderr } = await capt(['apply', '-f', path, ...flags])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^error: CAPTCluster\/demo: .*exactly one of vpcTemplateRef and existingVpcId must be set \(both are\) .*CAPT_INVALID$/m,
    )
    assert.match(stderr, /at {3}.*both\.yaml, document 3, line \d+/)
    assert.match(stderr, /nothing was applied/)
    assert.match((await capt(['get', 'captclusters', ...flags])).stderr, /No captclusters in namespace default/)
  })

  it('says which field is unknown and which was meant', async () => {
    const { stderr } = await capt(['apply', '-f', '-', ...flags], { stdin: CLUSTER.replace('region:', 'regin:') })
    assert.match(stderr, /regin/)
    assert.match(stderr, /region/)
  })

  it('applies, then finds everything unchanged', async () => {
    const path = file('cluster.yaml', CLUSTER)
    const first = await capt(['apply', '-f', path, ...flags])
    assert.deepEqual(
      [first.code, first.stdout],
      [0, 'WorkspaceTemplate/network created\nCluster/demo created\nCAPTCluster/demo created\n'],
      first.stderr,
    )
    const again = await capt(['apply', '-f', path, ...flags])
    assert.equal(
      again.stdout,
      'WorkspaceTemplate/network unchanged\nCluster/demo unchanged\nCAPTCluster/demo unchanged\n',
    )
  })

  it('prints a table, and whole objects as data', async () => {
    const table = await capt(['get', 'captclusters', ...flags])
    assert.match(table.stdout, /^NAME +REGION +VPC-ID +READY +AGE +MESSAGE\ndemo +eu-west-1 /)
    const json = await capt(['get', 'captcluster', 'demo', '-o', 'json', ...flags])
    assert.equal((JSON.parse(json.stdout) as { spec: { region: string } }).spec.region, 'eu-west-1')
  })

  it('describes a cluster as a tree', async () => {
    const { code, stdout } = await capt(['describe', 'cluster', 'demo', ...flags])
    assert.equal(code, 0)
    assert.match(stdout, /^Cluster\/demo .*\n└─ CAPTCluster\/demo /)
  })

  it('says where to look when something is not there', async () => {
    const { code, stderr } = await capt(['describe', 'cluster', 'ghost', ...flags])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /There is no Cluster "ghost" in namespace default .*CAPT_KUBE_NOT_FOUND\n {2}hint capt get clusters -A/,
    )
  })

  it('asks before it deletes, and without a terminal wants --yes', async () => {
    const refused = await capt(['delete', 'captcluster', 'demo', ...flags])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /add --yes/)
    const gone = await capt(['delete', 'captcluster', 'demo', '--yes', ...flags])
    assert.deepEqual([gone.code, gone.stdout.replace(/\(.*\)/, '')], [0, 'CAPTCluster/demo is gone \n'])
  })

  it('says that nothing was changed when the answer is no', async () => {
    await capt(['apply', '-f', '-', ...flags], { stdin: VPC_TEMPLATE })
    const { code, stderr } = await capt(['delete', 'workspacetemplate', 'network', ...flags], {
      stdin: 'n\n',
      terminal: true,
    })
    assert.equal(code, 1)
    assert.match(stderr, /\[y\/N\] Nothing was changed\n$/)
  })

  it('changes nothing and waits for nothing in a dry run', async () => {
    const { code, stdout } = await capt(['apply', '-f', '-', '--dry-run', '--wait', '1h', ...flags], {
      stdin: VPC_TEMPLATE.replace('name: network', 'name: other'),
    })
    assert.deepEqual([code, stdout], [0, 'WorkspaceTemplate/other created (dry run)\n'])
  })

  it('explains a kubeconfig that points nowhere', async () => {
    const { code, stderr } = await capt(['get', 'clusters', '--kubeconfig', join(folder, 'none')])
    assert.equal(code, 1)
    assert.match(stderr, /CAPT_KUBECONFIG_/)
    assert.match(stderr, /hint /)
  })

  it('refuses a wrong token without printing it', async () => {
    const wrong = file('wrong', server.kubeconfig().replace(server.token, 'not-the-token'))
    const { code, stdout, stderr } = await capt(['get', 'clusters', '--kubeconfig', wrong])
    assert.equal(code, 1)
    assert.match(stderr, /^error: .* {2}CAPT_KUBE_UNAUTHORIZED$/m)
    assert.ok(!`${stdout}${stderr}`.includes('not-the-token'))
  })

  it('says that a server without the CRDs of capt does not serve a kind', async () => {
    const bare = await startApiServer({ dataDir: join(folder, 'bare') })
    try {
      await bare.ready()
      const kubeconfig = file('bare-kubeconfig', bare.kubeconfig())
      for (const [line, text] of [
        [
          'get captclusters',
          /does not serve CAPTCluster in infrastructure\.cluster\.x-k8s\.io\/v1beta1 {2}CAPT_KUBE_KIND_NOT_SERVED\n {2}hint install capt there/,
        ],
        ['get clusters', /does not serve Cluster: Cluster API is not installed there {2}CAPT_CLUSTER_API_MISSING/],
      ] as const) {
        const { code, stderr } = await capt([...line.split(' '), '--kubeconfig', kubeconfig])
        assert.equal(code, 1, line)
        assert.match(stderr, text)
      }
    } finally {
      await bare.close()
    }
  })
})
