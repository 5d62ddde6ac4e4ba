// What the shipped program asks of AWS, answered by moto: tokens from every source of credentials, the role for Spot, the
// sweep of a teardown, `capt doctor`, and state in S3. The control plane's template makes its cluster in moto; the
// cluster's API is an embedded home behind an endpoint that admits tokens of the AWS authenticator alone.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import {
  AddonDelivery,
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  CLUSTER_NAME_LABEL,
  clusterKind,
  clusterResourceSetKind,
  conditionOf,
  type KindRef,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import { karpenterNames, ruleName } from '#catalog'
import { readRecord, WORKSPACE_TAG } from '#engine'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { POD_TOKEN, startCredentialEndpoints } from '../support/aws/credential-endpoints.ts'
import { type EksEndpoint, startEksEndpoint } from '../support/aws/eks-endpoint.ts'
import { callsOf, readAccount, textsOf } from '../support/aws/ledger.ts'
import { findMoto, type Moto, startMoto } from '../support/aws/moto.ts'
import { eksTemplate, template } from '../support/aws/moto-templates.ts'
import { findTool, run } from '../support/tools.ts'
import { type Shipped, shippedProgram, type UpHome, waitUntil } from './support.ts'

const REGION = 'eu-west-1'
const TIMEOUT_MS = 180_000
const ClusterKind = clusterKind('v1beta2')
const EventKind: KindRef = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
const ResourceSetKind = clusterResourceSetKind('v1beta2')
const program = findMoto()
const missing = [program ? [] : ['moto'], findTool('terraform') ? [] : ['terraform']].flat()
const skip = missing.length > 0 && `not installed: ${missing.join(', ')}`

interface Keys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}
const AMBIENT: Keys = { accessKeyId: 'ambient-key', secretAccessKey: 'ambient/secret+key' }
const OF_SECRET: Keys = { accessKeyId: 'key-of-a-Secret', secretAccessKey: 'secret/of+a-Secret' }
const OF_MACHINE = {
  accessKeyId: 'key-of-a-machine',
  secretAccessKey: 'machine/secret+key',
  sessionToken: 'session+/=',
}
const OF_PROFILE: Keys = { accessKeyId: 'key-of-a-profile', secretAccessKey: 'profile/secret+key' }

/** An embedded home and what a test observes of it. */
interface Home extends UpHome {
  readonly connection: Connection
  apply(manifests: readonly object[]): Promise<void>
  get<T extends AnyObject>(kind: KindRef, name: string): Promise<T | undefined>
  tokenOf(cluster: string): Promise<string>
}

describe('the shipped program and AWS', { skip }, () => {
  let shipped: Shipped
  let moto: Moto
  let endpoint: EksEndpoint
  let ambient: Home
  const homes: Home[] = []

  before(async () => {
    shipped = shippedProgram()
    moto = await startMoto(program!)
    const warm = warmUp()
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

  /** moto loads a service when it is first asked, which on a busy machine may take longer than the program waits for AWS. */
  const warmUp = () =>
    Promise.all([
      moto.query('sts', REGION, { Action: 'GetCallerIdentity', Version: '2011-06-15' }),
      moto.query('ec2', REGION, { Action: 'DescribeInstances', Version: '2016-11-15' }),
      moto.query('elasticloadbalancing', REGION, { Action: 'DescribeLoadBalancers', Version: '2015-12-01' }),
      ...[REGION, 'us-east-1'].map((region) =>
        fetch(moto.url, {
          method: 'POST',
          headers: {
            authorization: `AWS4-HMAC-SHA256 Credential=testing/20260101/${region}/tagging/aws4_request, SignedHeaders=host, Signature=0`,
            'content-type': 'application/x-amz-json-1.1',
            'x-amz-target': 'ResourceGroupsTaggingAPI_20170126.GetResources',
          },
          body: '{}',
        }).then((answer) => answer.text()),
      ),
    ])

  async function open(data: string, env: Readonly<Record<string, string>>): Promise<Home> {
    const up = await shipped.up(data, [], { env: { ...env, AWS_ENDPOINT_URL: moto.url, AWS_REGION: REGION } })
    const connection = connect(await loadKubeconfig({ path: up.kubeconfig }))
    const get: Home['get'] = (kind, name) => connection.objects.get(kind, { namespace: 'default', name })
    const home: Home = {
      ...up,
      connection,
      get,
      async apply(manifests) {
        const file = join(shipped.folder, `${data}.yaml`)
        writeFileSync(file, manifests.map((manifest) => stringify(manifest)).join('---\n'))
        await shipped.captOk(['apply', '-f', file, '--kubeconfig', up.kubeconfig], { timeoutMs: 60_000 })
      },
      async tokenOf(cluster) {
        const secret = await get<Secret>(SecretKind, `${cluster}-kubeconfig`)
        const text = Buffer.from(secret?.data?.['value'] ?? '', 'base64').toString()
        return /token: (\S+)/.exec(text)?.[1] ?? assert.fail(`the kubeconfig of ${cluster} has no token: ${text}`)
      },
    }
    homes.push(home)
    return home
  }

  /** Applies a cluster and waits until its control plane is available. */
  async function bringUp(
    home: Home,
    name: string,
    spec: object = {},
    labels: object = {},
    vpc?: string,
  ): Promise<void> {
    await home.apply([eksTemplate(moto, endpoint), ...cluster(name, spec, labels, vpc)])
    await untilCondition(home, CAPTControlPlane, name, 'Ready')
  }

  const untilCondition = (home: Home, kind: KindRef, name: string, type: string) => {
    let last: AnyObject | undefined
    return waitUntil(
      `${type} of ${kind.kind} ${name}`,
      async () => {
        last = await home.get(kind, name)
        return last !== undefined && conditionOf(last as never, type)?.status === 'True'
      },
      TIMEOUT_MS,
      () => `${JSON.stringify(last?.['status' as never], null, 1)}\n${home.err().slice(-3000)}`,
    )
  }

  const eksClusters = async (): Promise<readonly string[]> =>
    ((await (await moto.rest('eks', REGION, 'GET', '/clusters')).json()) as { clusters: string[] }).clusters

  /** The token of a cluster is signed by these keys, for this cluster alone, and no byte of it can be changed. */
  async function checkToken(home: Home, name: string, keys: Keys, hasSession: boolean): Promise<void> {
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

  async function checkSession(home: Home, name: string): Promise<void> {
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
    await untilCondition(ambient, WorkspaceTemplateApply, 'emptied', 'Ready')
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

  it('gives a cluster a name of its own when its name is taken in AWS, and leaves the other cluster alone', async () => {
    const body = (name: string) =>
      JSON.stringify({ name, roleArn: 'arn:aws:iam::123456789012:role/x', resourcesVpcConfig: {} })
    assert.equal((await moto.rest('eks', REGION, 'POST', '/clusters', body('taken'))).status, 200)
    // A template that names the AWS provider, without needing it.
    const inAws = eksTemplate(moto, endpoint, 'moto-in-aws', 'locals { provider = "hashicorp/aws" }\n')
    await ambient.apply([
      inAws,
      ...cluster(
        'taken',
        { workspaceTemplateRef: { name: 'moto-in-aws' } },
        { 'capt.appthrust.com/addon-pipeline': 'none' },
      ),
    ])
    await untilCondition(ambient, CAPTControlPlane, 'taken', 'Ready')
    const name = (await ambient.get<CAPTCluster>(CAPTCluster, 'taken'))?.status?.clusterName ?? ''
    assert.match(name, /^taken-[0-9a-f]{8}$/)
    assert.deepEqual(
      (await eksClusters()).filter((one) => one.startsWith('taken')),
      ['taken', name],
    )
    const shown = await shipped.captOk(['describe', 'cluster', 'taken', '--kubeconfig', ambient.kubeconfig])
    assert.match(shown, new RegExp(`${name} in AWS`))
    await ambient.connection.objects.delete(ClusterKind, { namespace: 'default', name: 'taken' })
    await untilGone(ambient, ClusterKind, 'taken')
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
    await untilCondition(ambient, WorkspaceTemplateApply, 'in-s3', 'Ready')
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
    await ambient.connection.objects.delete(ClusterKind, { namespace: 'default', name: 'in-s3' })

    await ambient.connection.objects.delete(WorkspaceTemplateApply, { namespace: 'default', name: 'in-s3' })
    await untilGone(ambient, WorkspaceTemplateApply, 'in-s3')
    assert.doesNotMatch(await state(), /"terraform_data"/)
  })

  it('deletes by tag the balancer of a cluster without add-ons before EKS, and reports the disk that stays', async () => {
    const { ec2, elb } = callsOf(moto, REGION)
    const vpc = /<vpcId>([^<]+)</.exec(await ec2('CreateVpc', { CidrBlock: '10.9.0.0/16' }))![1]!
    const place = { VpcId: vpc, CidrBlock: '10.9.1.0/24', AvailabilityZone: `${REGION}a` }
    const subnet = /<subnetId>([^<]+)</.exec(await ec2('CreateSubnet', place))![1]!
    const before = await readAccount(moto, REGION)
    const balancers: string[] = []
    for (const cluster of ['alone', 'env']) {
      const made = await elb('CreateLoadBalancer', {
        Name: `k8s-${cluster}`,
        Type: 'network',
        'Subnets.member.1': subnet,
        'Tags.member.1.Key': 'elbv2.k8s.aws/cluster',
        'Tags.member.1.Value': cluster,
      })
      balancers.push(...textsOf(made, 'LoadBalancerArn').map((id) => `load balancer ${id}`))
    }
    const tags = { 'kubernetes.io/cluster/alone': 'owned', 'ebs.csi.aws.com/cluster': 'true' }
    const size = { Size: '1', AvailabilityZone: `${REGION}a` }
    const disk = /<volumeId>([^<]+)</.exec(await ec2('CreateVolume', { ...size, ...tagged('volume', tags) }))![1]!

    // No pipeline has this name: nothing is delivered, and nothing is there to tear it down.
    await bringUp(ambient, 'alone', {}, { 'capt.appthrust.com/addon-pipeline': 'none' }, vpc)
    await assertMade('alone')
    await ambient.connection.objects.delete(ClusterKind, { namespace: 'default', name: 'alone' })
    await untilGone(ambient, ClusterKind, 'alone')
    assert.deepEqual(await readAccount(moto, REGION), [...before, balancers[1]!, `volume ${disk}`].sort())
    const reports: string[] = []
    for await (const event of ambient.connection.objects.list<AnyObject & { note?: string; reason?: string }>(
      EventKind,
    ))
      if (event.reason === 'LeftBehind') reports.push(event.note ?? '')
    assert.ok(reports.length > 0 && reports.every((note) => note.includes(`volume ${disk}`)), reports.join())
  })

  it('terminates by tag the instances that a cluster without an API left, and no others', async () => {
    const account = async () => (await readAccount(moto, REGION)).filter((one) => !one.startsWith('volume '))
    const before = await account()
    await ambient.apply([...pipeline()])
    await bringUp(ambient, 'swept', {}, { 'capt.appthrust.com/addon-pipeline': 'swept' })
    await waitUntil(
      'the delivery of a stage',
      async () => {
        for await (const set of ambient.connection.objects.list(ResourceSetKind)) if (set) return true
        return false
      },
      TIMEOUT_MS,
    )
    await assertMade('swept')
    const owned = { 'kubernetes.io/cluster/swept': 'owned' }
    const [left] = await runInstance({ ...owned, 'karpenter.sh/nodepool': 'default' })
    const [managed] = await runInstance(owned)
    const [foreign] = await runInstance({ 'kubernetes.io/cluster/env': 'owned', 'karpenter.sh/nodepool': 'default' })

    await endpoint.close()
    await ambient.connection.objects.delete(ClusterKind, { namespace: 'default', name: 'swept' })
    await waitUntil(
      'the deletion to begin',
      async () => {
        const found = await ambient.get(AddonDelivery, 'swept')
        return found === undefined || found.metadata.deletionTimestamp !== undefined || hasTeardown(found)
      },
      TIMEOUT_MS,
    )
    // Without its kubeconfig the API of the cluster counts as gone: nobody has to wait until it stays silent long enough.
    await ambient.connection.objects.delete(SecretKind, { namespace: 'default', name: 'swept-kubeconfig' })
    await untilGone(ambient, ClusterKind, 'swept')
    assert.deepEqual(await states([left!, managed!, foreign!]), ['terminated', 'running', 'running'])
    assert.ok(!(await eksClusters()).includes('swept'))
    assert.deepEqual(await account(), [...before, `instance ${managed}`, `instance ${foreign}`].sort())
  })

  /** What Terraform made for Karpenter is in the account: its absence later proves something. */
  async function assertMade(name: string): Promise<void> {
    const { nodeRole, controllerRole, controllerPolicy, instanceProfile, queue } = karpenterNames(name)
    const account = await readAccount(moto, REGION)
    const made = [`role ${nodeRole}`, `role ${controllerRole}`, `policy ${controllerPolicy}`, `queue ${queue}`]
    for (const one of [...made, `instance profile ${instanceProfile}`, `rule ${ruleName(name, 'spot')}`])
      assert.ok(account.includes(one), one)
  }

  const hasTeardown = (object: AnyObject): boolean =>
    (object as AddonDelivery).status?.teardown?.startedAt !== undefined

  const untilGone = (home: Home, kind: KindRef, name: string) =>
    waitUntil(
      `the end of ${kind.kind} ${name}`,
      async () => (await home.get(kind, name)) === undefined,
      TIMEOUT_MS,
      () => home.err().slice(-4000),
    )

  async function runInstance(tags: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const text = await moto.query('ec2', REGION, {
      Action: 'RunInstances',
      Version: '2016-11-15',
      ImageId: 'ami-12c6146b',
      InstanceType: 't3.micro',
      MinCount: '1',
      MaxCount: '1',
      ...tagged('instance', tags),
    })
    return [...text.matchAll(/<instanceId>([^<]+)</g)].map(([, id]) => id!)
  }

  const states = (ids: readonly string[]): Promise<readonly string[]> =>
    Promise.all(
      ids.map(async (id) => {
        const text = await moto.query('ec2', REGION, {
          Action: 'DescribeInstances',
          Version: '2016-11-15',
          'InstanceId.1': id,
        })
        return /<instanceState>\s*<code>\d+<\/code>\s*<name>([a-z-]+)</.exec(text)![1]!
      }),
    )
})

const tagged = (resource: string, tags: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  'TagSpecification.1.ResourceType': resource,
  ...Object.fromEntries(
    Object.entries(tags).flatMap(([key, value], i) => [
      [`TagSpecification.1.Tag.${i + 1}.Key`, key],
      [`TagSpecification.1.Tag.${i + 1}.Value`, value],
    ]),
  ),
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

function cluster(
  name: string,
  controlPlane: object,
  labels: object,
  existingVpcId = 'vpc-0123456789abcdef0',
): readonly object[] {
  const metadata = { name, namespace: 'default' }
  const ref = (group: string, kind: string) => ({ apiVersion: `${group}.cluster.x-k8s.io/v1beta1`, kind, name })
  return [
    {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'Cluster',
      metadata: { ...metadata, labels },
      spec: {
        infrastructureRef: ref('infrastructure', 'CAPTCluster'),
        controlPlaneRef: ref('controlplane', 'CAPTControlPlane'),
      },
    },
    {
      apiVersion: GROUP,
      kind: 'CAPTCluster',
      metadata,
      spec: { region: REGION, existingVpcId },
    },
    {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1',
      kind: 'CAPTControlPlane',
      metadata,
      spec: { version: 'v1.35.0', workspaceTemplateRef: { name: 'moto-eks' }, ...controlPlane },
    },
  ]
}

/** One stage of plain manifests, and leave to terminate. */
const pipeline = (): readonly object[] => [
  {
    apiVersion: GROUP,
    kind: 'AddonPipeline',
    metadata: { name: 'swept', namespace: 'default' },
    spec: {
      clusterSelector: { matchLabels: { 'capt.appthrust.com/addon-pipeline': 'swept' } },
      stages: [{ name: 'defaults', resources: [{ kind: 'ConfigMap', name: 'swept-defaults' }] }],
      teardown: { terminateInstances: true },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'swept-defaults', namespace: 'default' },
    data: { 'about.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: about\n  namespace: default\n' },
  },
]

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
