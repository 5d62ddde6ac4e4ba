// A cluster with a pool of nodes by the shipped program and real Terraform: the pool is made, scaled by kubectl, and gone before
// its control plane, of which nothing is left. In between, values reach the variables of the template that have no field.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nodePoolExample, toYaml } from '../../../scripts/templates.ts'
import { simulatedManifest } from '../../support/cluster/simulated-manifest.ts'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { findTool } from '../../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const missing = [findTool('terraform') ? [] : ['terraform'], kubectlPath ? [] : ['kubectl']].flat()
const TIMEOUT_MS = 120_000

describe('a pool of nodes', { skip: missing.length > 0 && `not installed: ${missing.join(', ')}` }, () => {
  let shipped: Shipped
  let home: UpHome
  let workload: string
  let story: Story
  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up()
    story = storyOf(
      shipped,
      () => home.kubeconfig,
      (text) =>
        text
          .replace(/AGE +MESSAGE/g, 'AGE MESSAGE')
          .replace(/(127\.0\.0\.1 +)\d+\w* +/g, '$1AGE ')
          .replace(/serial \d+/, 'serial N'),
    )
  })
  after(() => shipped.end())

  const kubectlAt = async (kubeconfig: string, ...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await shipped.kubectl(kubeconfig, args)
    assert.equal(code, 0, err)
    return out.trim()
  }
  const kubectl = (...args: readonly string[]) => kubectlAt(home.kubeconfig, ...args)
  const until = (what: string, check: () => Promise<boolean>) =>
    waitUntil(what, check, TIMEOUT_MS, () => home.err().slice(-3000))
  const nodes = async (): Promise<readonly string[]> => {
    const selector = 'eks.amazonaws.com/nodegroup=demo-workers'
    return (await kubectlAt(workload, 'get', 'nodes', '-l', selector, '-o', 'name')).split('\n').filter(Boolean)
  }
  const capt = (...args: readonly string[]) =>
    shipped.captOk([...args, '--kubeconfig', home.kubeconfig], { timeoutMs: TIMEOUT_MS })

  it('is made, and its nodes join the cluster', async () => {
    const cluster = simulatedManifest('demo').replace(/^ {4}\S+: "?(true|enabled)"?\n/gm, '')
    writeFileSync(join(shipped.folder, 'pool.yaml'), `${cluster}---\n${toYaml(nodePoolExample(), '')}`)
    await capt('apply', '-f', 'pool.yaml', '--wait', '120s')
    workload = join(shipped.folder, 'workload.kubeconfig')
    writeFileSync(workload, await capt('kubeconfig', 'demo', '--token'))
    assert.equal((await nodes()).length, 2)
    const ids = await kubectl('get', 'captmachinepool', 'demo-workers', '-o', 'jsonpath={.spec.providerIDList}')
    assert.equal((JSON.parse(ids) as string[]).length, 2)
    const tree = await capt('describe', 'cluster', 'demo')
    assert.match(tree, /CAPTMachinePool\/demo-workers +ready +2 nodes, 1\.35, m7i\.large/)
    assert.match(tree, /demo-workers-node-group +applied/)
  })

  it('is scaled, and keeps the nodes that it has', async () => {
    const before = await nodes()
    await kubectl('scale', 'machinepool', 'demo-workers', '--replicas=4')
    await until('four nodes', async () => (await nodes()).length === 4)
    assert.ok((await nodes()).filter((node) => before.includes(node)).length === 2, 'the first two stay')
  })

  const shown = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: TIMEOUT_MS })
    assert.equal(code, 0, err)
    return out
  }
  const APPLY = 'wtapply/demo-eks-controlplane-apply'
  const setValues = (values: object) => {
    const body = JSON.stringify({ spec: { controlPlaneConfig: { values } } })
    return shown('patch', 'captcontrolplane', 'demo', '--type', 'merge', '-p', body)
  }
  const field = (object: string, path: string) => shown('get', object, '-o', `jsonpath={${path}}{"\\n"}`)
  const condition = (type: string) => `.status.conditions[?(@.type=="${type}")]`
  const untilIs = (object: string, path: string, value: string) =>
    shown('wait', `--for=jsonpath={${path}}=${value}`, object, '--timeout=120s')

  it('gets values for the variables that no field sets, and a wrong owner, name or type is named', async () => {
    await setValues({ kubernetes_version: '1.30' })
    await untilIs('captcontrolplane/demo', `${condition('Stalled')}.reason`, 'ValueReserved')
    assert.match(
      await shown('get', 'captcontrolplane', 'demo'),
      /values\.kubernetes_version would replace what capt sets/,
    )
    assert.match(
      (await story.capt(['describe', 'captcontrolplane', 'demo'])).out,
      /values\.kubernetes_version would replace/,
    )
    assert.equal(await field(APPLY, '.spec.variables.kubernetes_version'), '1.35\n', 'Terraform was asked for nothing')

    await setValues({ kubernetes_version: null, identity: 'irsa', karpenter_namespce: 'karpenter' })
    await untilIs(APPLY, `${condition('UndeclaredValues')}.status`, 'True')
    const misspelt = await field(APPLY, `${condition('UndeclaredValues')}.message`)
    assert.match(misspelt, /values\.karpenter_namespce of CAPTControlPlane demo \(did you mean karpenter_namespace\?\)/)
    await untilIs(APPLY, '.status.outputs.karpenter.identity', 'irsa')
    await untilIs('captcontrolplane/demo', `${condition('Ready')}.status`, 'True')
    assert.match(
      (await story.capt(['describe', 'captcontrolplane', 'demo'])).out,
      /24 resources, values without a variable/,
    )
    const about = 'reason=VariableUndeclared,involvedObject.kind=Cluster'
    await shown('get', 'events', '--field-selector', about, '-o', 'jsonpath={.items[*].message}{"\\n"}')

    await setValues({ karpenter_namespce: null, karpenter_namespace: ['karpenter'] })
    await untilIs('captcontrolplane/demo', `${condition('Stalled')}.status`, 'True')
    await shown('get', 'captcontrolplane', 'demo')
    const stopped = await story.capt(['describe', 'captcontrolplane', 'demo'])
    assert.match(stopped.out, /or spec\.controlPlaneConfig\.values\.karpenter_namespace of .* string required/)

    await setValues({ karpenter_namespace: 'karpenter' })
    await untilIs(APPLY, `${condition('UndeclaredValues')}.status`, 'False')
    await untilIs('captcontrolplane/demo', `${condition('Ready')}.status`, 'True')
    await field(APPLY, '.spec.values.karpenter_namespace')
  })

  it('reads as golden/story-values.txt holds it', () => story.assertGolden('story-values'))

  it('goes before the control plane, and leaves nothing', async () => {
    await kubectl('delete', 'cluster', 'demo', '--wait=false')
    const left = () =>
      kubectl(
        'get',
        'cluster,machinepool,captmachinepool,captbootstrapconfig,captcontrolplane,workspacetemplateapply,secret',
        '-o',
        'name',
      )
    await until('the end', async () => {
      const now = await left()
      if (now.includes('captmachinepool')) assert.match(now, /captcontrolplane/)
      return now === ''
    })
  })
})
