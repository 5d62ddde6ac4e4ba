// Stands in front of moto and answers what moto (5.2) lacks, as AWS's API reference documents it. Everything else reaches
// moto unchanged.
//   answered here    EKS: access entries and their policies, add-ons and their versions, Pod Identity associations, tags
//                    of these, updates, versions of clusters and node groups, changes of a cluster's configuration.
//                    SSM: the parameters of EKS-optimised images.
//   completed here   EKS: CreateCluster, DescribeCluster, CreateNodegroup, DescribeNodegroup (clusters.ts says of what).
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ACCESS_ENTRY_ROUTES } from './access-entries.ts'
import { describeVersions } from './addon-versions.ts'
import { ADDON_ROUTES } from './addons.ts'
import { type Json, matchPath } from './call.ts'
import { type Ec2, makeNetwork, removeNetwork } from './cluster-network.ts'
import { type ClusterState, stateOf } from './cluster-state.ts'
import { CLUSTER_ROUTES, completeCluster, completeNodeGroup, noteCluster, noteNodeGroup } from './clusters.ts'
import { imageParameters, isImageParameter, parametersBelow } from './images.ts'
import { listOf, pageOfAnswer, withoutToken } from './pages.ts'
import { POD_IDENTITY_ROUTES } from './pod-identity.ts'
import { answerTags, tagsAt } from './tags.ts'
import {
  type Asked,
  type AwsCall,
  ask,
  bytesOf,
  callOf,
  closeZones,
  jsonOf,
  type Refusal,
  type Reply,
  refusedAs,
  sendError,
  toReply,
  withoutHops,
  withText,
} from './wire.ts'

export interface AwsStandIn {
  /** Without a slash at its end. */
  readonly url: string
  /** What every cluster answers as its API; moto invents one that nobody serves. */
  api: { readonly url: string; readonly caData: string } | undefined
  /** Asked before each call reaches moto; an error is the answer instead. */
  before: ((call: AwsCall) => Refusal | undefined) | undefined
  /** Called for each call that was answered, before the caller gets the answer. */
  after: ((call: AwsCall) => void) | undefined
  /** Lists are handed out in pages of this size; in those of the caller when left out. */
  pageSize: number | undefined
  /** Zones that the account has not opted in to. */
  closedZones: readonly string[]
  close(): Promise<void>
}

const ROUTES = [...ACCESS_ENTRY_ROUTES, ...ADDON_ROUTES, ...POD_IDENTITY_ROUTES, ...CLUSTER_ROUTES]

export async function startAwsStandIn(motoUrl: string): Promise<AwsStandIn> {
  const clusters = new Map<string, ClusterState>()
  const hooks: Omit<AwsStandIn, 'url' | 'close'> = {
    api: undefined,
    before: undefined,
    after: undefined,
    pageSize: undefined,
    closedZones: [],
  }
  const server = createServer((incoming, outgoing) => {
    answer(incoming).then(
      ({ status, headers, body }) => outgoing.writeHead(status, withoutHops(headers, body)).end(body),
      (error: unknown) => sendError(outgoing, error),
    )
  })

  async function answer(incoming: IncomingMessage): Promise<Reply> {
    const bytes = await bytesOf(incoming)
    const scope = /Credential=[^,]*?\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request/.exec(incoming.headers.authorization ?? '')
    if (incoming.url === '/moto-api/reset') clusters.clear()
    const url = new URL(incoming.url!, motoUrl)
    const path = url.pathname.split('/').slice(1).map(decodeURIComponent)
    const call = callOf(scope?.[2] ?? '', { method: incoming.method!, path, headers: incoming.headers, body: bytes })
    const list = hooks.pageSize === undefined ? undefined : listOf(call.action)
    const { start, body } = list === undefined ? { start: 0, body: bytes } : withoutToken(url, bytes)
    const target = list === undefined ? incoming.url! : `${url.pathname}${url.search}`
    const forward = () => ask(motoUrl, incoming.method!, target, incoming.headers, body)
    const asked = {
      method: incoming.method!,
      path,
      query: url.searchParams,
      headers: incoming.headers,
      body,
      region: scope?.[1] ?? '',
    }
    const refusal = hooks.before?.(call)
    if (refusal) return refusedAs(refusal, call)
    const answered =
      scope?.[2] === 'eks'
        ? await answerEks(asked, forward)
        : scope?.[2] === 'ssm'
          ? await answerSsm(asked, forward)
          : await forward()
    hooks.after?.(call)
    if (call.action === 'ec2:DescribeAvailabilityZones')
      return withText(answered, (text) => closeZones(text, hooks.closedZones))
    return list === undefined || answered.status !== 200
      ? answered
      : withText(answered, (text) => pageOfAnswer(text, list, start, hooks.pageSize!))
  }

  async function answerEks(asked: Asked, forward: () => Promise<Reply>): Promise<Reply> {
    const { method, path, query } = asked
    if (method === 'GET' && path.join('/') === 'addons/supported-versions') return toReply(describeVersions(query))
    if (path[0] === 'tags') {
      const tags = tagsAt(path.slice(1).join('/'), clusters.values())
      return tags ? toReply(answerTags(method, tags, query, jsonOf(asked.body))) : await forward()
    }
    for (const route of ROUTES) {
      const at = route.method === method ? matchPath(route.path, path) : undefined
      if (!at) continue
      const cluster = await clusterOf(asked, at['cluster']!)
      return 'status' in cluster
        ? cluster
        : toReply(route.answer({ cluster, at, query, body: jsonOf(asked.body) }) ?? {})
    }
    return await complete(asked, await forward())
  }

  /** The cluster as moto knows it, with what is kept here; or moto's answer that there is none. */
  async function clusterOf({ headers, region }: Asked, name: string): Promise<ClusterState | Reply> {
    const found = await ask(motoUrl, 'GET', `/clusters/${encodeURIComponent(name)}`, { ...headers }, Buffer.alloc(0))
    if (found.status !== 200) return found
    return keep(region, jsonOf(found.body)['cluster'] as Json)
  }

  function keep(region: string, described: Json): ClusterState {
    const key = `${region}/${described['arn']}`
    const known = clusters.get(key)
    if (known && known.createdAt === Number(described['createdAt'])) return known
    const fresh = stateOf(described)
    clusters.set(key, fresh)
    return fresh
  }

  /** Adds to moto's answers about clusters and node groups what moto drops. */
  async function complete(asked: Asked, reply: Reply): Promise<Reply> {
    if (reply.status !== 200 || asked.path[0] !== 'clusters') return reply
    const found = jsonOf(reply.body)
    const request = jsonOf(asked.body)
    const described = found['cluster'] as Json | undefined
    if (described) {
      const state = keep(asked.region, described)
      if (asked.method === 'POST') noteCluster(state, request, await makeNetwork(ec2As(asked), state.name, request))
      if (asked.method === 'DELETE') {
        clusters.delete(`${asked.region}/${described['arn']}`)
        await removeNetwork(ec2As(asked), state.settings)
      }
      const { api } = hooks
      const served = api ? { endpoint: api.url, certificateAuthority: { data: api.caData } } : {}
      return toReply({ cluster: { ...completeCluster(state, described), ...served } })
    }
    const group = found['nodegroup'] as Json | undefined
    if (!group) return reply
    const state = await clusterOf(asked, asked.path[1]!)
    if ('status' in state) return reply
    if (asked.method === 'POST' && asked.path.length === 3) noteNodeGroup(state, request)
    return toReply({ nodegroup: completeNodeGroup(state, group) })
  }

  const ec2As =
    ({ headers }: Asked): Ec2 =>
    async (Action, parameters) => {
      const authorization = headers.authorization!.replace('/eks/aws4_request', '/ec2/aws4_request')
      const form = { authorization, 'content-type': 'application/x-www-form-urlencoded' }
      const body = Buffer.from(String(new URLSearchParams({ Action, Version: '2016-11-15', ...parameters })))
      return (await ask(motoUrl, 'POST', '/', form, body)).body.toString()
    }

  async function answerSsm(asked: Asked, forward: () => Promise<Reply>): Promise<Reply> {
    const operation = String(asked.headers['x-amz-target']).split('.').at(-1)
    const body = jsonOf(asked.body)
    const images = imageParameters(asked.region, asked.region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws')
    if (operation === 'GetParametersByPath' && isImageParameter(`${body['Path']}/`))
      return toReply(parametersBelow(images, body))
    if (operation === 'GetParameter' && images.has(String(body['Name'])))
      return toReply({ Parameter: images.get(String(body['Name'])) })
    if (operation !== 'GetParameters') return await forward()
    const names = body['Names'] as readonly string[]
    const ours = names.flatMap((name) => images.get(name) ?? [])
    if (ours.length === 0) return await forward()
    const others = Buffer.from(JSON.stringify({ ...body, Names: names.filter((name) => !images.has(name)) }))
    if (ours.length === names.length) return toReply({ Parameters: ours, InvalidParameters: [] })
    const found = jsonOf((await ask(motoUrl, 'POST', '/', asked.headers, others)).body)
    return toReply({ ...found, Parameters: [...ours, ...((found['Parameters'] as Json[] | undefined) ?? [])] })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(hooks, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}
