// The chart, rendered by the real helm: the same objects and the same rights as install.yaml, settings that reach their
// places, values that the schema refuses, and a real API server that accepts it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import type { JsonObject } from '#lib'
import { releaseFiles } from '../../../scripts/release-files.ts'
import { binary, type Kube, startKube, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const CHART = join(import.meta.dirname, '../../../charts/capt')

interface Rendered {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly rules?: unknown
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[]
  readonly spec?: JsonObject
}

function helm(args: readonly string[]): { readonly status: number | null; readonly out: string; readonly err: string } {
  const { status, stdout, stderr } = spawnSync(binary('helm'), args, { encoding: 'utf8', maxBuffer: 64 << 20 })
  return { status, out: stdout, err: stderr }
}

function template(release: string, namespace: string, ...more: readonly string[]): string {
  const ran = helm(['template', release, CHART, '--namespace', namespace, '--kube-version', '1.33', ...more])
  assert.equal(ran.status, 0, ran.err)
  return ran.out
}
const objects = (text: string): Rendered[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as Rendered | null) ?? [])
const idOf = ({ kind, metadata }: Rendered) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`

/** What each account may do: the rules of every role that is bound to it. */
function rights(all: readonly Rendered[]): Map<string, string[]> {
  const granted = new Map<string, string[]>()
  for (const { kind: binding, roleRef, subjects } of all)
    for (const subject of subjects ?? []) {
      const account = `${subject.namespace}/${subject.name}`
      const role = all.find(({ kind, metadata }) => kind === roleRef!.kind && metadata.name === roleRef!.name)
      assert.ok(role, `${roleRef!.name} is there`)
      granted.set(account, [...(granted.get(account) ?? []), `${binding} ${JSON.stringify(role.rules)}`].sort())
    }
  return granted
}

const install = objects(releaseFiles({ version: '9.9.9' }).get('install.yaml')!)

describe('the chart', () => {
  const chart = objects(template('capt', 'capt-system'))

  it('passes helm lint', () => {
    const { status, out, err } = helm(['lint', '--strict', CHART])
    assert.equal(status, 0, out + err)
  })

  it('gives the same rights to the same account as install.yaml', () => {
    assert.deepEqual(rights(chart), rights(install))
    assert.ok([...rights(chart).values()].flat().length > 2)
  })

  it('has the objects of install.yaml, but for the Namespace, and the same pod', () => {
    const names = (all: readonly Rendered[]) =>
      all
        .filter(({ kind }) => kind !== 'Namespace')
        .map((one) => idOf(one).replace(/\/(capt-)?/, '/'))
        .sort()
    assert.deepEqual(names(chart), names(install))
    const pod = (all: readonly Rendered[]) => {
      const { template } = all.find(({ kind }) => kind === 'Deployment')!.spec as { template: { spec: JsonObject } }
      const [{ image, imagePullPolicy, env, ...container }] = template.spec['containers'] as [JsonObject]
      assert.ok(imagePullPolicy === undefined || imagePullPolicy === 'IfNotPresent')
      // The two are of different versions.
      const anyVersion = (value: unknown) => JSON.stringify(value).replace(/:v\d+\.\d+\.\d+/g, '')
      return { ...template.spec, containers: [container], image: anyVersion(image), env: anyVersion(env) }
    }
    assert.deepEqual(pod(chart), pod(install))
    const local = objects(template('capt', 'capt-system', '--set', 'engine=local'))
    const installLocal = objects(releaseFiles({ version: '9.9.9' }).get('install-local-engine.yaml')!)
    assert.deepEqual(names(local), names(installLocal))
    assert.deepEqual(rights(local), rights(installLocal))
    assert.deepEqual(pod(local), pod(installLocal))
    for (const { metadata } of chart.filter(({ kind }) => kind === 'CustomResourceDefinition'))
      assert.equal(metadata.annotations?.['helm.sh/resource-policy'], 'keep')
  })

  it('shares no object with a second release, and selects its own pods alone', () => {
    const other = objects(template('team', 'team', '--set', 'crds.install=false'))
    const taken = new Set(chart.map(idOf))
    assert.deepEqual(
      other.map(idOf).filter((id) => taken.has(id)),
      [],
    )
    const selector = other.find(({ kind }) => kind === 'Deployment')!.spec!['selector']
    assert.ok(JSON.stringify(selector).includes('"app.kubernetes.io/instance":"team"'))
    assert.deepEqual([...rights(other).keys()], ['team/team-capt-controller-manager'])
  })

  it('puts settings in their places, and refuses those that it does not know', () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const set = ['image.repository=r.example/t/capt', `image.digest=${digest}`, 'image.tag=v1', 'extraArgs={--x=1}']
    const more = [
      'networkPolicy.enabled=false',
      'serviceAccount.annotations.who=me',
      'runServiceAccount.annotations.who=runs',
      'runnerImage.repository=r.example/t/runner',
      'resources.limits.memory=1Gi',
      'terminationGracePeriodSeconds=0',
      'podAnnotations.a=b',
      'replicas=2',
    ]
    const text = template('capt', 'capt-system', ...[...set, ...more].flatMap((one) => ['--set', one]))
    const all = objects(text)
    const deployment = all.find(({ kind }) => kind === 'Deployment')!
    const { template: pod, replicas } = deployment.spec as unknown as {
      template: Rendered & { spec: JsonObject }
      replicas: number
    }
    const [container] = pod.spec['containers'] as [
      { image: string; args: string[]; env: { name: string; value: string }[]; resources: JsonObject },
    ]
    const runner = container.env.find(({ name }) => name === 'CAPT_RUNNER_IMAGE')?.value
    assert.match(String(runner), /^r\.example\/t\/runner:v\d/)
    assert.deepEqual(container.resources, { limits: { memory: '1Gi' } })
    assert.equal(pod.spec['terminationGracePeriodSeconds'], 0)
    assert.equal(container.image, `r.example/t/capt:v1@${digest}`)
    assert.equal(container.args.at(-1), '--x=1')
    assert.deepEqual([replicas, pod.metadata.annotations?.['a']], [2, 'b'])
    assert.deepEqual(
      all.flatMap(({ kind, metadata }) => (kind === 'ServiceAccount' ? [metadata.annotations?.['who']] : [])),
      ['me', 'runs'],
    )
    assert.ok(!all.some(({ kind }) => kind === 'NetworkPolicy'))
    for (const wrong of [
      'image.digest=1',
      'imagee.tag=1',
      'replicas=many',
      'image.pullPolicy=Sometimes',
      'engine=both',
    ]) {
      const ran = helm(['template', 'capt', CHART, '--kube-version', '1.33', '--set', wrong])
      assert.notEqual(ran.status, 0, wrong)
      assert.match(ran.err, /values don't meet the specifications of the schema/)
    }
  })
})

describe('the chart on a real API server', () => {
  let kube: Kube
  before(async () => {
    kube = await startKube({ name: 'helm' })
  })
  after(() => kube?.stop())

  it('is installed by helm, and uninstalled without its kinds', () => {
    const at = ['--kubeconfig', kube.kubeconfig, '--namespace', 'capt-system']
    const ran = helm(['install', 'capt', CHART, ...at, '--create-namespace'])
    assert.equal(ran.status, 0, ran.err)
    const found = kube.kubectl(['get', 'deployment,clusterrole', '-A', '-o', 'name'])
    assert.match(found, /deployment\.apps\/capt-controller-manager/)
    assert.match(found, /clusterrole\.rbac\.authorization\.k8s\.io\/capt-manager-role/)
    assert.equal(helm(['uninstall', 'capt', ...at]).status, 0)
    assert.match(kube.kubectl(['get', 'crd', '-o', 'name']), /captclusters\.infrastructure\.cluster\.x-k8s\.io/)
    prove('helm', VERSIONS.helm, 'the chart is installed and uninstalled; the same rights as install.yaml')
  })
})
