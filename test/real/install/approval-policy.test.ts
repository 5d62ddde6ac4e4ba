// The shipped ValidatingAdmissionPolicy on a real kube-apiserver: who may approve, in whose name, and who may loosen the rules.
// Needs CAPT_REAL_KUBECONFIG: a kubeconfig of a throw-away server.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { toCustomResourceDefinition, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { connect, loadKubeconfig } from '#kube'
import { anApply } from '#testing'
import { isApproverVerified } from '../../../src/controllers/workspace-apply/approval/verify.ts'
import { until, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const path = process.env['CAPT_REAL_KUBECONFIG'] ?? ''
const POLICY = join(import.meta.dirname, '../../../config/approval-policy')
const NAMESPACE = 'approval-policy'

function kubectl(args: readonly string[], input?: object): string {
  const given = input === undefined ? {} : { input: JSON.stringify(input) }
  return execFileSync('kubectl', ['--kubeconfig', path, '-n', NAMESPACE, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    ...given,
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
const apply = (name: string, spec: Parameters<typeof anApply>[0] = {}) => anApply(spec, { name, namespace: NAMESPACE })
const annotate = (user: string, ...pairs: readonly string[]) =>
  tried(user, ['annotate', '--overwrite', 'wtapply', 'one', ...pairs.map((pair) => `capt.appthrust.com/${pair}`)])
const patch = (user: string, spec: object) =>
  tried(user, ['patch', 'wtapply', 'one', '--type=merge', '-p', JSON.stringify({ spec })])
const isVerified = async (): Promise<boolean> => {
  const connection = connect(await loadKubeconfig({ path }))
  try {
    return await isApproverVerified(connection.objects, apply('one'))
  } finally {
    await connection.close()
  }
}

describe('the approval policy', () => {
  before(async () => {
    assert.ok(path, 'set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')
    for (const kind of [WorkspaceTemplate, WorkspaceTemplateApply])
      kubectl(['apply', '--server-side', '-f', '-'], toCustomResourceDefinition(kind))
    kubectl(['create', 'namespace', NAMESPACE])
    kubectl(['create', 'role', 'editor', '--verb=get,list,create,update,patch', '--resource=workspacetemplateapplies'])
    kubectl(['create', 'rolebinding', 'editors', '--role=editor', '--user=edith', '--user=alice'])
    await until(
      'the kinds',
      () => tried('edith', ['create', '-f', '-'], apply('one', { approval: 'Manual' })) === undefined,
    )
    assert.equal(await isVerified(), false, 'without the policy nobody makes sure who approves')
    kubectl(['apply', '-k', POLICY])
    kubectl(['create', 'rolebinding', 'approvers', '--clusterrole=capt-approver-role', '--user=alice'])
    await until('the policy', isVerified)
  })
  after(() => {
    kubectl(['delete', '-k', POLICY])
    kubectl(['delete', 'namespace', NAMESPACE, '--wait=false'])
  })

  it('lets those with the verb approve do so, in their own name', () => {
    assert.match(annotate('edith', 'approved-plan=a', 'approved-by=edith') ?? '', /needs the verb approve/)
    assert.match(annotate('edith', 'approved-plan=a', 'approved-by=alice') ?? '', /must be the user who approves/)
    assert.match(annotate('alice', 'approved-plan=a', 'approved-by=edith') ?? '', /must be the user who approves/)
    assert.match(annotate('alice', 'approved-plan=a') ?? '', /must be the user who approves/)
    assert.equal(annotate('alice', 'approved-plan=a', 'approved-by=alice'), undefined)
    assert.match(
      annotate('edith', 'approved-plan=b') ?? '',
      /must be the user who approves/,
      'another plan in her name',
    )
    assert.match(annotate('alice', 'denied-plan=a', 'denied-by=edith') ?? '', /must be the user who denies/)
    assert.match(annotate('edith', 'denied-plan=a', 'denied-by=edith') ?? '', /needs the verb approve/)
    assert.equal(annotate('edith', 'retry=now'), undefined, 'everything else is allowed as before')
  })

  it('keeps those without the verb from loosening the rules', () => {
    assert.match(patch('edith', { approval: 'Auto' }) ?? '', /need the verb approve/)
    assert.match(patch('edith', { approval: null }) ?? '', /need the verb approve/)
    assert.match(patch('edith', { guard: [] }) ?? '', /need the verb approve/)
    assert.equal(patch('edith', { timeout: '2h' }), undefined)
    assert.match(
      tried('edith', ['create', '-f', '-'], apply('two', { approval: 'Auto' })) ?? '',
      /need the verb approve/,
    )
    assert.equal(tried('edith', ['create', '-f', '-'], apply('three')), undefined)
    assert.equal(patch('alice', { approval: 'Auto', guard: ['aws_vpc'] }), undefined)
    prove(
      'kube-apiserver',
      VERSIONS.kube,
      'only the verb approve approves plans, and only in its own name',
      '17 requests',
    )
  })
})
