// The script of modules/karpenter against a real API server, over TLS and with a token as EKS clusters ask for: the entry in
// aws-auth comes and goes without touching its neighbours, and NodePools hold a destroy back.
// Needs CAPT_REAL_KUBECONFIG: a kubeconfig of a throw-away server.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { until } from '../support/lab.ts'

const SCRIPT = join(import.meta.dirname, '../../../modules/karpenter/scripts/cluster.sh')
const ROLE = 'arn:aws:iam::111122223333:role/KarpenterNodeRole-demo'
const ROLES =
  '# "quoted" <kept> & ünchanged\n- groups:\n  - system:bootstrappers\n  - system:nodes\n  rolearn: arn:aws:iam::111122223333:role/ng\n  username: system:node:{{EC2PrivateDNSName}}\n'
const ACCOUNT = 'capt-module-script'
const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'nodepools.karpenter.sh' },
  spec: {
    group: 'karpenter.sh',
    scope: 'Cluster',
    names: { kind: 'NodePool', listKind: 'NodePoolList', plural: 'nodepools', singular: 'nodepool' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

let kubeconfig: string
let environment: Record<string, string>

function kubectl(args: readonly string[], input?: string): string {
  return execFileSync('kubectl', [`--kubeconfig=${kubeconfig}`, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(input === undefined ? {} : { input }),
  })
}
const mapRoles = () => kubectl(['-n', 'kube-system', 'get', 'configmap', 'aws-auth', '-o', 'jsonpath={.data.mapRoles}'])
const run = (verb: string) => spawnSync('sh', [SCRIPT, verb], { env: environment, encoding: 'utf8', timeout: 60_000 })

/** A definition is established a moment before its objects can be asked for. */
const untilServed = (resource: string): Promise<void> =>
  until(`${resource} is served`, () => {
    try {
      return kubectl(['get', resource, '-o', 'name']) === ''
    } catch {
      return false
    }
  })

function clean(): void {
  kubectl(['-n', 'kube-system', 'delete', 'configmap/aws-auth', `serviceaccount/${ACCOUNT}`, '--ignore-not-found'])
  kubectl(['delete', `clusterrolebinding/${ACCOUNT}`, 'crd/nodepools.karpenter.sh', '--ignore-not-found'])
}

before(() => {
  kubeconfig = process.env['CAPT_REAL_KUBECONFIG'] ?? ''
  assert.ok(kubeconfig, 'set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')
  clean()
  kubectl(['-n', 'kube-system', 'create', 'serviceaccount', ACCOUNT])
  kubectl([
    'create',
    'clusterrolebinding',
    ACCOUNT,
    '--clusterrole=cluster-admin',
    `--serviceaccount=kube-system:${ACCOUNT}`,
  ])
  const view = (path: string) =>
    kubectl(['config', 'view', '--raw', '--minify', '-o', `jsonpath={.clusters[0].cluster.${path}}`])
  environment = {
    PATH: process.env['PATH'] ?? '',
    ENDPOINT: view('server'),
    CA_DATA: view('certificate-authority-data'),
    CLUSTER_NAME: 'demo',
    REGION: 'eu-west-1',
    ROLE_ARN: ROLE,
    KUBE_TOKEN: kubectl(['-n', 'kube-system', 'create', 'token', ACCOUNT]).trim(),
  }
})
after(clean)

describe('the module script on a real API server', () => {
  it('adds its entry once and takes exactly it out again', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'aws-auth', namespace: 'kube-system' },
      data: { mapRoles: ROLES, mapUsers: '[]\n' },
    }
    kubectl(['apply', '-f', '-'], JSON.stringify(object))
    for (const verb of ['aws-auth-add', 'aws-auth-add']) assert.deepEqual([run(verb).status, run(verb).stderr], [0, ''])
    assert.equal(
      mapRoles(),
      `${ROLES}- groups:\n  - system:bootstrappers\n  - system:nodes\n  rolearn: ${ROLE}\n  username: system:node:{{EC2PrivateDNSName}}\n`,
    )
    assert.equal(run('aws-auth-remove').status, 0)
    assert.equal(mapRoles(), ROLES)
    assert.equal(
      kubectl(['-n', 'kube-system', 'get', 'configmap', 'aws-auth', '-o', 'jsonpath={.data.mapUsers}']),
      '[]\n',
    )
  })

  it('holds a destroy back only while NodePools exist', async () => {
    assert.equal(run('gate').status, 0)
    kubectl(['create', '-f', '-'], JSON.stringify(CRD))
    kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd/nodepools.karpenter.sh'])
    await untilServed('nodepools.karpenter.sh')
    assert.equal(run('gate').status, 0)
    kubectl(
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'default' } }),
    )
    const held = run('gate')
    assert.deepEqual([held.status, /NodePools still exist in demo: default/.test(held.stderr)], [1, true])
    kubectl(['delete', 'nodepool.karpenter.sh', 'default'])
    assert.equal(run('gate').status, 0)
  })
})
