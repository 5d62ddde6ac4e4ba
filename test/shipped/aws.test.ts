// What the shipped program asks of AWS, answered by moto: tokens from every source of credentials, the role for Spot,
// `capt doctor`, and state in S3. The control plane's template makes its cluster in moto; the cluster's API is an embedded
// home behind an endpoint that admits tokens of the AWS authenticator alone. Deletion is in clusters/aws-teardown.test.ts.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  clusterKind,
  conditionOf,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { readRecord, suffixOf, WORKSPACE_TAG } from '#engine'
import { writeSecret } from '#lib'
import { POD_TOKEN, startCredentialEndpoints } from '../support/aws/credential-endpoints.ts'
import { type EksEndpoint, startEksEndpoint } from '../support/aws/eks-endpoint.ts'
import { type AwsHome, clusterInMoto, openAwsHome, REGION, warmUp } from '../support/aws/home.ts'
import { textsOf } from '../support/aws/ledger.ts'
import { tagged } from '../support/aws/makers.ts'
import { findMoto, type Moto, startMoto } from '../support/aws/moto.ts'
import { eksTemplate, template } from '../support/aws/moto-templates.ts'
import { namesOf, strip } from '../support/engine/ledger.ts'
import { planted } from '../support/secrets/planted.ts'
import { findTool, run } from '../support/tools.ts'
import { type Shipped, shippedProgram, waitUntil } from './support.ts'

const CLOCK = join(import.meta.dirname, '..', 'support', 'shifted-clock.mjs')
const TIMEOUT_MS = 180_000
const ClusterKind = clusterKind('v1beta2')
const program = findMoto()
const missing = [program ? [] : ['moto'], findTool('terraform') ? [] : ['terraform']].flat()
const skip = missing.length > 0 && `not installed: ${missing.join(', ')}`

interface Keys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}
const AMBIENT: Keys = { accessKeyId: 'ambient-key', secretAccessKey: planted('ambient/secret+key') }
const OF_SECRET: Keys = { accessKeyId: 'key-of-a-Secret', secretAccessKey: planted('secret/of+a-Secret') }
const OF_MACHINE = {
  accessKeyId: 'key-of-a-machine',
  secretAccessKey: planted('machine/secret+key'),
  sessionToken: planted('session+/='),
}
const OF_PROFILE: Keys = { accessKeyId: 'key-of-a-profile', secretAccessKey: planted('profile/secret+key') }

describe('the shipped program and AWS', { skip }, () => {
  let shipped: Shipped
  let moto: Moto
  let endpoint: EksEndpoint
  let ambient: AwsHome
  const homes: AwsHome[] = []

  before(async () => {
    shipped = shippedProgram()
    moto = await startMoto(program!)
    const warm = warmUp(moto)
    endpoint = await startEksEndpoint((await shipped.up('workload')).kubeconfig)
    ambient = await open('ambient', {
      AWS_ACCESS_KEY_ID: AMBIENT.accessKeyId,
      AWS_SECRET_ACCESS_KEY: AMBIENT.secretAccessKey,
    })
    await warm
  })
  after(async () => {
    for (const { connection } of homes) await connection.close()
    await endpoint?.close()
    await shipped?.end()
    await moto?.stop()
  })

  async function open(data: string, env: Readonly<Record<string, string>>): Promise<AwsHome> {
    const home = await openAwsHome(shipped, moto, data, env)
    homes.push(home)
    return home
  }

  /** Applies a cluster and waits until its control plane is available. */
  async function bringUp(home: AwsHome, name: string, plane: object = {}): Promise<void> {
    await home.apply([eksTemplate(moto, endpoint), ...clusterInMoto(name, { plane })])
    await home.untilCondition(CAPTControlPlane, name, 'Ready')
  }

  const eksClusters = async (): Promise<readonly string[]> =>
    ((await (await moto.rest('eks', REGION, 'GET', '/clusters')).json()) as { clusters: string[] }).clusters

  /** The token of a cluster is signed by these keys, for this cluster alone, and no byte of it can be changed. */
  async function checkToken(home: AwsHome, name: string, keys: Keys, hasSession: boolean): Promise<void> {
    const token = await home.tokenOf(name)
    assert.ok(endpoint.tokens.includes(token), 'the endpoint of the cluster was shown this token')
    const [found, otherCluster, flipped, otherKeys] = verify(moto.python, [
      { token, cluster: name, ...keys },
      { token, cluster: `${name}x`, ...keys },
      { token: flipByte(token), cluster: name, ...keys },
      { token, cluster: name, ...keys, secretAccessKey: `${keys.secretAccessKey}x` },
    ])
    const { expires, signedHeaders, ...rest } = found!
    assert.deepEqual(rest, {
      isValid: true,
      accessKeyId: keys.accessKeyId,
      region: REGION,
      service: 'sts',
      host: `sts.${REGION}.amazonaws.com`,
      action: 'GetCallerIdentity',
      hasSession,
    })
    assert.ok(expires > 0 && expires <= 900, `expires in ${expires} seconds`)
    assert.ok(signedHeaders.includes('x-k8s-aws-id') && signedHeaders.includes('host'), signedHeaders.join())
    assert.deepEqual([otherCluster!.isValid, flipped!.isValid, otherKeys!.isValid], [false, false, false])
  }

  const accessKeyOf = (token: string): string =>
    decodeURIComponent(/X-Amz-Credential=([^%/]+)/.exec(Buffer.from(token.slice(11), 'base64url').toString())![1]!)

  it('signs the token of a cluster with the keys of its environment, once the account has the role for Spot', async () => {
    assert.doesNotMatch(await spotRoles(), /<RoleName>/)
    await bringUp(ambient, 'env', { controlPlaneConfig: { ensureSpotServiceLinkedRole: true } })
    assert.match(await spotRoles(), /<RoleName>AWSServiceRoleFor/)
    assert.deepEqual(await eksClusters(), ['env'])
    await checkToken(ambient, 'env', AMBIENT, false)
  })

  /** AWS calls it AWSServiceRoleForEC2Spot, moto otherwise; both keep it under the path of the service. */
  const spotRoles = () =>
    moto.query('iam', 'us-east-1', {
      Action: 'ListRoles',
      Version: '2010-05-08',
      PathPrefix: '/aws-service-role/spot.amazonaws.com/',
    })

  it('signs it with the keys of a Secret', async () => {
    await ambient.apply([credentials('keys', OF_SECRET)])
    await bringUp(ambient, 'secret', { identity: { secretRef: { name: 'keys' } } })
    await checkToken(ambient, 'secret', OF_SECRET, false)
  })

  it('signs the next one with the keys that the Secret has by then, and warns of keys that nobody replaces', async () => {
    const [days, later] = [join(shipped.folder, 'days'), join(shipped.folder, 'later')]
    writeSecret(days, '0')
    writeSecret(later, '100')
    const at = (file: string) => ({ NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: file })
    const keys = { AWS_ACCESS_KEY_ID: AMBIENT.accessKeyId, AWS_SECRET_ACCESS_KEY: AMBIENT.secretAccessKey }
    const home = await open('rotated', { ...keys, ...at(days) })
    await home.apply([credentials('keys', OF_SECRET)])
    await bringUp(home, 'rotated', { identity: { secretRef: { name: 'keys' } } })
    const signedBy = async () => accessKeyOf(await home.tokenOf('rotated'))
    assert.equal(await signedBy(), OF_SECRET.accessKeyId)
    await home.apply([credentials('keys', OF_PROFILE)])
    writeSecret(days, '0.01')
    await waitUntil('a token of the new keys', async () => (await signedBy()) === OF_PROFILE.accessKeyId, TIMEOUT_MS)

    const doctor = async (...more: readonly string[]) => {
      const env = { ...shipped.env, ...keys, ...at(later), AWS_ENDPOINT_URL: moto.url, AWS_REGION: REGION }
      const ended = await shipped.capt(['doctor', 'rotated', '--kubeconfig', home.kubeconfig, ...more], { env })
      return ended.out + ended.err
    }
    assert.match(
      await doctor(),
      /old key +the access key …file is in the Secret for (99|100) days \(IAM was not asked or refused/,
    )
    const iam = { Version: '2010-05-08', UserName: 'capt' }
    await moto.query('iam', 'us-east-1', { Action: 'CreateUser', ...iam })
    const made = await moto.query('iam', 'us-east-1', { Action: 'CreateAccessKey', ...iam })
    const [accessKeyId, secretAccessKey] = textsOf(made, 'AccessKeyId').concat(textsOf(made, 'SecretAccessKey'))
    await home.apply([credentials('keys', { accessKeyId: accessKeyId!, secretAccessKey: secretAccessKey! })])
    const said = await doctor()
    assert.match(said, new RegExp(`the access key …${accessKeyId!.slice(-4)} was made (99|100) days ago, says IAM`))
    assert.ok(!said.includes(accessKeyId!) && !said.includes(secretAccessKey!))
  })

  it('signs it with the session of a role that the Secret may assume', async () => {
    const roleArn = 'arn:aws:iam::123456789012:role/capt-of-a-team'
    await ambient.apply([credentials('keys', OF_SECRET)])
    await bringUp(ambient, 'role', { identity: { secretRef: { name: 'keys' }, roleArn, externalId: 'x-1' } })
    await checkSession(ambient, 'role')
  })

  it('signs it with the keys of a profile', async () => {
    const files = { AWS_CONFIG_FILE: 'aws-config', AWS_SHARED_CREDENTIALS_FILE: 'aws-credentials' }
    const at = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(shipped.folder, file)]))
    writeFileSync(at['AWS_CONFIG_FILE']!, `[profile dev]\nregion = ${REGION}\n`)
    writeFileSync(
      at['AWS_SHARED_CREDENTIALS_FILE']!,
      `[dev]\naws_access_key_id = ${OF_PROFILE.accessKeyId}\naws_secret_access_key = ${OF_PROFILE.secretAccessKey}\n`,
    )
    const home = await open('profile', { AWS_PROFILE: 'dev', ...at })
    await bringUp(home, 'profile')
    await checkToken(home, 'profile', OF_PROFILE, false)
    assert.equal(await home.stop(), 0)
  })

  it('signs it with the session of a web identity', async () => {
    const file = join(shipped.folder, 'web-identity-token')
    writeFileSync(file, 'header.payload.signature')
    const home = await open('web', {
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/capt',
      AWS_ROLE_SESSION_NAME: 'capt',
    })
    await bringUp(home, 'web')
    await checkSession(home, 'web')
    assert.equal(await home.stop(), 0)
  })

  for (const [source, data, asked] of [
    ['EKS Pod Identity', 'pod', '/v1/credentials'],
    ['the role of an instance', 'instance', '/latest/meta-data/iam/security-credentials/capt'],
  ] as const)
    it(`signs it with the session of ${source}`, async () => {
      const inside = await startCredentialEndpoints(OF_MACHINE)
      try {
        const file = join(shipped.folder, 'pod-token')
        writeFileSync(file, POD_TOKEN)
        const home = await open(
          data,
          data === 'pod'
            ? {
                AWS_CONTAINER_CREDENTIALS_FULL_URI: `${inside.url}/v1/credentials`,
                AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
              }
            : { AWS_EC2_METADATA_SERVICE_ENDPOINT: inside.url },
        )
        await bringUp(home, data)
        await checkToken(home, data, OF_MACHINE, true)
        assert.ok(inside.asked.includes(asked), inside.asked.join())
        assert.equal(await home.stop(), 0)
      } finally {
        await inside.close()
      }
    })

  async function checkSession(home: AwsHome, name: string): Promise<void> {
    const accessKeyId = accessKeyOf(await home.tokenOf(name))
    const secretAccessKey = await moto.secretOf(accessKeyId)
    assert.ok(secretAccessKey, `moto gave out ${accessKeyId}`)
    await checkToken(home, name, { accessKeyId, secretAccessKey }, true)
  }

  it('finds with `capt doctor` what carries the tag of a workspace and is in no state', async () => {
    const at = { namespace: 'default', name: 'emptied' }
    await ambient.apply([
      template('emptied', 'variable "region" { type = string }\noutput "region" { value = var.region }\n'),
      { ...applyKind, metadata: at, spec: { templateRef: { name: 'emptied' }, variables: { region: REGION } } },
    ])
    await ambient.untilCondition(WorkspaceTemplateApply, 'emptied', 'Ready')
    const doctor = () =>
      shipped.capt(['doctor', 'wtapply', 'emptied', '--kubeconfig', ambient.kubeconfig], {
        env: {
          ...shipped.env,
          AWS_ENDPOINT_URL: moto.url,
          AWS_ACCESS_KEY_ID: AMBIENT.accessKeyId,
          AWS_SECRET_ACCESS_KEY: AMBIENT.secretAccessKey,
        },
        timeoutMs: 120_000,
      })
    const before = await doctor()
    assert.equal(before.code, 0, before.out + before.err)

    const record = (await readRecord(ambient.connection.objects, at))!.record
    const vpc = await moto.query('ec2', REGION, {
      Action: 'CreateVpc',
      Version: '2016-11-15',
      CidrBlock: '10.0.0.0/16',
      ...tagged('vpc', { [WORKSPACE_TAG]: record.workspaceId }),
    })
    const found = await doctor()
    assert.equal(found.code, 1, found.out + found.err)
    assert.match(found.out, new RegExp(`${/<vpcId>([^<]+)</.exec(vpc)![1]} found by tag, in no state`))
  })

  it('stalls a deletion when everything that was kept is lost and AWS has what carries the tag of the workspace', async () => {
    const env = { AWS_ACCESS_KEY_ID: AMBIENT.accessKeyId, AWS_SECRET_ACCESS_KEY: AMBIENT.secretAccessKey }
    const at = { namespace: 'default', name: 'tagged' }
    const before = await open('tagged', env)
    await before.apply([
      template(
        'tagged',
        'variable "region" { type = string }\nresource "terraform_data" "vpc" { input = var.region }\n',
      ),
      { ...applyKind, metadata: at, spec: { templateRef: { name: 'tagged' }, variables: { region: REGION } } },
    ])
    await before.untilCondition(WorkspaceTemplateApply, 'tagged', 'Ready')
    const { objects } = before.connection
    const { workspaceId } = (await readRecord(objects, at))!.record
    for (const name of [namesOf('tagged').record, namesOf('tagged').state]) await strip(objects, SecretKind, name)
    const forgotten = { type: 'merge', body: { status: { state: null } } } as const
    await objects.patch(WorkspaceTemplateApply, at, forgotten, { subresource: 'status' })
    await before.stop('SIGKILL')
    const folder = join(before.dataDir, 'runs', 'workspaces', suffixOf(at))
    for (const name of ['work', 'last-state.json']) rmSync(join(folder, name), { recursive: true })
    const make = { Action: 'CreateVpc', Version: '2016-11-15', CidrBlock: '10.0.0.0/16' }
    await moto.query('ec2', REGION, { ...make, ...tagged('vpc', { [WORKSPACE_TAG]: workspaceId }) })

    const after = await open('tagged', env)
    await after.connection.objects.delete(WorkspaceTemplateApply, at)
    await after.untilCondition(WorkspaceTemplateApply, 'tagged', 'Stalled')
    const stalled = conditionOf((await after.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, 'tagged'))!, 'Stalled')
    assert.match(stalled?.message ?? '', /the state is gone while 1 resource is recorded.*capt forget tagged/s)
    await after.stop()
  })

  it('gives a cluster a name of its own when its name is taken in AWS, and leaves the other cluster alone', async () => {
    const body = (name: string) =>
      JSON.stringify({ name, roleArn: 'arn:aws:iam::123456789012:role/x', resourcesVpcConfig: {} })
    assert.equal((await moto.rest('eks', REGION, 'POST', '/clusters', body('taken'))).status, 200)
    // A template that names the AWS provider, without needing it.
    const inAws = eksTemplate(moto, endpoint, 'moto-in-aws', 'locals { provider = "hashicorp/aws" }\n')
    await ambient.apply([
      inAws,
      ...clusterInMoto('taken', {
        plane: { workspaceTemplateRef: { name: 'moto-in-aws' } },
        labels: { 'capt.appthrust.com/addon-pipeline': 'none' },
      }),
    ])
    await ambient.untilCondition(CAPTControlPlane, 'taken', 'Ready')
    const name = (await ambient.get<CAPTCluster>(CAPTCluster, 'taken'))?.status?.clusterName ?? ''
    assert.match(name, /^taken-[0-9a-f]{8}$/)
    assert.deepEqual(
      (await eksClusters()).filter((one) => one.startsWith('taken')),
      ['taken', name],
    )
    const shown = await shipped.captOk(['describe', 'cluster', 'taken', '--kubeconfig', ambient.kubeconfig])
    assert.match(shown, new RegExp(`${name} in AWS`))
    await ambient.remove(ClusterKind, 'taken')
    await ambient.untilGone(ClusterKind, 'taken')
    assert.deepEqual(
      (await eksClusters()).filter((one) => one.startsWith('taken')),
      ['taken'],
    )
  })

  it('keeps state in S3 when a template asks for it, and destroys through it', async () => {
    const state = async () => (await moto.rest('s3', 'us-east-1', 'GET', '/capt-state/demo.tfstate')).text()
    assert.equal((await moto.rest('s3', 'us-east-1', 'PUT', '/capt-state')).status, 200)
    await ambient.apply([
      template('in-s3', s3Module(moto.url)),
      { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { name: 'in-s3' }, spec: {} },
      {
        ...applyKind,
        metadata: { name: 'in-s3', namespace: 'default', labels: { [CLUSTER_NAME_LABEL]: 'in-s3' } },
        spec: { templateRef: { name: 'in-s3' } },
      },
    ])
    await ambient.untilCondition(WorkspaceTemplateApply, 'in-s3', 'Ready')
    assert.match(await state(), /"terraform_data"/)

    // Plain Terraform goes on with the same backend, whatever capt writes down.
    await shipped.captOk(['eject', 'in-s3', '--to', 'ejected', '--kubeconfig', ambient.kubeconfig])
    const cwd = join(shipped.folder, 'ejected', 'in-s3')
    assert.ok(!existsSync(join(cwd, 'terraform.tfstate')))
    const env = {
      ...shipped.env,
      AWS_ACCESS_KEY_ID: AMBIENT.accessKeyId,
      AWS_SECRET_ACCESS_KEY: AMBIENT.secretAccessKey,
    }
    for (const args of [['init'], ['plan', '-detailed-exitcode']]) {
      const { code, out, err } = await run('terraform', args, { cwd, env, timeoutMs: TIMEOUT_MS })
      assert.equal(code, 0, out + err)
    }
    await ambient.remove(ClusterKind, 'in-s3')

    await ambient.remove(WorkspaceTemplateApply, 'in-s3')
    await ambient.untilGone(WorkspaceTemplateApply, 'in-s3')
    assert.doesNotMatch(await state(), /"terraform_data"/)
  })
})

interface Verified extends Keys {
  readonly isValid: boolean
  readonly expires: number
  readonly signedHeaders: readonly string[]
}

function verify(python: string, cases: readonly object[]): readonly Verified[] {
  const script = join(import.meta.dirname, '..', 'support', 'aws', 'verify-eks-token.py')
  const { status, stdout, stderr } = spawnSync(python, [script], { input: JSON.stringify(cases), encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return JSON.parse(stdout) as readonly Verified[]
}

/** The last digit of the signature is another one. */
function flipByte(token: string): string {
  const url = Buffer.from(token.slice('k8s-aws-v1.'.length), 'base64url').toString()
  const flipped = url.replace(
    /(X-Amz-Signature=[0-9a-f]{63})([0-9a-f])/,
    (_match, head: string, digit: string) => head + (digit === '0' ? '1' : '0'),
  )
  assert.notEqual(flipped, url)
  return `k8s-aws-v1.${Buffer.from(flipped).toString('base64url')}`
}

const GROUP = 'infrastructure.cluster.x-k8s.io/v1beta1'
const applyKind = { apiVersion: GROUP, kind: 'WorkspaceTemplateApply' }

const credentials = (name: string, { accessKeyId, secretAccessKey }: Keys): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  stringData: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
})

const s3Module = (url: string): string => `
terraform {
  backend "s3" {
    bucket                      = "capt-state"
    key                         = "demo.tfstate"
    region                      = "us-east-1"
    use_lockfile                = true
    use_path_style              = true
    skip_credentials_validation = true
    skip_requesting_account_id  = true
    skip_metadata_api_check     = true
    endpoints                   = { s3 = "${url}" }
  }
}
resource "terraform_data" "x" { input = "kept in S3" }
`
