// The engine `job` on a real API server with the real controller of Jobs, under the rights of install.yaml as it is
// rendered and nothing more. An actor plays the kubelet: it gives each process only what its pod mounts.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  clusterKind,
  JobKind,
  type KindRef,
  NamespaceKind,
  PodKind,
  RoleBindingKind,
  RoleKind,
  SecretKind,
  ServiceAccountKind,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { readRecord } from '#engine'
import { createClient, fixedCredentials, isKubeError } from '#kube'
import { anApply, aTemplate } from '#testing'
import type { ClusterActor } from '../../support/engine/cluster-actor.ts'
import { type Api, accessOf, isTrue } from '../support/api.ts'
import { describeRequests, requestsSince } from '../support/audit.ts'
import { type Kube, until } from '../support/lab.ts'
import { type Installed, startInstalled } from '../support/managers/installed.ts'
import { prove } from '../support/proofs.ts'
import { HOME_NAMESPACE as HOME, workloadSecret } from '../support/world.ts'

const CLUSTER = clusterKind('v1beta2')
const EXAMPLE = readFileSync(join(import.meta.dirname, '../../../examples/simulation.yaml'), 'utf8')
const WITHOUT_ADDONS = EXAMPLE.replace(
  /^ {4}(fluxcd\.io\/enabled|installation\.appthrust\.com\/eks-karpenter): .*\n/gm,
  '',
)
const MODULE = `
variable "seconds" { type = number }
resource "terraform_data" "one" { input = "one" }
resource "terraform_data" "slow" {
  input = var.seconds
  provisioner "local-exec" { command = "sleep \${var.seconds}" }
}
output "one" { value = terraform_data.one.output }
`

describe('runs in Jobs with the rights of install.yaml', () => {
  let installed: Installed
  let kube: Kube
  let api: Api
  let actor: ClusterActor
  /** What was tried with the identity of a run, and refused. */
  let denials = 0

  before(async () => {
    installed = await startInstalled({ name: 'job', audit: true, beside: ['run-data-policy.yaml'] })
    ;({ kube, api, kubelet: actor } = installed)
  })
  after(() => installed?.stop())

  const make = async (name: string, namespace: string, seconds: number) => {
    const client = api.client
    await client.create(WorkspaceTemplate, aTemplate(MODULE, {}, { name, namespace }))
    const spec = { templateRef: { name }, values: { seconds }, writeConnectionSecretToRef: { name: `${name}-out` } }
    await client.create(WorkspaceTemplateApply, anApply(spec, { name, namespace }))
  }
  const isReady = async (name: string, namespace: string) =>
    isTrue(await api.find(WorkspaceTemplateApply, name, namespace), 'Ready')
  const phaseOf = async (name: string) =>
    (await api.find(WorkspaceTemplateApply, name))?.['status']?.run?.phase as string | undefined
  const namesOf = async (kind: KindRef, namespace: string, part: string) =>
    (await api.list(kind, { namespace }))
      .map(({ metadata }) => metadata.name as string)
      .filter((name) => name.includes(part))

  it('an apply becomes Ready, and only its record, state and role are kept', async () => {
    await make('first', 'default', 0)
    await until('the apply is ready', () => isReady('first', 'default'), 180, installed.manager)
    assert.equal((await api.get(WorkspaceTemplateApply, 'first'))['status'].outputs.one, 'one')
    await until(
      'its Job is gone',
      async () => (await api.list(JobKind, { namespace: HOME })).length === 0,
      60,
      installed.manager,
    )
    assert.deepEqual(await namesOf(SecretKind, HOME, 'capt-first'), [], 'the credentials of the run are gone')
    assert.equal((await namesOf(RoleKind, 'default', 'capt-workspace-first')).length, 1)
    prove('engine job', 'kube-apiserver', 'an apply runs under a role that names its objects alone')
  })

  it('the identity of a run reaches its own objects and nothing else', async () => {
    const [account = ''] = await namesOf(ServiceAccountKind, HOME, 'capt-workspace-first')
    const token = kube.kubectl(['create', 'token', account, '-n', HOME]).trim()
    const own = createClient({ ...accessOf(kube), credentials: fixedCredentials({ token }) })
    const [record = ''] = await namesOf(SecretKind, 'default', 'capt-run-first')
    assert.ok(await own.get(SecretKind, { namespace: 'default', name: record }))
    const denied = async (work: Promise<unknown>) => {
      await assert.rejects(work, (error) => isKubeError(error, 'Forbidden'))
      denials++
    }
    const secret = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'default', name } })
    await denied(own.get(SecretKind, { namespace: 'default', name: 'first-other' }))
    await denied(own.get(SecretKind, { namespace: HOME, name: record }))
    await denied(own.create(SecretKind, secret(record)))
    await denied(own.create(SecretKind, secret('another')))
    await denied(own.apply(SecretKind, secret('another')))
    await denied(own.list(SecretKind, { namespace: 'default' })[Symbol.asyncIterator]().next())
    await denied(own.get(PodKind, { namespace: HOME, name: 'x' }))
    await denied(own.get(RoleKind, { namespace: 'default', name: account }))
    await own.close()
    prove('engine job', 'kube-apiserver', 'what the identity of a run is denied')
  })

  it('a tenant who may write Secrets changes none that its runs work from', async () => {
    kube.kubectl(['create', 'rolebinding', 'tenant', '-n', 'default', '--clusterrole=edit', '--user=edith'])
    const write = (...args: readonly string[]) => kube.kubectl(['-n', 'default', '--as', 'edith', ...args])
    await until('the role of the tenant', () => write('create', 'secret', 'generic', 'own').includes('created'), 30)
    const [record = ''] = await namesOf(SecretKind, 'default', 'capt-run-first')
    const kept = await namesOf(SecretKind, 'default', record.replace('capt-run-', ''))
    assert.ok(
      kept.some((name) => name.includes('-slot-')) && kept.some((name) => name.startsWith('tfstate-')),
      `${kept}`,
    )
    const patch = JSON.stringify({ stringData: { bundle: 'local-exec', record: '{}', tfstate: 'another provider' } })
    for (const name of kept)
      assert.throws(() => write('patch', 'secret', name, '-p', patch), /only capt writes it/, name)
    prove('engine job', 'kube-apiserver', 'edit changes nothing that a run works from', `${kept.length} Secrets`)
  })

  it('a pod that is killed is followed by another, which goes on from the saved state', async () => {
    await make('second', 'default', 6)
    const isAtWork = async () => (await phaseOf('second')) === 'Apply' || actor.containers.size > 0
    await until('Terraform applies', isAtWork, 120, installed.manager)
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    assert.deepEqual(childrenOf(installed.manager.pid), [], 'the manager starts no process')
    await actor.kill()
    await until('the apply is ready', () => isReady('second', 'default'), 240, installed.manager)
    assert.equal(actor.started.filter((name) => name.startsWith('capt-second-')).length, 2)
  })

  it('a manager that is killed adopts the run that went on without it', async () => {
    await make('third', 'default', 8)
    await until(
      'the run has a pod',
      () => actor.started.some((name) => name.startsWith('capt-third-')),
      120,
      installed.manager,
    )
    await installed.replaceManager()
    await until('the apply is ready', () => isReady('third', 'default'), 240, installed.manager)
    assert.equal(actor.started.filter((name) => name.startsWith('capt-third-')).length, 1, 'nothing was run twice')
  })

  it('a run whose account, role and Secret are deleted under it goes on when the manager has made them again', async () => {
    await make('fifth', 'default', 45)
    await until('Terraform applies', async () => (await phaseOf('fifth')) === 'Apply', 120, installed.manager)
    const [account = ''] = await namesOf(ServiceAccountKind, HOME, 'capt-workspace-fifth')
    const bare = JSON.stringify({ metadata: { finalizers: null } })
    for (const kind of ['role', 'rolebinding']) {
      kube.kubectl(['patch', kind, account, '-n', 'default', '--type=merge', '-p', bare])
      kube.kubectl(['delete', kind, account, '-n', 'default', '--ignore-not-found'])
    }
    kube.kubectl(['delete', 'serviceaccount', account, '-n', HOME])
    await until('the apply is ready', () => isReady('fifth', 'default'), 300, installed.manager)
    const { history } = (await readRecord(api.client, { namespace: 'default', name: 'fifth' }))!.record
    assert.deepEqual(
      history.map(({ phase, message = '' }) => `${phase} ${message}`),
      ['Succeeded '],
    )
    assert.equal(actor.started.filter((name) => name.startsWith('capt-fifth-')).length, 1, 'nothing was run twice')
    prove('engine job', 'kube-apiserver', 'account, role and Secret deleted under a run are made again')
  })

  it('a cluster becomes Available, and is deleted with its namespace', async () => {
    await api.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } } as never)
    kube.kubectl(['apply', '-f', '-'], JSON.stringify(workloadSecret({ namespace: 'team', name: 'demo' }, kube)))
    kube.kubectl(['apply', '-n', 'team', '-f', '-'], WITHOUT_ADDONS)
    const available = async () => isTrue(await api.find(CLUSTER, 'demo', 'team'), 'Available')
    await until('the cluster is Available', available, 480, installed.manager)
    const jobs = actor.started.filter((name) => name.startsWith('capt-demo-'))
    const runs = jobs.map((name) => name.split('-').slice(0, 3).join('-'))
    assert.deepEqual(
      runs,
      ['capt-demo-vpc', 'capt-demo-eks'],
      `each once: ${jobs.join(', ')}\n${readFileSync(installed.manager.log, 'utf8')}`,
    )
    await api.remove(NamespaceKind, 'team')
    await until('the namespace is gone', async () => !(await api.find(NamespaceKind, 'team')), 480, installed.manager)
    prove(
      'engine job',
      'kube-apiserver',
      'install.yaml as rendered: a cluster is Available, and goes with its namespace',
    )
  })

  it('the audit log has no run that reached beyond its own objects', () => {
    const runs = requestsSince(kube).filter(({ user }) =>
      user.startsWith(`system:serviceaccount:${HOME}:capt-workspace-`),
    )
    const ours = runs.filter(({ agent }) => agent.startsWith('capt-runner'))
    const tried = runs.filter((request) => !ours.includes(request))
    assert.equal(tried.filter(({ code }) => code === 403).length, denials, describeRequests(tried))
    assert.ok(ours.length > 50, `${ours.length} requests of runs`)
    const strange = ours.filter(({ user, resource, name }) => {
      const suffix = user.split(':capt-workspace-')[1] ?? ''
      // Outputs go to the Secret that the apply names.
      const isOwn = name.includes(suffix) || /-(out|connection)$/.test(name)
      return !(['secrets', 'leases'].includes(resource) && isOwn) && !(resource === 'clusters' && name === 'demo')
    })
    assert.deepEqual(
      strange.map(({ verb, resource, namespace, name }) => `${verb} ${resource} ${namespace}/${name}`),
      [],
    )
    assert.deepEqual(
      ours.filter(({ verb }) => ['list', 'watch', 'deletecollection'].includes(verb)),
      [],
    )
    const capt = requestsSince(kube).filter(({ user }) => user === 'system:serviceaccount:capt-system:capt-run')
    assert.deepEqual(capt, [], 'the account towards the cloud asks the API for nothing')
    prove('engine job', 'kube-apiserver', 'audit: runs reach their own objects alone', `${ours.length} requests`)
  })

  it('a namespace that is deleted goes away after its destroy, and nothing is left of the workspaces', async () => {
    await api.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant' } } as never)
    await make('fourth', 'tenant', 0)
    await until('the apply is ready', () => isReady('fourth', 'tenant'), 180, installed.manager)
    await api.remove(NamespaceKind, 'tenant')
    await until(
      'the namespace is gone',
      async () => (await api.find(NamespaceKind, 'tenant')) === undefined,
      240,
      installed.manager,
    )
    for (const name of ['first', 'second', 'third', 'fifth']) await api.remove(WorkspaceTemplateApply, name)
    const left = async () => (await api.list(WorkspaceTemplateApply)).length
    await until('the applies are gone', async () => (await left()) === 0, 300, installed.manager)
    for (const [kind, namespace] of [
      [ServiceAccountKind, HOME],
      [RoleKind, 'default'],
      [RoleBindingKind, 'default'],
      [SecretKind, 'default'],
    ] as const)
      assert.deepEqual(
        (await namesOf(kind, namespace, 'capt-')).filter((name) => !/^capt-(controller|run$)/.test(name)),
        [],
        kind.kind,
      )
    assert.deepEqual((await api.list(JobKind, { namespace: HOME })).length, 0)
    prove(
      'engine job',
      'kube-apiserver',
      'destroyed from a terminating namespace; no Role, ServiceAccount or Secret left',
    )
  })
})

function childrenOf(pid: number): readonly string[] {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )
}
