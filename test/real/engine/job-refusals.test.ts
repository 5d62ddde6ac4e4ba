// What a real cluster refuses to runs in Jobs: quotas, a policy, an account that is gone, tokens that end too soon, a namespace
// that is being deleted. Each is named where people look, nothing runs meanwhile, and the run goes on when the cause is gone.
// Then who approved a plan, with and without the shipped policy, and the program of a run in an image with two.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  JobKind,
  type KindRef,
  NamespaceKind,
  RoleKind,
  SecretKind,
  ServiceAccountKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { readRecord } from '#engine'
import { anApply, aTemplate } from '#testing'
import { conditionOf, isTrue } from '../support/api.ts'
import { TOFU, tofuFolder, until, VERSIONS } from '../support/lab.ts'
import { type Installed, releaseFile, startInstalled } from '../support/managers/installed.ts'
import { prove } from '../support/proofs.ts'
import { HOME_NAMESPACE as HOME } from '../support/world.ts'

const CAPT = join(import.meta.dirname, '../../../bin/capt')
const MODULE = `variable "text" {
  type    = string
  default = "one"
}
resource "terraform_data" "x" { input = var.text }`
const HOUR_SECONDS = 3600

describe('a run in a Job on a real API server', () => {
  let installed: Installed
  before(async () => {
    const flags = [`--service-account-max-token-expiration=${2 * HOUR_SECONDS}s`]
    installed = await startInstalled({ name: 'refusals', flags, programs: [tofuFolder()] })
  })
  after(() => installed?.stop())

  const kubectl = (...args: readonly string[]) => installed.kube.kubectl(args)
  const find = (name: string, namespace = 'default') => installed.api.find(WorkspaceTemplateApply, name, namespace)
  const make = async (name: string, spec: object = {}, template: object = {}, namespace = 'default') => {
    const { client } = installed.api
    const at = { name, namespace }
    const one = aTemplate(MODULE, {}, at)
    const inner = { ...one.spec.template, spec: { ...one.spec.template.spec, ...template } }
    await client.create(WorkspaceTemplate, { ...one, spec: { ...one.spec, template: inner } })
    await client.create(WorkspaceTemplateApply, anApply({ templateRef: { name }, ...spec }, at))
  }
  const reports = (name: string, message: RegExp, namespace?: string) =>
    until(
      `${name} reports ${message}`,
      async () => message.test(conditionOf(await find(name, namespace), 'Ready')?.['message'] ?? ''),
      120,
      installed.manager,
    )
  const succeeds = (name: string) =>
    until(`${name} is ready`, async () => isTrue(await find(name), 'Ready'), 240, installed.manager)
  const historyOf = async (name: string) => {
    const { record } = (await readRecord(installed.api.client, { namespace: 'default', name }))!
    return record.history.map(({ phase, message = '' }) => `${phase} ${message}`.trim())
  }
  const startedFor = (name: string) => installed.kubelet.started.filter((job) => job.startsWith(`capt-${name}-`)).length
  const namesOf = async (kind: KindRef, namespace: string, part: string) =>
    (await installed.api.list(kind, { namespace }))
      .map(({ metadata }) => metadata.name as string)
      .filter((name) => name.includes(part))
  /** A quota, with the status that its controller writes. */
  function setQuota(resource: string): void {
    kubectl('create', 'quota', 'small', '-n', HOME, `--hard=${resource}=0`)
    const status = { hard: { [resource]: '0' }, used: { [resource]: '0' } }
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]
    kubectl('patch', 'resourcequota', 'small', '-n', HOME, ...patch)
  }

  it('names the quota that refuses its pod, and begins when there is room', async () => {
    setQuota('pods')
    await make('pods')
    await reports('pods', /the quota refuses the pod of the run: .*exceeded quota: small.*ResourceQuota/)
    assert.equal(startedFor('pods'), 0)
    kubectl('delete', 'quota', 'small', '-n', HOME)
    await succeeds('pods')
    assert.deepEqual([await historyOf('pods'), startedFor('pods')], [['Succeeded'], 1])
  })

  it('names the quota that refuses its Job, keeps no credentials, and is tried again', async () => {
    setQuota('count/jobs.batch')
    await make('jobs')
    await reports('jobs', /the quota refuses what the run needs: .*exceeded quota: small/)
    assert.deepEqual(await namesOf(JobKind, HOME, 'capt-jobs-'), [])
    assert.deepEqual(await namesOf(SecretKind, HOME, 'capt-jobs-'), [])
    assert.equal((await find('jobs'))?.['status'].lastError.code, 'CAPT_RUN_QUOTA_EXCEEDED')
    kubectl('delete', 'quota', 'small', '-n', HOME)
    kubectl('annotate', 'wtapply', 'jobs', 'capt.appthrust.com/retry=now')
    await succeeds('jobs')
    assert.equal(startedFor('jobs'), 1)
  })

  it('names the policy that refuses its pod', async () => {
    const matchResources = {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    }
    const metadata = { name: 'no-pods' }
    const group = 'admissionregistration.k8s.io/v1'
    const validations = [{ expression: 'false', message: 'no pods on Sundays' }]
    const policy = { matchConstraints: matchResources, validations }
    const binding = { policyName: 'no-pods', validationActions: ['Deny'] }
    installed.apply(JSON.stringify({ apiVersion: group, kind: 'ValidatingAdmissionPolicy', metadata, spec: policy }))
    installed.apply(
      JSON.stringify({ apiVersion: group, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec: binding }),
    )
    const isRefused = () => {
      try {
        kubectl('run', 'probe', '--image=x', '--dry-run=server')
        return false
      } catch {
        return true
      }
    }
    await until('the policy counts', isRefused)
    await make('policy')
    await reports('policy', /the pod of the run is refused: .*no pods on Sundays.*policy or the webhook/)
    kubectl('delete', 'validatingadmissionpolicybinding,validatingadmissionpolicy', 'no-pods')
    await succeeds('policy')
    assert.deepEqual(await historyOf('policy'), ['Succeeded'])
  })

  it('names the account of the runs when that is gone', async () => {
    const account = kubectl('get', 'serviceaccount', 'capt-run', '-n', HOME, '-o', 'json')
    kubectl('delete', 'serviceaccount', 'capt-run', '-n', HOME)
    await make('account')
    await reports('account', /the pod of the run is refused: .*serviceaccount "capt-run" not found/)
    const { metadata, ...rest } = JSON.parse(account) as { metadata: { labels?: object } }
    installed.apply(
      JSON.stringify({ ...rest, metadata: { name: 'capt-run', namespace: HOME, labels: metadata.labels } }),
    )
    await succeeds('account')
  })

  it('whose image cannot be pulled says so, and begins when it can', async () => {
    const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x": not found' }
    const container = { name: 'runner', image: 'x', imageID: '', ready: false, restartCount: 0, state: { waiting } }
    installed.kubelet.hold({ containerStatuses: [container] }, 'capt-image-')
    await make('image')
    await reports('image', /the image of the runner cannot be pulled: Back-off .*--runner-image/)
    installed.kubelet.hold(undefined, 'capt-image-')
    await succeeds('image')
    assert.deepEqual(await historyOf('image'), ['Succeeded'])
  })

  it('that needs a longer token than the server gives is refused before it starts', async () => {
    await make('token', { timeout: '3h' })
    await reports('token', /gives out tokens for 7200 seconds; a run with this timeout needs one for 11580/)
    assert.equal((await find('token'))?.['status'].lastError.code, 'CAPT_RUN_TOKEN_SHORTENED')
    assert.deepEqual([startedFor('token'), await namesOf(SecretKind, HOME, 'capt-token-')], [0, []])
    await installed.api.patch(WorkspaceTemplateApply, 'token', { spec: { timeout: '1h' } })
    kubectl('annotate', 'wtapply', 'token', 'capt.appthrust.com/retry=now')
    await succeeds('token')
    prove('engine job', VERSIONS.kube, 'quota, policy, account, image and token that refuse a run, each by name', '6')
  })

  it('in a namespace that is deleted before it starts lets that namespace go', async () => {
    const metadata = { name: 'leaving' }
    await installed.api.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata })
    setQuota('pods')
    await make('leaves', {}, {}, 'leaving')
    await reports('leaves', /the quota refuses the pod/, 'leaving')
    await installed.api.remove(NamespaceKind, 'leaving')
    const gone = async () => (await installed.api.find(NamespaceKind, 'leaving')) === undefined
    await until('the namespace is gone', gone, 240, installed.manager)
    kubectl('delete', 'quota', 'small', '-n', HOME)
    assert.equal(startedFor('leaves'), 0)
    for (const kind of [ServiceAccountKind, SecretKind, JobKind, RoleKind])
      assert.deepEqual(await namesOf(kind, HOME, 'leaves'), [], kind.kind)
  })

  it('is approved by somebody unverified without the shipped policy, and by name with it', async () => {
    const { kube } = installed
    const approve = (hash: string) =>
      execFileSync(CAPT, ['approve', 'manual', '--plan', hash, '--kubeconfig', kube.kubeconfig], { stdio: 'pipe' })
    const waits = async () => {
      let plan: { hash: string; approval: string } | undefined
      const isWaiting = async () => {
        plan = (await find('manual'))?.['status']?.plan
        return plan?.approval === 'Required'
      }
      await until('a plan waits', isWaiting, 120, installed.manager)
      return plan!.hash
    }
    const approved = async (hash: string) => {
      approve(hash)
      const isApplied = async () => (await find('manual'))?.['status']?.plan?.approval === 'Approved'
      await until('the approved plan is applied', isApplied, 120, installed.manager)
      await succeeds('manual')
      const { hash: applied, approvedBy, approver } = (await find('manual'))!['status'].plan
      return { isSame: applied === hash, approvedBy, approver }
    }
    await make('manual', { approval: 'Manual' })
    assert.deepEqual(await approved(await waits()), { isSame: true, approvedBy: 'admin', approver: 'unverified' })
    installed.apply(releaseFile('approval-policy.yaml'))
    const others = ['annotate', 'wtapply', 'manual', '--overwrite', 'capt.appthrust.com/approved-by=other']
    const isRefused = () => {
      try {
        kubectl(...others, 'capt.appthrust.com/approved-plan=x', '--dry-run=server')
        return false
      } catch {
        return true
      }
    }
    await until('the policy counts', isRefused)
    await installed.api.patch(WorkspaceTemplateApply, 'manual', { spec: { values: { text: 'two' } } })
    assert.deepEqual(await approved(await waits()), { isSame: true, approvedBy: 'admin', approver: 'verified' })
    prove('engine job', VERSIONS.kube, 'approved: unverified without the policy, verified with it')
  })

  it('destroys with the program of the last apply, whatever its template names by now', async () => {
    await make('other', {}, { tool: { name: 'tofu' } })
    await succeeds('other')
    const toolOf = async () => (await readRecord(installed.api.client, { namespace: 'default', name: 'other' }))!.record
    assert.equal((await toolOf()).bundle?.tool, `tofu ${TOFU}`)
    await installed.api.patch(WorkspaceTemplateApply, 'other', { spec: { suspend: true } })
    const tool = { name: 'terraform' }
    await installed.api.patch(WorkspaceTemplate, 'other', { spec: { template: { spec: { tool } } } })
    await installed.api.remove(WorkspaceTemplateApply, 'other')
    await installed.api.patch(WorkspaceTemplateApply, 'other', { spec: { suspend: false } })
    await until('the apply is gone', async () => (await find('other')) === undefined, 240, installed.manager)
    prove('tofu', TOFU, 'a run in a Job is destroyed by the program that made it')
  })
})
