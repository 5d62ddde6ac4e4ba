// The signatures are checked by computing them a second time, from the published description of Signature Version 4;
// the calls run against a small server that behaves as AWS was recorded to behave.
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { manualClock } from '#testing'
import { connectAws } from './adapter.ts'
import { addressOf } from './partition.ts'
import { AwsError, type AwsIdentity } from './port.ts'

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const identity: AwsIdentity = { keys: KEYS }
const NOW = Date.UTC(2026, 0, 1)

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const sha = (text: string) => createHash('sha256').update(text).digest('hex')
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

function signatureOf(canonical: string, scope: string, amzDate: string, secret: string): string {
  const [day, region, service] = scope.split('/') as [string, string, string]
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), service), 'aws4_request')
  return hmac(key, ['AWS4-HMAC-SHA256', amzDate, scope, sha(canonical)].join('\n')).toString('hex')
}

function recompute(url: URL, headers: Record<string, string>, secret: string): string {
  const query = [...url.searchParams].filter(([name]) => name !== 'X-Amz-Signature')
  const canonicalQuery = query
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
  const signed = url.searchParams.get('X-Amz-SignedHeaders')!
  const lines = signed.split(';').map((name) => `${name}:${headers[name]}\n`)
  const canonical = ['GET', '/', canonicalQuery, lines.join(''), signed, sha('')].join('\n')
  const scope = url.searchParams.get('X-Amz-Credential')!.split('/').slice(1).join('/')
  return signatureOf(canonical, scope, url.searchParams.get('X-Amz-Date')!, secret)
}

const decode = (token: string) => new URL(Buffer.from(token.replace('k8s-aws-v1.', ''), 'base64url').toString())

describe('an EKS token', () => {
  const aws = connectAws({ clock: manualClock(NOW) })

  it('is a presigned question to STS whose signature covers the name of the cluster', async () => {
    const { token, expiresAtMs } = await aws.eksToken(identity, { name: 'demo', region: 'eu-west-1' })
    assert.match(token, /^k8s-aws-v1\.[A-Za-z0-9_-]+$/)
    const url = decode(token)
    assert.equal(url.host, 'sts.eu-west-1.amazonaws.com')
    assert.equal(url.searchParams.get('X-Amz-Expires'), '60')
    assert.equal(url.searchParams.get('X-Amz-SignedHeaders'), 'host;x-k8s-aws-id')
    const signature = recompute(url, { host: url.host, 'x-k8s-aws-id': 'demo' }, KEYS.secretAccessKey)
    assert.equal(url.searchParams.get('X-Amz-Signature'), signature)
    const other = recompute(url, { host: url.host, 'x-k8s-aws-id': 'another' }, KEYS.secretAccessKey)
    assert.notEqual(url.searchParams.get('X-Amz-Signature'), other)
    assert.equal(expiresAtMs, NOW + 15 * 60_000)
  })

  it('carries the session of temporary keys, signed too', async () => {
    const keys = { ...KEYS, sessionToken: 'FwoGZXIvYXdzEBYaD+/=' }
    const { token } = await aws.eksToken({ keys }, { name: 'demo', region: 'us-gov-west-1' })
    const url = decode(token)
    assert.equal(url.searchParams.get('X-Amz-Security-Token'), keys.sessionToken)
    const signature = recompute(url, { host: url.host, 'x-k8s-aws-id': 'demo' }, KEYS.secretAccessKey)
    assert.equal(url.searchParams.get('X-Amz-Signature'), signature)
  })

  for (const [region, host] of [
    ['cn-north-1', 'sts.cn-north-1.amazonaws.com.cn'],
    ['us-gov-east-1', 'sts.us-gov-east-1.amazonaws.com'],
    ['us-iso-east-1', 'sts.us-iso-east-1.c2s.ic.gov'],
    ['us-isob-east-1', 'sts.us-isob-east-1.sc2s.sgov.gov'],
    ['eusc-de-east-1', 'sts.eusc-de-east-1.amazonaws.eu'],
    ['ap-northeast-1', 'sts.ap-northeast-1.amazonaws.com'],
  ] as const)
    it(`asks the STS of its own partition in ${region}`, async () => {
      const { token } = await aws.eksToken(identity, { name: 'demo', region })
      assert.equal(decode(token).host, host)
    })

  it('signs calls to IAM for the home region of the partition', () => {
    assert.deepEqual(addressOf('iam', 'eu-west-1'), { host: 'iam.amazonaws.com', signingRegion: 'us-east-1' })
    assert.equal(addressOf('iam', 'cn-northwest-1').signingRegion, 'cn-north-1')
    assert.equal(addressOf('iam', 'us-gov-east-1').signingRegion, 'us-gov-west-1')
  })
})

type Handler = (body: URLSearchParams, text: string, request: IncomingMessage) => { status?: number; text: string }
const servers: ReturnType<typeof createServer>[] = []
after(() => {
  for (const server of servers) server.close()
})

async function awsAgainst(handler: Handler, clock = manualClock(NOW)) {
  const seen: { readonly action: string; readonly authorization: string; readonly text: string }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const body = new URLSearchParams(text)
    seen.push({ action: body.get('Action') ?? '', authorization: request.headers.authorization ?? '', text })
    const answer = handler(body, text, request)
    response.writeHead(answer.status ?? 200, { connection: 'close' }).end(answer.text)
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { aws: connectAws({ clock, endpointUrl, timeoutMs: 2000 }), seen, clock }
}

const errorXml = (code: string, message = 'no') =>
  `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`
const sessionXml = (expiration: string) =>
  `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s3cret</SecretAccessKey><SessionToken>tok&amp;en</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`

describe('the Spot service-linked role', () => {
  it('is left alone when the account has it', async () => {
    const { aws, seen } = await awsAgainst(() => ({ text: '<GetRoleResponse/>' }))
    assert.equal(await aws.ensureSpotRole(identity, 'eu-west-1'), 'present')
    assert.deepEqual(
      seen.map(({ action }) => action),
      ['GetRole'],
    )
    assert.match(seen[0]!.authorization, /Credential=AKIDEXAMPLE\/20260101\/us-east-1\/iam\/aws4_request/)
  })

  it('is made when it is missing, and never deleted', async () => {
    const { aws, seen } = await awsAgainst((body) =>
      body.get('Action') === 'GetRole' ? { status: 404, text: errorXml('NoSuchEntity') } : { text: '<ok/>' },
    )
    assert.equal(await aws.ensureSpotRole(identity, 'eu-west-1'), 'created')
    assert.match(seen[1]!.text, /Action=CreateServiceLinkedRole.*AWSServiceName=spot\.amazonaws\.com/)
  })

  it('counts as present when somebody else made it in between', async () => {
    const { aws } = await awsAgainst((body) =>
      body.get('Action') === 'GetRole'
        ? { status: 404, text: errorXml('NoSuchEntity') }
        : { status: 400, text: errorXml('InvalidInput', 'Service role name AWSServiceRoleForEC2Spot has been taken') },
    )
    assert.equal(await aws.ensureSpotRole(identity, 'eu-west-1'), 'present')
  })

  it('names the permission that is missing', async () => {
    const { aws } = await awsAgainst(() => ({ status: 403, text: errorXml('AccessDenied', 'not authorized') }))
    await assert.rejects(aws.ensureSpotRole(identity, 'eu-west-1'), (error) => {
      assert.ok(error instanceof AwsError)
      assert.equal(error.code, 'CAPT_AWS_ACCESS_DENIED')
      assert.match(error.hint ?? '', /allow iam:GetRole/)
      return true
    })
  })
})

describe('an assumed role', () => {
  const role = { arn: 'arn:aws:iam::123456789012:role/capt', externalId: 'x-1' }

  it('is assumed once with its external id and used until it would not outlive a token', async () => {
    const clock = manualClock(NOW)
    const { aws, seen } = await awsAgainst(
      () => ({ text: sessionXml(new Date(clock.now() + 3_600_000).toISOString()) }),
      clock,
    )
    const sign = () => aws.eksToken({ ...identity, role }, { name: 'demo', region: 'eu-west-1' })
    const url = decode((await sign()).token)
    assert.match(url.searchParams.get('X-Amz-Credential') ?? '', /^ASIA1\//)
    assert.equal(url.searchParams.get('X-Amz-Security-Token'), 'tok&en')
    assert.match(seen[0]!.text, /ExternalId=x-1/)
    await clock.advance(40 * 60_000)
    await sign()
    assert.equal(seen.length, 1)
    await clock.advance(10 * 60_000)
    await sign()
    assert.equal(seen.length, 2)
  })

  it('ends a token early when its session ends early', async () => {
    const { aws } = await awsAgainst(() => ({ text: sessionXml(new Date(NOW + 5 * 60_000).toISOString()) }))
    const { expiresAtMs } = await aws.eksToken({ ...identity, role }, { name: 'demo', region: 'eu-west-1' })
    assert.equal(expiresAtMs, NOW + 5 * 60_000)
  })

  it('says which call was refused when the trust policy refuses', async () => {
    const { aws } = await awsAgainst(() => ({ status: 403, text: errorXml('AccessDenied') }))
    await assert.rejects(aws.whoAmI({ ...identity, role }, 'eu-west-1'), /sts:AssumeRole was refused: AccessDenied/)
  })
})

describe('the sweep by tag', () => {
  it('reads every page', async () => {
    const page = (arn: string, PaginationToken: string) => ({
      text: JSON.stringify({
        PaginationToken,
        ResourceTagMappingList: [{ ResourceARN: arn, Tags: [{ Key: 'a', Value: 'b' }] }],
      }),
    })
    const { aws, seen } = await awsAgainst((_, text) =>
      text.includes('"next"') ? page('arn:2', '') : page('arn:1', 'next'),
    )
    const found = await aws.findTagged(identity, 'eu-west-1', { 'capt.appthrust.com/workspace': 'demo' })
    assert.deepEqual(
      found.map(({ arn }) => arn),
      ['arn:1', 'arn:2'],
    )
    assert.deepEqual(JSON.parse(seen[0]!.text).TagFilters, [{ Key: 'capt.appthrust.com/workspace', Values: ['demo'] }])
  })
})

describe('terminating machines', () => {
  it('is one signed call to EC2 in the region and partition of the cluster', async () => {
    const { aws, seen } = await awsAgainst(() => ({ text: '<TerminateInstancesResponse/>' }))
    await aws.terminateMachines(identity, 'cn-north-1', ['i-1', 'i-2'])
    assert.match(seen[0]!.text, /Action=TerminateInstances.*InstanceId\.1=i-1&InstanceId\.2=i-2/)
    assert.match(seen[0]!.authorization, /Credential=AKIDEXAMPLE\/20260101\/cn-north-1\/ec2\/aws4_request/)
    assert.equal(addressOf('ec2', 'cn-north-1').host, 'ec2.cn-north-1.amazonaws.com.cn')
  })

  it('that is not allowed names the permission, without the blob that EC2 appends', async () => {
    const message = 'You are not authorized to perform this operation. Encoded authorization failure message: 3J2kBlob'
    const refusal = `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>${message}</Message></Error></Errors></Response>`
    const { aws } = await awsAgainst(() => ({ status: 403, text: refusal }))
    await assert.rejects(aws.terminateMachines(identity, 'eu-west-1', ['i-1']), (error) => {
      assert.ok(error instanceof AwsError)
      assert.equal(error.code, 'CAPT_AWS_ACCESS_DENIED')
      assert.match(error.hint ?? '', /allow ec2:TerminateInstances/)
      assert.doesNotMatch(error.message, /3J2kBlob/)
      return true
    })
  })

  for (const code of ['AuthFailure', 'RequestExpired'])
    it(`that EC2 refuses with ${code} is a matter of credentials`, async () => {
      const refusal = `<Response><Errors><Error><Code>${code}</Code><Message>no</Message></Error></Errors></Response>`
      const { aws } = await awsAgainst(() => ({ status: 401, text: refusal }))
      await assert.rejects(
        aws.findMachines(identity, 'eu-west-1', { a: 'b' }),
        (error) => error instanceof AwsError && error.reason === 'NoCredentials',
      )
    })
})

describe('a failure of AWS', () => {
  it('never shows a key', async () => {
    const leaky = errorXml('SignatureDoesNotMatch', `key ${KEYS.accessKeyId} secret_access_key=${KEYS.secretAccessKey}`)
    const { aws } = await awsAgainst(() => ({ status: 403, text: leaky }))
    await assert.rejects(aws.whoAmI(identity, 'eu-west-1'), (error) => {
      assert.ok(error instanceof AwsError)
      assert.equal(error.reason, 'NoCredentials')
      assert.ok(!error.message.includes(KEYS.secretAccessKey))
      return true
    })
  })

  it('is distinguished from an endpoint that does not answer', async () => {
    const aws = connectAws({ clock: manualClock(NOW), endpointUrl: 'http://127.0.0.1:1/', timeoutMs: 500 })
    await assert.rejects(
      aws.whoAmI(identity, 'eu-west-1'),
      (error) => error instanceof AwsError && error.reason === 'Unreachable',
    )
  })
})
