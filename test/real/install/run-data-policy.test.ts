// The shipped ValidatingAdmissionPolicy on a real kube-apiserver: a tenant with the role edit writes Secrets, and none that a
// run works from. Needs CAPT_REAL_KUBECONFIG: a kubeconfig of a throw-away server.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { toCustomResourceDefinition, WorkspaceTemplateApply } from '#api'
import {
  backupName,
  bundleName,
  planName,
  recordName,
  runCopyName,
  slotName,
  stateName,
  suffixOf,
} from '../../../src/engine/names.ts'
import { until, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const path = process.env['CAPT_REAL_KUBECONFIG'] ?? ''
const POLICY = join(import.meta.dirname, '../../../config/run-data-policy')
const NAMESPACE = 'run-data-policy'
const TENANT = 'edith'
const RUN = 'system:serviceaccount:capt-system:capt-workspace-x'

const suffix = suffixOf({ namespace: NAMESPACE, name: 'network' })
const KEPT = [
  recordName(suffix),
  bundleName(suffix, 'bcdfghjk', 0),
  planName(suffix, 'bcdfghjk', 0),
  backupName(suffix, 7, 0),
  runCopyName(suffix, 7, 'run-1234', 0),
  slotName(suffix, 12),
  stateName(suffix),
  stateName(suffix, 3),
]
const OTHERS = ['credentials', 'capt-credentials', 'tfstate-default-my-platform', 'network-kubeconfig', 'slot-1']

function kubectl(args: readonly string[], input?: object): string {
  return execFileSync('kubectl', ['--kubeconfig', path, '-n', NAMESPACE, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(input === undefined ? {} : { input: JSON.stringify(input) }),
  })
}
/** Undefined when it was allowed; otherwise what the server answered. */
function tried(user: string, args: readonly string[], input?: object): string | undefined {
  try {
    kubectl(['--as', user, ...args], input)
    return undefined
  } catch (error) {
    return String((error as { stderr?: unknown }).stderr)
  }
}
const secret = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, finalizers: ['capt.test/kept'] },
  stringData: { bundle: 'from the template' },
})
const create = (user: string, name: string) => tried(user, ['create', '-f', '-'], secret(name))
const patch = (user: string, name: string, body: object) =>
  tried(user, ['patch', 'secret', name, '--type=merge', '-p', JSON.stringify(body)])
const bundleIn = (name: string) => kubectl(['get', 'secret', name, '-o', 'jsonpath={.data.bundle}'])
const REFUSED = /only capt writes it/

describe('the policy about what runs work from', () => {
  before(async () => {
    assert.ok(path, 'set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')
    kubectl(['apply', '--server-side', '-f', '-'], toCustomResourceDefinition(WorkspaceTemplateApply))
    kubectl(['create', 'namespace', NAMESPACE])
    kubectl(['create', 'rolebinding', 'tenants', '--clusterrole=edit', `--user=${TENANT}`, '--user=alice'])
    kubectl(['create', 'role', 'run', '--verb=get,create,patch', '--resource=secrets'])
    kubectl(['create', 'rolebinding', 'run', '--role=run', '--serviceaccount=capt-system:capt-workspace-x'])
    assert.equal(create(TENANT, `${recordName(suffix)}-before`), undefined, 'without the policy the tenant writes it')
    kubectl(['apply', '-k', POLICY])
    kubectl(['create', 'rolebinding', 'writers', '--clusterrole=capt-run-data-writer-role', '--user=alice'])
    const isOn = () => REFUSED.test(tried(TENANT, ['create', '--dry-run=server', '-f', '-'], secret(KEPT[0]!)) ?? '')
    await until('the policy', isOn)
  })
  after(() => {
    kubectl(['delete', '-k', POLICY])
    kubectl(['delete', 'namespace', NAMESPACE, '--wait=false'])
  })

  it('keeps a tenant from making such a Secret, and from changing one that a run made', () => {
    for (const name of KEPT) {
      assert.match(create(TENANT, name) ?? '', REFUSED, name)
      assert.equal(create(RUN, name), undefined, `a run makes ${name}`)
      const made = bundleIn(name)
      assert.match(patch(TENANT, name, { stringData: { bundle: 'local-exec' } }) ?? '', REFUSED, name)
      assert.match(
        patch(TENANT, name, { metadata: { annotations: { 'capt.appthrust.com/kept': '{}' } } }) ?? '',
        REFUSED,
      )
      assert.equal(bundleIn(name), made)
    }
    assert.equal(patch(RUN, KEPT[0]!, { stringData: { bundle: 'of another template' } }), undefined)
    prove('kube-apiserver', VERSIONS.kube, 'the role edit writes nothing that a run works from', `${KEPT.length} names`)
  })

  it('covers names that the server completes', () => {
    const { metadata: _name, ...rest } = secret('')
    const unnamed = { ...rest, metadata: { generateName: `capt-bundle-${suffix}-` } }
    assert.match(tried(TENANT, ['create', '-f', '-'], unnamed) ?? '', REFUSED)
  })

  it('leaves everything else to the tenant: other names, finalizers, deletion', () => {
    for (const name of OTHERS) {
      assert.equal(create(TENANT, name), undefined, name)
      assert.equal(patch(TENANT, name, { stringData: { bundle: 'mine' } }), undefined, name)
    }
    const name = recordName(suffix)
    assert.equal(patch(TENANT, name, { metadata: { finalizers: null } }), undefined)
    assert.equal(tried(TENANT, ['delete', 'secret', name]), undefined)
    assert.match(create(TENANT, name) ?? '', REFUSED, 'and what is deleted is not made again')
  })

  it('lets those with the role restore', () => {
    assert.equal(patch('alice', stateName(suffix), { stringData: { bundle: 'a copy' } }), undefined)
  })
})
