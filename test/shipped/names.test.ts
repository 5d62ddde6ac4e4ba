// Two clusters of one name in two namespaces, by the shipped program: each has a name of its own in its runs, both become
// ready in the simulation, and nothing is left of either.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { storyCluster, storyTemplates } from '../support/cluster/story-manifests.ts'
import { findTool } from '../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from './support.ts'

const missing = [findTool('terraform') ? [] : ['terraform'], kubectlPath ? [] : ['kubectl']].flat()
const TIMEOUT_MS = 180_000

describe('two clusters of one name in two namespaces', {
  skip: missing.length > 0 && `not installed: ${missing.join(', ')}`,
}, () => {
  let shipped: Shipped
  let home: UpHome
  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up()
  })
  after(() => shipped.end())

  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await shipped.kubectl(home.kubeconfig, args)
    assert.equal(code, 0, err)
    return out.trim()
  }

  it('have distinct names in their runs, become ready and are deleted without leftovers', async () => {
    const teams = ['team-a', 'team-b']
    for (const namespace of teams) {
      await kubectl('create', 'namespace', namespace)
      const templates = storyTemplates(undefined).replaceAll(
        '\nmetadata:\n',
        `\nmetadata:\n  namespace: ${namespace}\n`,
      )
      writeFileSync(join(shipped.folder, 'team.yaml'), `${templates}---\n${storyCluster('demo', { namespace })}`)
      await shipped.captOk(['apply', '-f', 'team.yaml', '--kubeconfig', home.kubeconfig], { timeoutMs: 60_000 })
    }
    const isAvailable = 'jsonpath={.status.conditions[?(@.type=="Available")].status}'
    for (const namespace of teams)
      await waitUntil(
        `Cluster ${namespace}/demo`,
        async () => (await kubectl('-n', namespace, 'get', 'cluster', 'demo', '-o', isAvailable)) === 'True',
        TIMEOUT_MS,
        () => home.err().slice(-3000),
      )
    const names = await Promise.all(
      teams.map((namespace) =>
        kubectl('-n', namespace, 'get', 'captcluster', 'demo', '-o', 'jsonpath={.status.clusterName}'),
      ),
    )
    assert.equal(names[0], 'demo')
    assert.match(names[1]!, /^demo-[0-9a-f]{8}$/)
    for (const [i, namespace] of teams.entries()) {
      const used = ['-o', 'jsonpath={.items[*].spec.variables.cluster_name}']
      assert.equal(await kubectl('-n', namespace, 'get', 'workspacetemplateapply', ...used), `${names[i]} ${names[i]}`)
      const outputs = 'jsonpath={.status.workspaceStatus.atProvider.outputs.cluster_name}'
      assert.equal(await kubectl('-n', namespace, 'get', 'captcontrolplane', 'demo', '-o', outputs), names[i])
    }
    assert.match(await kubectl('-n', 'team-b', 'get', 'events'), /ClusterNameExtended.*The name demo is taken/)

    for (const namespace of teams) await kubectl('-n', namespace, 'delete', 'cluster', 'demo', '--wait=false')
    const left = () => kubectl('get', 'cluster,captcluster,captcontrolplane,workspacetemplateapply', '-A', '-o', 'name')
    await waitUntil(
      'the end of both',
      async () => (await left()) === '',
      TIMEOUT_MS,
      () => home.err().slice(-3000),
    )
    for (const namespace of teams) assert.equal(await kubectl('-n', namespace, 'get', 'secrets', '-o', 'name'), '')
  })
})
