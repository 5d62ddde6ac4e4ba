// The AWS port against moto, a server that plays AWS's own APIs: the same calls, answered by somebody else's code.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { SecretKind } from '#api'
import { type Aws, AwsError, connectAws, type Ec2 } from '#aws'
import { WORKSPACE_TAG } from '#engine'
import { systemClock } from '#lib'
import { anApply, memoryCluster } from '#testing'
import { openCloud } from '../../../src/app/cloud.ts'
import { untracked } from '../../../src/doctor/workspace.ts'
import { findMoto } from '../../support/aws/moto.ts'
import { planted } from '../../support/secrets/planted.ts'
import { reportMissing } from '../../support/tools.ts'
import { type Daemon, freePort, startDaemon, TIMEOUT_SECONDS, until } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const moto = findMoto()
if (moto === undefined) reportMissing('moto')
const REGION = 'eu-west-1'
const KARPENTER = 'karpenter.sh/nodepool'
const identity = { keys: { accessKeyId: 'testing', secretAccessKey: planted('moto') } }

if (moto)
  describe('AWS as moto plays it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'capt-moto-'))
    let daemon: Daemon
    let endpointUrl: string
    let aws: Aws & Ec2

    before(async () => {
      const port = await freePort()
      daemon = startDaemon('moto', folder, moto.server, ['-H', '127.0.0.1', '-p', String(port)])
      endpointUrl = `http://127.0.0.1:${port}/`
      const isUp = async () => (await fetch(`${endpointUrl}moto-api/data.json`)).ok
      await until('moto answers', isUp, TIMEOUT_SECONDS, daemon)
      // Its first answer about tags loads half of moto.
      aws = connectAws({ clock: systemClock, endpointUrl, timeoutMs: 120_000 })
    })
    after(async () => {
      await daemon?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    it('says who we are', async () => {
      const { account, arn } = await aws.whoAmI(identity, REGION)
      assert.match(account, /^\d{12}$/)
      assert.match(arn, /^arn:aws:/)
    })

    it('makes the Spot role once, and finds it the second time', async () => {
      assert.equal(await aws.ensureSpotRole(identity, REGION), 'created')
      assert.equal(await aws.ensureSpotRole(identity, REGION), 'present')
    })

    it('lends the credentials of a role, and tokens are signed with them', async () => {
      const role = { arn: 'arn:aws:iam::123456789012:role/capt', externalId: 'x-1' }
      const { arn } = await aws.whoAmI({ ...identity, role }, REGION)
      assert.match(arn, /assumed-role\/capt|role\/capt/)
      const { token, expiresAtMs } = await aws.eksToken({ ...identity, role }, { name: 'demo', region: REGION })
      const url = Buffer.from(token.replace('k8s-aws-v1.', ''), 'base64url').toString()
      assert.match(url, /X-Amz-Credential=ASIA/)
      assert.ok(expiresAtMs > Date.now() + 14 * 60_000)
    })

    it('finds what carries a tag, and nothing else', async () => {
      for (const [workspace, cidr] of [
        ['demo', '10.0.0.0/16'],
        ['other', '10.1.0.0/16'],
      ] as const)
        await makeVpc(endpointUrl, workspace, cidr)
      const found = await aws.findTagged(identity, REGION, { 'capt.appthrust.com/workspace': 'demo' })
      assert.equal(found.length, 1)
      assert.match(found[0]!.arn, /:vpc\/vpc-/)
      assert.equal(found[0]!.tags['capt.appthrust.com/workspace'], 'demo')
      prove('moto', 'moto[server]', 'STS, IAM and tagging calls of the AWS port')
    })

    it('finds the machines of one cluster that Karpenter made, terminates them, and leaves all others alone', async () => {
      const cluster = (name: string) => ({ [`kubernetes.io/cluster/${name}`]: 'owned' })
      const [first, second] = await runMachines(endpointUrl, { ...cluster('demo'), [KARPENTER]: 'default' }, 2)
      const [managed] = await runMachines(endpointUrl, cluster('demo'), 1)
      const [foreign] = await runMachines(endpointUrl, { ...cluster('other'), [KARPENTER]: 'default' }, 1)
      const find = async (name: string) =>
        (await aws.findMachines(identity, REGION, { ...cluster(name), [KARPENTER]: true })).map(({ id }) => id).sort()
      assert.deepEqual(await find('demo'), [first!, second!].sort())
      assert.deepEqual(await find('nobody'), [])
      const [one] = await aws.findMachines(identity, REGION, { ...cluster('demo'), [KARPENTER]: true })
      assert.equal(one!.tags[KARPENTER], 'default')
      assert.equal(one!.state, 'running')

      await aws.terminateMachines(identity, REGION, [first!, second!])
      assert.deepEqual(await find('demo'), [], 'a machine that is going is not listed')
      assert.deepEqual(await find('other'), [foreign])
      const left = await aws.findMachines(identity, REGION, cluster('demo'))
      assert.deepEqual(
        left.map(({ id }) => id),
        [managed],
        'a machine of a managed node group is none of ours',
      )
      await assert.rejects(
        aws.terminateMachines(identity, REGION, ['i-00000000000000000']),
        (error) => error instanceof AwsError && error.awsCode === 'InvalidInstanceID.NotFound',
      )
      prove('moto', 'moto[server]', 'machines by tag: listed, terminated, and no other')
    })

    it('finds disks by tag, and says which of them stay', async () => {
      const tags = { 'kubernetes.io/cluster/demo': 'owned', 'ebs.csi.aws.com/cluster': 'true' }
      await ask(endpointUrl, {
        Action: 'CreateVolume',
        Size: '1',
        AvailabilityZone: `${REGION}a`,
        ...tagged('volume', tags),
      })
      const found = await aws.findVolumes(identity, REGION, { 'kubernetes.io/cluster/demo': 'owned' })
      assert.equal(found.length, 1)
      assert.match(found[0]!.id, /^vol-/)
      assert.equal(found[0]!.goesWithMachine, false)
      assert.equal(found[0]!.tags['ebs.csi.aws.com/cluster'], 'true')
    })

    it('shows the doctor what a workspace made and no state knows', async () => {
      const { objects } = memoryCluster()
      const cloud = openCloud(objects, systemClock, { AWS_ENDPOINT_URL: endpointUrl })
      await objects.create(SecretKind, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'default', name: 'keys' },
        data: {
          AWS_ACCESS_KEY_ID: 'dGVzdGluZw==',
          AWS_SECRET_ACCESS_KEY: Buffer.from(planted('moto')).toString('base64'),
        },
      } as never)
      const tags = tagged('vpc', { [WORKSPACE_TAG]: 'w-1' })
      await ask(endpointUrl, { Action: 'CreateVpc', CidrBlock: '10.2.0.0/16', ...tags })
      const apply = anApply({ variables: { region: REGION }, credentialsRef: { name: 'keys' } })
      const found = await cloud.findTagged(apply, 'w-1', [])
      assert.deepEqual(found.regions, [REGION, 'us-east-1'])
      assert.equal(found.tagged.length, 1)
      assert.match(found.tagged[0]!.arn, /:vpc\/vpc-/)
      const state = { is: 'none' } as const
      assert.deepEqual(
        untracked(found.tagged, { record: undefined, lock: { is: 'free' }, runner: undefined, state }),
        found.tagged,
      )
      assert.deepEqual((await cloud.findTagged(apply, 'w-2', [])).tagged, [])
      prove('moto', 'moto[server]', 'capt doctor: found by the tag of a workspace, in no state')
    })

    it('names the permission that an identity lacks', async () => {
      const keys = await makeUser(endpointUrl, 'reader', ['ec2:DescribeInstances'])
      await fetch(`${endpointUrl}moto-api/reset-auth`, { method: 'POST', body: '0' })
      try {
        await aws.findMachines({ keys }, REGION, { 'kubernetes.io/cluster/demo': 'owned' })
        await assert.rejects(aws.terminateMachines({ keys }, REGION, ['i-00000000000000000']), (error) => {
          assert.ok(error instanceof AwsError)
          assert.equal(error.code, 'CAPT_AWS_ACCESS_DENIED')
          assert.match(error.hint ?? '', /allow ec2:TerminateInstances/)
          return true
        })
        const unknown = { accessKeyId: 'AKIAUNKNOWNUNKNOWN00', secretAccessKey: planted('unknown') }
        await assert.rejects(
          aws.findMachines({ keys: unknown }, REGION, { a: 'b' }),
          (error) => error instanceof AwsError && error.reason === 'NoCredentials',
        )
      } finally {
        await fetch(`${endpointUrl}moto-api/reset-auth`, { method: 'POST', body: 'Infinity' })
      }
    })

    it('refuses what it does not know with a code, not with a crash', async () => {
      const nowhere = connectAws({ clock: systemClock, endpointUrl: `${endpointUrl}nowhere`, timeoutMs: 5000 })
      await assert.rejects(nowhere.whoAmI(identity, REGION), (error) => error instanceof AwsError)
    })
  })

async function makeVpc(endpointUrl: string, workspace: string, cidr: string): Promise<void> {
  const tags = tagged('vpc', { 'capt.appthrust.com/workspace': workspace })
  await ask(endpointUrl, { Action: 'CreateVpc', CidrBlock: cidr, ...tags })
}

async function runMachines(
  endpointUrl: string,
  tags: Readonly<Record<string, string>>,
  count: number,
): Promise<string[]> {
  const text = await ask(endpointUrl, {
    Action: 'RunInstances',
    ImageId: 'ami-12c6146b',
    InstanceType: 't3.micro',
    MinCount: String(count),
    MaxCount: String(count),
    ...tagged('instance', tags),
  })
  return [...text.matchAll(/<instanceId>([^<]+)</g)].map(([, id]) => id!)
}

/** A user with one inline policy, and its keys. */
async function makeUser(endpointUrl: string, name: string, actions: readonly string[]) {
  const iam = { service: 'iam', Version: '2010-05-08', UserName: name }
  await ask(endpointUrl, { ...iam, Action: 'CreateUser' })
  const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: actions, Resource: '*' }] }
  await ask(endpointUrl, {
    ...iam,
    Action: 'PutUserPolicy',
    PolicyName: 'only',
    PolicyDocument: JSON.stringify(policy),
  })
  const text = await ask(endpointUrl, { ...iam, Action: 'CreateAccessKey' })
  const read = (element: string) => new RegExp(`<${element}>([^<]+)<`).exec(text)![1]!
  return { accessKeyId: read('AccessKeyId'), secretAccessKey: read('SecretAccessKey') }
}

const tagged = (resource: string, tags: Readonly<Record<string, string>>): Record<string, string> => ({
  'TagSpecification.1.ResourceType': resource,
  ...Object.fromEntries(
    Object.entries(tags).flatMap(([key, value], i) => [
      [`TagSpecification.1.Tag.${i + 1}.Key`, key],
      [`TagSpecification.1.Tag.${i + 1}.Value`, value],
    ]),
  ),
})

/** A call that capt itself never makes, to prepare what it shall find. */
async function ask(
  endpointUrl: string,
  { service = 'ec2', Version = '2016-11-15', ...parameters }: Readonly<Record<string, string>>,
): Promise<string> {
  const answer = await fetch(endpointUrl, {
    method: 'POST',
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=testing/20260101/${REGION}/${service}/aws4_request, SignedHeaders=host, Signature=0`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ ...parameters, Version }),
  })
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  return text
}
