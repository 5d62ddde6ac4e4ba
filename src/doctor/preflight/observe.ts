// Reads what a preflight check needs: the tool on this machine, what the server serves and allows, and what AWS knows.
// What cannot be asked is part of the result.
import {
  type AnyObject,
  CAPTCluster,
  CAPTControlPlane,
  type KindRef,
  SelfSubjectAccessReviewKind,
  WorkspaceTemplate,
} from '#api'
import { type AwsRequests, listVpcs, readAccount, readAddresses, simulateActions } from '#aws'
import { neededActions } from '#catalog'
import { findTerraform } from '#engine'
import { type Connected, isKubeError, servedClusterApi, servedVersions } from '#kube'
import { isCaptError, messageOf, redact } from '#lib'
import { type Asked, type AwsFacts, type ObservedPreflight, type Plan, policiesOf } from './decide.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What manifests ask for; without any, what a first cluster of the docs needs. */
export function planOf(objects: readonly AnyObject[], env: Environment): Plan {
  const clusters = objects.filter(({ kind }) => kind === CAPTCluster.kind) as unknown as readonly CAPTCluster[]
  const controlPlanes = objects.filter(
    ({ kind }) => kind === CAPTControlPlane.kind,
  ) as unknown as readonly CAPTControlPlane[]
  const region = clusters[0]?.spec.region ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
  const made = clusters.filter(({ spec }) => spec.vpcTemplateRef)
  const templates = [
    ...made.flatMap(({ spec }) => spec.vpcTemplateRef?.name ?? []),
    ...controlPlanes.flatMap(({ spec }) => spec.workspaceTemplateRef?.name ?? []),
  ]
  const given = new Set(
    objects.filter(({ kind }) => kind === WorkspaceTemplate.kind).map(({ metadata }) => metadata.name),
  )
  return {
    region,
    blocks: objects.length === 0 ? ['10.0.0.0/16'] : made.map(({ spec }) => spec.vpcConfig?.cidr ?? '10.0.0.0/16'),
    templates: [...new Set(objects.length === 0 ? ['vpc', 'eks-controlplane'] : templates)].filter(
      (name) => !given.has(name),
    ),
  }
}

interface World {
  readonly connected: Connected
  readonly env: Environment
  /** Undefined: AWS is left out. */
  readonly requests: ((region: string) => AwsRequests) | undefined
}

export async function observePreflight(plan: Plan, { connected, env, requests }: World): Promise<ObservedPreflight> {
  const { namespace } = connected
  const isServed = (await servedVersions(connected, CAPTCluster.group)).length > 0
  const missing: string[] = []
  for (const name of isServed ? plan.templates : [])
    if (!(await connected.objects.get(WorkspaceTemplate, { namespace, name }))) missing.push(name)
  return {
    ...plan,
    namespace,
    tool: await asked(findTerraform({ env })),
    clusterApi: await servedClusterApi(connected, 'cluster.x-k8s.io'),
    isServed,
    missingTemplates: missing,
    refused: await refusedActions(connected),
    aws: requests && (plan.region === undefined ? UNASKED : await asked(observeAws(requests(plan.region), plan))),
  }
}

const UNASKED = { is: 'unknown', message: 'no region is named', hint: 'set AWS_REGION' } as const

async function asked<T>(answer: Promise<T>): Promise<Asked<T>> {
  try {
    return { is: 'known', value: await answer }
  } catch (error) {
    if (!isCaptError(error)) throw error
    return { is: 'unknown', message: redact(messageOf(error)), hint: error.hint ?? '' }
  }
}

async function observeAws(aws: AwsRequests, plan: Plan): Promise<AwsFacts> {
  const { id, caller } = await readAccount(aws)
  const simulated = await asked(simulateActions(aws, caller, neededActions(policiesOf(plan))))
  return {
    account: id,
    caller,
    denied: simulated.is === 'known' ? simulated.value : undefined,
    vpcs: await asked(listVpcs(aws)),
    addresses: await asked(readAddresses(aws)),
  }
}

const NEEDED: readonly (readonly [verb: string, kind: Pick<KindRef, 'group' | 'plural'>])[] = [
  ['create', { group: 'cluster.x-k8s.io', plural: 'clusters' }],
  ['create', CAPTCluster],
  ['create', CAPTControlPlane],
]

interface AccessReview extends AnyObject {
  readonly spec: object
  readonly status?: { readonly allowed?: boolean }
}

async function refusedActions({ objects, namespace }: Connected): Promise<readonly string[] | undefined> {
  const refused: string[] = []
  try {
    for (const [verb, { group, plural }] of NEEDED) {
      const review = await objects.create<AccessReview>(SelfSubjectAccessReviewKind, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        metadata: { name: '' },
        spec: { resourceAttributes: { namespace, verb, group, resource: plural } },
      })
      if (review.status?.allowed !== true) refused.push(`${verb} ${plural}.${group}`)
    }
    return refused
  } catch (error) {
    if (isKubeError(error, 'KindNotServed', 'NotFound', 'Forbidden')) return undefined
    throw error
  }
}
