// Who has a name, from what EKS and SQS answer; and that a GET is signed for what it reads.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { manualClock } from '#testing'
import { connectAws } from './adapter.ts'
import { isAwsError } from './port.ts'

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }
const NAMES = { cluster: 'demo', queue: 'Karpenter-demo' }
interface Reply {
  readonly status: number
  readonly body: object
  readonly type?: string
}
const NO_CLUSTER: Reply = { status: 404, type: 'ResourceNotFoundException:', body: { message: 'No cluster found' } }
const NO_QUEUE: Reply = { status: 400, body: { __type: 'com.amazonaws.sqs#QueueDoesNotExist', message: 'no' } }
const OK = (body: object): Reply => ({ status: 200, body })

const ask = (replies: Readonly<Record<string, Reply>>) =>
  answered(replies, (aws) => aws.findNamed({ keys: KEYS }, 'eu-west-1', NAMES))

/** Answers by path, or by the target of a POST. */
async function answered<T>(
  replies: Readonly<Record<string, Reply>>,
  question: (aws: ReturnType<typeof connectAws>) => Promise<T>,
) {
  const asked: { what: string; authorization: string }[] = []
  const server = createServer((request, response) => {
    request.resume()
    const what = request.method === 'GET' ? request.url! : String(request.headers['x-amz-target'])
    asked.push({ what, authorization: request.headers.authorization ?? '' })
    const { status, body, type } = replies[what]!
    response.writeHead(status, { connection: 'close', ...(type ? { 'x-amzn-errortype': type } : {}) })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  try {
    const aws = connectAws({ clock: manualClock(Date.UTC(2026, 0, 1)), endpointUrl, timeoutMs: 2000 })
    return { found: await question(aws), asked }
  } finally {
    server.close()
  }
}

describe('an EKS cluster', () => {
  const describeDemo = (reply: Reply) =>
    answered({ '/clusters/demo': reply }, (aws) => aws.describeCluster({ keys: KEYS }, 'eu-west-1', 'demo'))

  it('is described by what a kubeconfig and a status need', async () => {
    const cluster = {
      name: 'demo',
      status: 'ACTIVE',
      version: '1.35',
      arn: 'arn:aws:eks:eu-west-1:1:cluster/demo',
      endpoint: 'https://eks.example.com',
      certificateAuthority: { data: 'Y2E=' },
      resourcesVpcConfig: { vpcId: 'vpc-1' },
      kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16', ipFamily: 'ipv4' },
    }
    const { found } = await describeDemo(OK({ cluster }))
    const { name: _, certificateAuthority, resourcesVpcConfig, kubernetesNetworkConfig, ...rest } = cluster
    const serviceCidr = kubernetesNetworkConfig.serviceIpv4Cidr
    assert.deepEqual(found, { ...rest, caData: certificateAuthority.data, ...resourcesVpcConfig, serviceCidr })
    const ipv6 = { ...cluster, kubernetesNetworkConfig: { serviceIpv6Cidr: 'fd00::/108', ipFamily: 'ipv6' } }
    assert.equal((await describeDemo(OK({ cluster: ipv6 }))).found?.serviceCidr, 'fd00::/108')
  })

  it('is not there when EKS says so, and only then', async () => {
    assert.equal((await describeDemo(NO_CLUSTER)).found, undefined)
    await assert.rejects(describeDemo({ status: 403, type: 'AccessDeniedException', body: {} }), (error) =>
      isAwsError(error, 'AccessDenied'),
    )
  })
})

describe('who has a name', () => {
  it('nobody, when EKS and SQS say that there is none', async () => {
    const { found, asked } = await ask({ '/clusters/demo': NO_CLUSTER, 'AmazonSQS.GetQueueUrl': NO_QUEUE })
    assert.deepEqual(found, [])
    assert.match(asked[0]!.authorization, /Credential=AKIDEXAMPLE\/20260101\/eu-west-1\/eks\/aws4_request/)
    assert.match(asked[1]!.authorization, /\/eu-west-1\/sqs\/aws4_request/)
  })

  it('an EKS cluster and a queue, with their tags', async () => {
    const { found } = await ask({
      '/clusters/demo': OK({ cluster: { name: 'demo', tags: { a: 'b' } } }),
      'AmazonSQS.GetQueueUrl': OK({ QueueUrl: 'https://sqs/1/Karpenter-demo' }),
      'AmazonSQS.ListQueueTags': OK({}),
    })
    assert.deepEqual(found, [
      { kind: 'EKS cluster', name: 'demo', tags: { a: 'b' } },
      { kind: 'queue', name: 'Karpenter-demo', tags: {} },
    ])
  })

  it('is unknown when an answer is denied: that is no absence', async () => {
    const denied: Reply = { status: 403, type: 'AccessDeniedException', body: { message: 'not authorized' } }
    await assert.rejects(ask({ '/clusters/demo': denied }), (error) => {
      assert.ok(isAwsError(error, 'AccessDenied'))
      assert.match(error.message, /eks:DescribeCluster was refused/)
      return true
    })
  })

  it('is unknown when something else answers 404', async () => {
    await assert.rejects(ask({ '/clusters/demo': { status: 404, body: {} } }), (error) => isAwsError(error, 'Refused'))
  })
})
