// make install, deploy, undeploy and uninstall on a real API server, with the kubectl of this machine: each does what its name
// says, and what would strand objects is refused before anything is removed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ALL_KINDS, crdName, WorkspaceTemplate } from '#api'
import { aTemplate } from '#testing'
import { type Kube, startKube, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const ROOT = join(import.meta.dirname, '../../..')
const CRDS = ALL_KINDS.map(crdName).sort()

describe('the verbs of a management cluster', () => {
  let kube: Kube
  before(async () => {
    kube = await startKube({ name: 'verbs' })
  })
  after(() => kube?.stop())

  function make(verb: string, kubeconfig = kube.kubeconfig) {
    const env = { ...process.env, KUBECONFIG: kubeconfig, DRY_RUN: '', VERSION: '', REGISTRY: '', MAKEFLAGS: '' }
    const words = ['-o', 'node_modules/.capt-installed', verb, 'OWNER=team']
    const { status, stdout, stderr } = spawnSync('make', words, { cwd: ROOT, env, encoding: 'utf8', timeout: 300_000 })
    return { status, said: stdout + stderr }
  }
  function done(verb: string): void {
    const { status, said } = make(verb)
    assert.equal(status, 0, said)
  }
  const crds = () =>
    kube
      .kubectl(['get', 'crd', '-o', 'name'])
      .split('\n')
      .flatMap((line) => line.split('/')[1] ?? [])
      .filter((name) => CRDS.includes(name))
      .sort()
  const deployments = () => kube.kubectl(['get', 'deployment', '-A', '-o', 'name']).trim()

  it('say that no cluster answers, and change nothing', () => {
    const { status, said } = make('install', '/dev/null')
    assert.notEqual(status, 0)
    assert.match(said, /missing: kubectl reaches no cluster that is ready\n {2}hint choose one with KUBECONFIG/)
  })

  it('install brings the kinds alone', () => {
    done('install')
    assert.deepEqual(crds(), CRDS)
    assert.equal(deployments(), '')
  })

  it('deploy brings roles and manager too, with the images of OWNER, and may be repeated', () => {
    done('deploy')
    done('deploy')
    assert.equal(deployments(), 'deployment.apps/capt-controller-manager')
    const images = kube.kubectl(['get', 'deployment', '-A', '-o', 'jsonpath={..image}'])
    assert.match(images, /^ghcr\.io\/team\/capt:v\d/)
  })

  for (const verb of ['undeploy', 'uninstall'])
    it(`${verb} is refused while there is an object of ours, and removes nothing`, () => {
      kube.kubectl(['apply', '-f', '-'], JSON.stringify(aTemplate(undefined, {}, { name: 'kept' })))
      const { status, said } = make(verb)
      assert.notEqual(status, 0)
      assert.match(said, /missing: there are objects of kind WorkspaceTemplate/)
      assert.deepEqual(crds(), CRDS)
      assert.equal(deployments(), 'deployment.apps/capt-controller-manager')
      kube.kubectl(['delete', crdName(WorkspaceTemplate), 'kept'])
    })

  it('undeploy removes all that deploy brought', () => {
    done('undeploy')
    assert.deepEqual([crds(), deployments()], [[], ''])
    const roles = kube.kubectl(['get', 'clusterrole,clusterrolebinding', '-o', 'name'])
    assert.doesNotMatch(roles, /\/capt-/)
  })

  it('uninstall removes the kinds, and does nothing twice', () => {
    done('install')
    done('uninstall')
    assert.deepEqual(crds(), [])
    done('uninstall')
    prove('kubectl', VERSIONS.kube, 'make install, deploy, undeploy, uninstall')
  })
})
