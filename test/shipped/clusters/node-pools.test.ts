// A pool of nodes by the shipped program: made with real terraform, scaled by kubectl, and gone before
// its control plane. Nothing is left.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nodePoolExample, toYaml } from '../../../scripts/templates.ts'
import { storyCluster, storyTemplates } from '../../support/cluster/story-manifests.ts'
import { findTool } from '../../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const missing = [findTool('terraform') ? [] : ['terraform'], kubectlPath ? [] : ['kubectl']].flat()
const TIMEOUT_MS = 120_000

describe('a pool of nodes', { skip: missing.length > 0 && `not installed: ${missing.join(', ')}` }, () => {
  let shipped: Shipped
  let home: UpHome
  let workload: string
  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up()
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
    const manifests = [storyTemplates(undefined), storyCluster('demo'), toYaml(nodePoolExample(), '')]
    writeFileSync(join(shipped.folder, 'pool.yaml'), manifests.join('\n---\n'))
    await capt('apply', '-f', 'pool.yaml', '--wait', '120s')
    workload = join(shipped.folder, 'workload.kubeconfig')
    writeFileSync(workload, await capt('kubeconfig', 'demo', '--token'))
    assert.equal((await nodes()).length, 2)
    const ids = await kubectl('get', 'captmachinepool', 'demo-workers', '-o', 'jsonpath={.spec.providerIDList}')
    assert.equal((JSON.parse(ids) as string[]).length, 2)
    const tree = await capt('describe', 'cluster', 'demo')
    assert.match(tree, /CAPTMachinePool\/demo-workers +ready +2 nodes, 1\.34, m7i\.large/)
    assert.match(tree, /demo-workers-node-group +applied/)
  })

  it('is scaled, and keeps the nodes that it has', async () => {
    const before = await nodes()
    await kubectl('scale', 'machinepool', 'demo-workers', '--replicas=4')
    await until('four nodes', async () => (await nodes()).length === 4)
    assert.ok((await nodes()).filter((node) => before.includes(node)).length === 2, 'the first two stay')
  })

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
