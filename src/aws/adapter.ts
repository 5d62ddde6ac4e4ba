// The port, on real AWS: a handful of signed calls, and EKS tokens that are signed without any call at all.
import type { Clock } from '#lib'
import { type Call, elementIn, queryCall, send, type Transport } from './call.ts'
import { credentialSource } from './credentials.ts'
import { listMachines, listVolumes, terminateMachines } from './ec2.ts'
import { type Environment, endpointOf } from './endpoint.ts'
import { addressOf } from './partition.ts'
import {
  type AccessKeys,
  type Aws,
  AwsError,
  type AwsIdentity,
  type ClusterDescriptions,
  type ClusterNames,
  type ClusterNetwork,
  type Ec2,
  isAwsError,
  type TaggedResource,
} from './port.ts'
import { presignUrl } from './signer.ts'

interface AwsOptions {
  readonly clock: Clock
  /** Where all calls go instead of AWS (a test double). Tokens are never signed for it. */
  readonly endpointUrl?: string
  /** Names other endpoints than AWS's own, as for every AWS SDK. */
  readonly env?: Environment
  readonly timeoutMs?: number
}

const TOKEN_PREFIX = 'k8s-aws-v1.'
const TOKEN_LIFE_MS = 15 * 60_000
/** What the URL says; clusters count 15 minutes from the time of signing, whatever it says. */
const URL_SECONDS = 60
const SPOT_ROLE = 'AWSServiceRoleForEC2Spot'
const SPOT_SERVICE = 'spot.amazonaws.com'

export function connectAws({
  clock,
  endpointUrl,
  env = {},
  timeoutMs = 15_000,
}: AwsOptions): Aws & AccessKeys & Ec2 & ClusterNetwork & ClusterNames & ClusterDescriptions {
  const transport: Transport = {
    endpointOf: (service) => endpointUrl ?? endpointOf(env, service),
    timeoutMs,
    nowMs: () => clock.now(),
  }
  const { keysFor } = credentialSource(transport)
  const ask = (call: Call) => send(transport, call)
  const baseOf = async (identity: AwsIdentity, region: string) => ({ region, keys: await keysFor(identity, region) })

  return {
    async eksToken(identity, { name, region }) {
      const keys = await keysFor(identity, region)
      const nowMs = clock.now()
      const { host, signingRegion } = addressOf('sts', region)
      const request = {
        method: 'GET' as const,
        host,
        query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
        headers: { 'x-k8s-aws-id': name },
      }
      const url = await presignUrl(request, { keys, service: 'sts', region: signingRegion, nowMs }, URL_SECONDS)
      const expiresAtMs = Math.min(nowMs + TOKEN_LIFE_MS, keys.expiresAtMs ?? Number.POSITIVE_INFINITY)
      return { token: TOKEN_PREFIX + Buffer.from(url).toString('base64url'), expiresAtMs }
    },

    async whoAmI(identity, region) {
      const keys = await keysFor(identity, region)
      const xml = await send(
        transport,
        queryCall({ service: 'sts', region, keys }, 'GetCallerIdentity', '2011-06-15', {}),
      )
      const account = elementIn(xml, 'Account')
      const arn = elementIn(xml, 'Arn')
      if (!account || !arn) throw new AwsError('Refused', 'sts:GetCallerIdentity answered without an account')
      return { account, arn }
    },

    async ensureSpotRole(identity, region) {
      const keys = await keysFor(identity, region)
      const iam = { service: 'iam', region, keys } as const
      try {
        await send(transport, queryCall(iam, 'GetRole', '2010-05-08', { RoleName: SPOT_ROLE }))
        return 'present'
      } catch (error) {
        if (!isAwsError(error) || error.awsCode !== 'NoSuchEntity') throw error
      }
      try {
        await send(transport, queryCall(iam, 'CreateServiceLinkedRole', '2010-05-08', { AWSServiceName: SPOT_SERVICE }))
        return 'created'
      } catch (error) {
        // It was made in between.
        if (isAwsError(error) && /InvalidInput|EntityAlreadyExists/.test(error.awsCode ?? '')) return 'present'
        throw error
      }
    },

    async findTagged(identity, region, tags) {
      const keys = await keysFor(identity, region)
      const found: TaggedResource[] = []
      let PaginationToken = ''
      do {
        const TagFilters = Object.entries(tags).map(([Key, value]) => ({ Key, Values: [value] }))
        const text = await send(transport, {
          service: 'tagging',
          region,
          keys,
          action: 'tag:GetResources',
          headers: {
            'content-type': 'application/x-amz-json-1.1',
            'x-amz-target': 'ResourceGroupsTaggingAPI_20170126.GetResources',
          },
          body: JSON.stringify({ TagFilters, ResourcesPerPage: 100, ...(PaginationToken ? { PaginationToken } : {}) }),
        })
        const page = JSON.parse(text) as TaggingPage
        found.push(...(page.ResourceTagMappingList ?? []).map(toResource))
        PaginationToken = page.PaginationToken ?? ''
      } while (PaginationToken !== '')
      return found
    },

    findMachines: async (identity, region, tags) => await listMachines(ask, await baseOf(identity, region), tags),
    findVolumes: async (identity, region, tags) => await listVolumes(ask, await baseOf(identity, region), tags),
    terminateMachines: async (identity, region, ids) =>
      await terminateMachines(ask, await baseOf(identity, region), ids),
    // Read from disk by the few deletions that need it.
    async accessKeyCreation(identity, region) {
      const { readKeyCreation } = await import('./iam.ts')
      return await readKeyCreation(ask, await baseOf(identity, region))
    },

    async findInstanceProfiles(identity, region, cluster) {
      const { listInstanceProfiles } = await import('./iam.ts')
      return await listInstanceProfiles(ask, await baseOf(identity, region), cluster)
    },
    async describeCluster(identity, region, name) {
      const { readDescription } = await import('./names.ts')
      return await readDescription(ask, await baseOf(identity, region), name)
    },
    async findNamed(identity, region, names) {
      const { findNamed } = await import('./names.ts')
      return await findNamed(ask, await baseOf(identity, region), names)
    },
    async findNetwork(identity, region, owner) {
      const { findNetwork } = await import('./network.ts')
      return await findNetwork(ask, await baseOf(identity, region), owner)
    },
    async removeNetwork(identity, region, object) {
      const { removeNetwork } = await import('./network.ts')
      await removeNetwork(ask, await baseOf(identity, region), object)
    },
  }
}

interface TaggingPage {
  readonly PaginationToken?: string
  readonly ResourceTagMappingList?: readonly {
    readonly ResourceARN: string
    readonly Tags?: readonly { readonly Key: string; readonly Value: string }[]
  }[]
}

function toResource({
  ResourceARN,
  Tags = [],
}: NonNullable<TaggingPage['ResourceTagMappingList']>[number]): TaggedResource {
  return { arn: ResourceARN, tags: Object.fromEntries(Tags.map(({ Key, Value }) => [Key, Value])) }
}
