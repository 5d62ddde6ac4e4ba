// What a cluster has in AWS beside what Terraform made, as the teardown asks for it: machines of a dead Karpenter, disks,
// load balancers and what belongs to them. Cluster name, region and credentials are those of the control plane's own
// apply, else of CAPTControlPlane and CAPTCluster. Nothing of the AWS SDK is loaded before the first request.

import {
  CAPTCluster,
  CAPTControlPlane,
  type ClusterApiVersion,
  type ClusterFacts,
  clusterKind,
  type Key,
  readCluster,
  type Secret,
  SecretKind,
  WorkspaceTemplateApply,
} from '#api'
import type { AwsIdentity, ClusterNetwork, Ec2, NetworkObject, TaggedVolume } from '#aws'
import type { Cache, Objects } from '#kube'
import { CaptError, isPlainObject } from '#lib'
import { eksApplyName, identityOf, networkOf, regionOf } from '../../control-plane/variables.ts'
import type { CloudObject, Instances } from '../workload.ts'
import { awsPlaceOf, identityAt } from './place.ts'

interface AwsInstancesPorts {
  readonly objects: Objects
  /** Has Clusters and control planes. */
  readonly cache: Cache
  readonly clusterApi: ClusterApiVersion
  readonly aws: Ec2 & ClusterNetwork
}

interface Place {
  readonly identity: AwsIdentity
  readonly region: string
  /** Name of the EKS cluster. */
  readonly cluster: string
  readonly vpcId: string | undefined
  /** The tag that everything of the cluster carries. */
  readonly owned: Readonly<Record<string, string>>
}

const NODE_POOL = 'karpenter.sh/nodepool'
/** On volumes that the EBS CSI driver made for claims: they outlive every machine. */
const CSI_VOLUME = 'ebs.csi.aws.com/cluster'

export function awsInstances(world: AwsInstancesPorts): Instances {
  return {
    async list(cluster) {
      const place = await placeOf(world, cluster)
      if (!place) return []
      const tags = { ...place.owned, [NODE_POOL]: true } as const
      const found = await world.aws.findMachines(place.identity, place.region, tags)
      return found.map(({ id, tags }) => ({ id, ...(tags[NODE_POOL] ? { nodePool: tags[NODE_POOL] } : {}) }))
    },
    async volumes(cluster) {
      const place = await placeOf(world, cluster)
      if (!place) return []
      const found = await world.aws.findVolumes(place.identity, place.region, place.owned)
      return found.filter(staysBehind).map(({ id }) => id)
    },
    async profiles(cluster) {
      const place = await placeOf(world, cluster)
      return place ? await world.aws.findInstanceProfiles(place.identity, place.region, place.cluster) : []
    },
    async terminate(cluster, ids) {
      const place = await placeOf(world, cluster)
      if (place) await world.aws.terminateMachines(place.identity, place.region, ids)
    },
    async network(cluster) {
      const place = await placeOf(world, cluster)
      if (!place) return undefined
      const { identity, region, vpcId } = place
      const owner = { cluster: place.cluster, ...(vpcId === undefined ? {} : { vpcId }) }
      const found = await world.aws.findNetwork(identity, region, owner)
      // Cluster names repeat between accounts and over time; a VPC is the cluster's own.
      return found.map(({ kind, id }) => ({ kind, id, isRemovable: vpcId !== undefined }))
    },
    async removeNetwork(cluster, objects) {
      const place = await placeOf(world, cluster)
      if (!place) return
      const { identity, region } = place
      await eachOf(objects, (object) => world.aws.removeNetwork(identity, region, toNetworkObject(object)))
    },
  }
}

/** One that cannot be removed yet does not keep the others; what it waits for may be among them. */
async function eachOf(objects: readonly CloudObject[], remove: (object: CloudObject) => Promise<void>): Promise<void> {
  const errors: unknown[] = []
  for (const object of objects) await remove(object).catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}

const toNetworkObject = ({ kind, id }: CloudObject): NetworkObject => ({ kind: kind as NetworkObject['kind'], id })

const staysBehind = ({ goesWithMachine, tags }: TaggedVolume): boolean =>
  !goesWithMachine || tags[CSI_VOLUME] !== undefined

/**
 * Undefined for a cluster that is not in AWS: its template brings its own kubeconfig, its control plane is not ours, or
 * its API was never up.
 */
async function placeOf({ objects, cache, clusterApi }: AwsInstancesPorts, cluster: Key): Promise<Place | undefined> {
  const namespace = cluster.namespace ?? ''
  const object = cache.get(clusterKind(clusterApi), cluster)
  const facts = object && readCluster(object)
  const ref = facts?.controlPlaneRef
  if (ref?.kind !== CAPTControlPlane.kind) return undefined
  const plane = cache.get<CAPTControlPlane>(CAPTControlPlane, { namespace, name: ref.name })
  if (!plane) return undefined
  const name = eksApplyName(plane, cluster.name)
  const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name })
  // A kubeconfig with a token that expires is one of EKS; any other came from the template, or there is none.
  if (!apply && plane.status?.kubeconfig?.expiresAt === undefined) return undefined
  if (apply && (await bringsKubeconfig(objects, apply))) return undefined
  const network = networkOf(await infraOf(objects, facts), cluster.name)
  const place = apply ? awsPlaceOf(apply) : { ...identityOf(plane, network), region: undefined }
  const region = place.region ?? regionOf(plane, network, facts?.annotations)
  if (region === undefined)
    throw new CaptError(
      'CAPT_AWS_PLACE_UNKNOWN',
      `The region of cluster ${namespace}/${cluster.name} is not known: neither WorkspaceTemplateApply ${name} nor the CAPTCluster names one`,
      { hint: `look for instances tagged kubernetes.io/cluster/${cluster.name}=owned in its region by hand` },
    )
  const eks =
    textOf(apply?.status?.outputs?.['cluster_name']) ??
    textOf(outputsOf(plane)['cluster_name']) ??
    apply?.spec.variables?.['cluster_name'] ??
    network.clusterName ??
    cluster.name
  return {
    identity: await identityAt(objects, place, namespace),
    region,
    cluster: eks,
    vpcId: network.vpcId ?? apply?.spec.variables?.['vpc_id'],
    owned: { [`kubernetes.io/cluster/${eks}`]: 'owned' },
  }
}

async function infraOf(objects: Objects, facts: ClusterFacts | undefined): Promise<CAPTCluster | undefined> {
  const ref = facts?.infrastructureRef
  if (ref?.kind !== CAPTCluster.kind) return undefined
  return await objects.get<CAPTCluster>(CAPTCluster, { namespace: facts!.namespace, name: ref.name })
}

async function bringsKubeconfig(objects: Objects, { metadata, spec }: WorkspaceTemplateApply): Promise<boolean> {
  const { name, namespace = metadata.namespace ?? '' } = spec.writeConnectionSecretToRef ?? {}
  if (name === undefined) return false
  const secret = await objects.get<Secret>(SecretKind, { namespace, name })
  return (secret?.data?.['kubeconfig'] ?? '') !== ''
}

/** What the last run answered; kept when its apply is gone. */
function outputsOf({ status }: CAPTControlPlane): Readonly<Record<string, unknown>> {
  const outputs = status?.workspaceStatus?.atProvider?.['outputs']
  return isPlainObject(outputs) ? outputs : {}
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Both clouds of an embedded home: a cluster has machines in one of them. */
export function eitherInstances(first: Instances, second: Instances): Instances {
  return {
    async list(cluster) {
      const own = await first.list(cluster)
      return own.length > 0 ? own : await second.list(cluster)
    },
    volumes: async (cluster) => [
      ...((await first.volumes?.(cluster)) ?? []),
      ...((await second.volumes?.(cluster)) ?? []),
    ],
    profiles: async (cluster) => [
      ...((await first.profiles?.(cluster)) ?? []),
      ...((await second.profiles?.(cluster)) ?? []),
    ],
    async terminate(cluster, ids) {
      const own = new Set((await first.list(cluster)).map(({ id }) => id))
      const here = ids.filter((id) => own.has(id))
      const there = ids.filter((id) => !own.has(id))
      if (here.length > 0) await first.terminate(cluster, here)
      if (there.length > 0) await second.terminate(cluster, there)
    },
    async network(cluster) {
      const here = await first.network?.(cluster)
      const there = await second.network?.(cluster)
      return here || there ? [...(here ?? []), ...(there ?? [])] : undefined
    },
    async removeNetwork(cluster, objects) {
      const own = new Set(((await first.network?.(cluster)) ?? []).map(({ id }) => id))
      const [here, there] = [objects.filter(({ id }) => own.has(id)), objects.filter(({ id }) => !own.has(id))]
      if (here.length > 0) await first.removeNetwork?.(cluster, here)
      if (there.length > 0) await second.removeNetwork?.(cluster, there)
    },
  }
}
