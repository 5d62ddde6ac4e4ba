// A cluster of the older project is taken over by the shipped program: manifests in the shape of that project, state that
// real Terraform wrote through its Kubernetes backend as Crossplane uses it. Nothing is made a second time.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import {
  type AnyObject,
  apiVersionOf,
  clusterKind,
  type KindRef,
  LeaseKind,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { connect, loadKubeconfig } from '#kube'
import { planted } from '../../support/secrets/planted.ts'
import { findTool, run } from '../../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const terraform = findTool('terraform')
const skip = terraform ? false : 'terraform is not installed'

const VPC = `variable "name" { type = string }
variable "cluster_name" { type = string }
resource "terraform_data" "vpc" {
  input = { id = "vpc-0a1b", name = var.name, tags = { "karpenter.sh/discovery" = var.cluster_name } }
}
resource "terraform_data" "private" {
  count = 3
  input = { id = "subnet-0a\${count.index}", vpc = terraform_data.vpc.output.id }
}
output "vpc_id" { value = terraform_data.vpc.output.id }
output "private_subnets" { value = terraform_data.private[*].output.id }
output "vpc_config" {
  sensitive = true
  value     = "vpc_id = \\"\${terraform_data.vpc.output.id}\\"\\nprivate_subnets = \${jsonencode(terraform_data.private[*].output.id)}\\n"
}
`
const EKS = `variable "cluster_name" { type = string }
variable "kubernetes_version" { type = string }
variable "region" { type = string }
variable "vpc_id" { type = string }
variable "private_subnets" { type = list(string) }
variable "kubeconfig" { type = string }
locals { server = yamldecode(var.kubeconfig).clusters[0].cluster }
resource "terraform_data" "cluster" {
  input = { name = var.cluster_name, version = var.kubernetes_version, vpc = var.vpc_id, subnets = var.private_subnets }
}
output "cluster_name" { value = terraform_data.cluster.output.name }
output "cluster_endpoint" { value = local.server.server }
output "cluster_certificate_authority_data" {
  sensitive = true
  value     = local.server["certificate-authority-data"]
}
output "kubeconfig" {
  sensitive = true
  value     = var.kubeconfig
}
`
const BUCKET = 'variable "name" { type = string }\nresource "terraform_data" "bucket" { input = var.name }\n'

type Fields = Record<string, unknown>
const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io/v1beta1'
const object = (apiVersion: string, kind: string, name: string, rest: Fields, metadata: Fields = {}) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'default', ...metadata },
  ...rest,
})
const template = (name: string, module: string, forProvider: Fields, more: Fields = {}) =>
  object(INFRASTRUCTURE, 'WorkspaceTemplate', name, {
    spec: {
      template: {
        metadata: { version: '1.0.0' },
        spec: {
          providerConfigRef: { name: 'aws-provider-config' },
          deletionPolicy: 'Delete',
          managementPolicies: ['*'],
          forProvider: { source: 'Inline', module, ...forProvider },
          ...more,
        },
      },
    },
  })

function olderManifests(kubeconfig: string): readonly Fields[] {
  const ref = (name: string) => ({ name, namespace: 'default' })
  const vpcVars = [
    { key: 'name', value: '${vpc_name}' },
    { key: 'cluster_name', value: '${cluster_name}' },
  ]
  const eksVars = ['cluster_name', 'kubernetes_version', 'region'].map((key) => ({ key, value: `\${${key}}` }))
  const secretKeyRef = { namespace: 'default', name: '${cluster_name}-vpc-vpc-connection', key: 'vpc_config' }
  return [
    template(
      'vpc-template',
      VPC,
      { vars: vpcVars },
      { writeConnectionSecretToRef: ref('${WORKSPACE_NAME}-vpc-connection') },
    ),
    template('eks-template', EKS, {
      vars: eksVars,
      varmap: { kubeconfig },
      varFiles: [{ source: 'SecretKey', secretKeyRef }],
    }),
    template('bucket-template', BUCKET, { vars: [{ key: 'name', value: '${name}' }] }),
    template('eks-kubeconfig-template', BUCKET, {}),
    object('cluster.x-k8s.io/v1beta1', 'Cluster', 'demo', {
      spec: {
        controlPlaneEndpoint: { host: 'https://older.example', port: 443 },
        infrastructureRef: { apiVersion: INFRASTRUCTURE, kind: 'CAPTCluster', name: 'demo' },
        controlPlaneRef: {
          apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1',
          kind: 'CAPTControlPlane',
          name: 'demo',
        },
      },
    }),
    object(
      INFRASTRUCTURE,
      'CAPTCluster',
      'demo',
      {
        spec: { region: 'eu-west-1', vpcTemplateRef: ref('vpc-template'), workspaceTemplateApplyName: 'demo-vpc' },
        status: { ready: true },
      },
      { finalizers: ['infrastructure.cluster.x-k8s.io/captcluster'], uid: 'older' },
    ),
    object('controlplane.cluster.x-k8s.io/v1beta1', 'CAPTControlPlane', 'demo', {
      spec: {
        version: '1.33',
        workspaceTemplateRef: ref('eks-template'),
        controlPlaneConfig: { region: 'eu-west-1' },
        controlPlaneEndpoint: { host: 'https://older.example', port: 443 },
      },
    }),
    object(INFRASTRUCTURE, 'WorkspaceTemplateApply', 'demo-vpc', {
      spec: {
        templateRef: ref('vpc-template'),
        variables: { cluster_name: 'demo', vpc_name: 'demo-vpc', environment: 'production' },
      },
      status: { applied: true },
    }),
    object(INFRASTRUCTURE, 'WorkspaceTemplateApply', 'demo-kubeconfig-apply', {
      spec: { templateRef: ref('eks-kubeconfig-template') },
    }),
    object(INFRASTRUCTURE, 'WorkspaceTemplateApply', 'bucket-apply', {
      spec: {
        templateRef: ref('bucket-template'),
        variables: { name: 'new' },
        waitForWorkspaces: [{ name: 'demo-vpc' }],
      },
    }),
    object(INFRASTRUCTURE, 'CaptMachineTemplate', 'workers', {
      spec: {
        template: {
          spec: {
            workspaceTemplateRef: ref('bucket-template'),
            nodeType: 'ManagedNodeGroup',
            instanceType: 't3.medium',
            scaling: { minSize: 1, maxSize: 3, desiredSize: 2 },
          },
        },
      },
    }),
    ...['demo-vpc', 'demo-eks-controlplane', 'bucket'].map((name) =>
      object('tf.upbound.io/v1beta1', 'Workspace', name, {}, { annotations: { 'crossplane.io/paused': 'true' } }),
    ),
    object('v1', 'Secret', 'aws-provider-config', {
      stringData: { AWS_ACCESS_KEY_ID: 'AKIAIMPORTIMPORTIMPO', AWS_SECRET_ACCESS_KEY: planted('import') },
    }),
  ]
}

describe('an import from the older project by the shipped program', { skip }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: ReturnType<typeof connect>
  const states = new Map<string, Fields>()
  const files = { all: '', states: '', fargate: '' }

  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up()
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
    const kubeconfig = readFileSync(home.kubeconfig, 'utf8')
    await connection.objects.create(
      { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'crossplane-system' } },
    )
    const subnets = ['subnet-0a0', 'subnet-0a1', 'subnet-0a2']
    // One after the other: each init locks the workspace that all of them share.
    await asCrossplane('demo-vpc', VPC, { name: 'demo-vpc', cluster_name: 'demo' })
    await asCrossplane('demo-eks-controlplane', EKS, {
      cluster_name: 'demo',
      kubernetes_version: '1.33',
      region: 'eu-west-1',
      vpc_id: 'vpc-0a1b',
      private_subnets: subnets,
      kubeconfig,
    })
    await asCrossplane('bucket', BUCKET, { name: 'old' })
    const kept = [...(await listed(SecretKind)), ...(await listed(LeaseKind))]
    assert.equal(kept.filter(({ kind }) => kind === 'Secret').length, 3)
    files.states = write('states.json', kept)
    files.all = write('older.json', olderManifests(kubeconfig))
    files.fargate = write('fargate.json', [
      object(INFRASTRUCTURE, 'CaptMachineTemplate', 'serverless', {
        spec: { template: { spec: { workspaceTemplateRef: { name: 'x' }, nodeType: 'Fargate' } } },
      }),
    ])
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
  })

  const write = (name: string, items: readonly unknown[]): string => {
    const path = join(shipped.folder, name)
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    return path
  }
  const listed = async (kind: KindRef): Promise<AnyObject[]> => {
    const found: AnyObject[] = []
    for await (const one of connection.objects.list<AnyObject>(kind, {
      namespace: 'crossplane-system',
      labelSelector: 'tfstate=true',
    }))
      if (!/^(lock-)?tfstate-default-/.test(one.metadata.name))
        found.push({ ...one, apiVersion: apiVersionOf(kind), kind: kind.kind })
    return found
  }
  /** One Terraform workspace per Workspace, all in one backend, as the older project's ProviderConfig says. */
  const asCrossplane = async (name: string, module: string, vars: Fields): Promise<void> => {
    const cwd = join(shipped.folder, 'crossplane', name)
    mkdirSync(cwd, { recursive: true })
    const backend = `terraform {\n  backend "kubernetes" {\n    secret_suffix = "aws-provider-eks"\n    namespace     = "crossplane-system"\n    config_path   = "${home.kubeconfig}"\n  }\n}\n`
    writeFileSync(join(cwd, 'main.tf'), `${module}${backend}`)
    writeFileSync(join(cwd, 'v.auto.tfvars.json'), JSON.stringify(vars))
    for (const args of [
      ['init', '-input=false'],
      ['workspace', 'new', name],
      ['apply', '-auto-approve', '-input=false'],
    ]) {
      const { code, out, err } = await run(terraform!, args, {
        cwd,
        env: { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' },
      })
      assert.equal(code, 0, `terraform ${args.join(' ')}: ${out}${err}`)
    }
    const { out } = await run(terraform!, ['state', 'pull'], {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' },
    })
    states.set(name, JSON.parse(out) as Fields)
  }
  const at = () => ['--kubeconfig', home.kubeconfig]
  const stateOf = async (apply: string): Promise<Fields> =>
    JSON.parse(await shipped.captOk(['state', 'show', apply, '--raw', ...at()])) as Fields
  const conditionsOf = async (
    kind: KindRef,
    name: string,
  ): Promise<readonly { type: string; status: string; reason: string; message: string }[]> => {
    const found = await connection.objects.get<AnyObject & { status?: { conditions?: [] } }>(kind, {
      namespace: 'default',
      name,
    })
    return found?.status?.conditions ?? []
  }
  let last: Awaited<ReturnType<typeof conditionsOf>> = []
  const until = (
    kind: KindRef,
    name: string,
    type: string,
    isTrue: (one: { status: string; reason: string }) => boolean,
  ) =>
    waitUntil(
      `${type} of ${kind.kind} ${name}`,
      async () => {
        last = await conditionsOf(kind, name)
        return last.some((one) => one.type === type && isTrue(one))
      },
      60_000,
      () => JSON.stringify(last),
    )

  it('prints manifests that capt takes, and refuses Fargate with everything else', async () => {
    const { code, out, err } = await shipped.capt([
      'import',
      '-f',
      files.all,
      '-f',
      files.fargate,
      '--state',
      files.states,
    ])
    assert.equal(code, 1)
    assert.equal(out, '')
    assert.match(err, /refused\s+CaptMachineTemplate\/serverless: nodeType is Fargate/)
    assert.match(err, /1 refused, nothing was written/)
    const folder = join(shipped.folder, 'made')
    await shipped.captOk([
      'import',
      '-f',
      files.all,
      '-f',
      files.fargate,
      '--state',
      files.states,
      '--skip-refused',
      '-o',
      folder,
    ])
    const cluster = parse(readFileSync(join(folder, 'cluster-demo.yaml'), 'utf8')) as { spec: Fields }
    assert.deepEqual([cluster.spec['paused'], cluster.spec['controlPlaneEndpoint']], [true, undefined])
    assert.match(
      readFileSync(join(folder, 'captmachinepooltemplate-workers.yaml'), 'utf8'),
      /instanceTypes:\n\s+- t3\.medium/,
    )
  })

  it('changes nothing with --dry-run, and nothing while a state is missing or locked', async () => {
    const dry = await shipped.capt([
      'import',
      '-f',
      files.all,
      '--state',
      files.states,
      '--apply',
      '--dry-run',
      ...at(),
    ])
    assert.equal(dry.code, 0, dry.err)
    const without = await shipped.capt(['import', '-f', files.all, '--apply', '--yes', '--skip-refused', ...at()])
    assert.equal(without.code, 1)
    assert.match(without.err, /refused\s+state of demo-vpc: Terraform applied it in the older project/)
    const locked = write('locked.json', [
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'lock-tfstate-bucket-aws-provider-eks', namespace: 'crossplane-system' },
        spec: { holderIdentity: 'somebody' },
      },
      ...(await listed(SecretKind)),
    ])
    const { code, err } = await shipped.capt([
      'import',
      '-f',
      files.all,
      '--state',
      locked,
      '--apply',
      '--yes',
      ...at(),
    ])
    assert.equal(code, 1)
    assert.match(err, /state of bucket-apply: .*locked by somebody/)
    for (const name of ['demo-vpc', 'bucket-apply'])
      assert.equal(await connection.objects.get(WorkspaceTemplateApply, { namespace: 'default', name }), undefined)
  })

  it('brings a cluster to Ready with an empty plan, and makes nothing a second time', async () => {
    const { code, err } = await shipped.capt([
      'import',
      '-f',
      files.all,
      '--state',
      files.states,
      '--apply',
      '--yes',
      ...at(),
    ])
    assert.equal(code, 0, err)
    assert.doesNotMatch(err, /cnry-import/)
    await until(clusterKind('v1beta1'), 'demo', 'Ready', ({ status }) => status === 'True')
    for (const [apply, workspace] of [
      ['demo-vpc', 'demo-vpc'],
      ['demo-eks-controlplane-apply', 'demo-eks-controlplane'],
    ] as const) {
      assert.deepEqual(
        await stateOf(apply),
        states.get(workspace),
        'lineage, serial, resources and their ids are what they were',
      )
      const found = await connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
        namespace: 'default',
        name: apply,
      })
      assert.deepEqual(found?.status?.plan, { add: 0, change: 0, destroy: 0, replace: 0 })
    }
  })

  it('holds a first plan that is not empty until it is approved', async () => {
    await until(WorkspaceTemplateApply, 'bucket-apply', 'Ready', ({ reason }) => reason === 'ApprovalRequired')
    const [ready] = (await conditionsOf(WorkspaceTemplateApply, 'bucket-apply')).filter(({ type }) => type === 'Ready')
    assert.match(ready?.message ?? '', /first one after an import/)
    assert.deepEqual(await stateOf('bucket-apply'), states.get('bucket'))
    const hash = /Plan (\w+) waits/.exec(ready?.message ?? '')![1]!
    await shipped.captOk(['approve', 'bucket-apply', '--plan', hash, ...at()])
    await until(WorkspaceTemplateApply, 'bucket-apply', 'Ready', ({ status }) => status === 'True')
    const idOf = (state: Fields | undefined) =>
      (state?.['resources'] as { instances: { attributes: { id: string } }[] }[])[0]?.instances[0]?.attributes.id
    assert.equal(idOf(await stateOf('bucket-apply')), idOf(states.get('bucket')), 'changed in place')
  })

  it('does not overwrite what is there by a second import', async () => {
    const again = await shipped.capt(['import', '-f', files.all, '--state', files.states, '--apply', '--yes', ...at()])
    assert.equal(again.code, 1)
    assert.match(again.err, /CAPT_STATE_CONFLICT/)
    const spec = { region: 'us-east-1', vpcTemplateRef: { name: 'vpc-template' } }
    const other = write('other.json', [object(INFRASTRUCTURE, 'CAPTCluster', 'demo', { spec })])
    const differs = await shipped.capt(['import', '-f', other, '--without-state', '--apply', '--yes', ...at()])
    assert.match(differs.err, /CAPTCluster\/demo exists in the target and differs {2}CAPT_IMPORT_REFUSED/)
  })

  it('reads a running management cluster, and finds the states that Crossplane kept there', async () => {
    const { code, out, err } = await shipped.capt(['import', '--from-kubeconfig', home.kubeconfig, '-n', 'default'])
    assert.equal(code, 0, err)
    for (const [apply, workspace] of [
      ['demo-vpc', 'demo-vpc'],
      ['demo-eks-controlplane-apply', 'demo-eks-controlplane'],
    ])
      assert.match(err, new RegExp(`state +${apply}: .* from Secret crossplane-system/tfstate-${workspace}-`))
    assert.match(out, /kind: CAPTControlPlane/)
    assert.doesNotMatch(out, /cnry-import/)
  })
})
