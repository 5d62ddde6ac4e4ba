// Whether a first cluster can be made from here, from what was observed: tool, server, templates, permissions, AWS. Pure.
import { NEEDED_POLICIES, type NeededPolicy } from '#catalog'
import type { Examined, Finding } from '#view'
import { know, person } from '../finding.ts'

/** What was asked, or why it could not be. */
export type Asked<T> =
  | { readonly is: 'known'; readonly value: T }
  | { readonly is: 'unknown'; readonly message: string; readonly hint: string }

export interface AwsFacts {
  readonly account: string
  readonly caller: string
  /** Actions that the policies of the caller deny; undefined where the simulation is not allowed. */
  readonly denied: readonly string[] | undefined
  readonly vpcs: Asked<readonly { readonly id: string; readonly cidr: string }[]>
  readonly addresses: Asked<{ readonly used: number; readonly most: number | undefined }>
}

export interface Plan {
  /** Where the cluster shall be; undefined when nothing names a region. */
  readonly region: string | undefined
  /** Address blocks of VPCs that would be made. */
  readonly blocks: readonly string[]
  readonly templates: readonly string[]
}

/** The generated policies that a cluster of this plan needs; `capt` is needed by its deletion, not by its creation. */
export const policiesOf = ({ blocks }: Pick<Plan, 'blocks'>): readonly NeededPolicy['name'][] => [
  ...(blocks.length > 0 ? (['network'] as const) : []),
  'cluster',
  'capt',
]

export interface ObservedPreflight extends Plan {
  readonly namespace: string
  readonly tool: Asked<{ readonly name: string; readonly version: string }>
  readonly clusterApi: string | undefined
  readonly isServed: boolean
  readonly missingTemplates: readonly string[]
  /** `create clusters.cluster.x-k8s.io`, as far as they are refused; undefined where the server cannot be asked. */
  readonly refused: readonly string[] | undefined
  /** Undefined: the person asked to leave AWS out. */
  readonly aws: Asked<AwsFacts> | undefined
}

export function examinePreflight(observed: ObservedPreflight): readonly Examined[] {
  const { tool, aws, clusterApi } = observed
  return [
    {
      name: 'Terraform',
      fine: 'ok',
      fact: tool.is === 'known' ? `${tool.value.name} ${tool.value.version}` : '',
      findings: tool.is === 'known' ? [] : [person('tool', tool.message, tool.hint)],
    },
    {
      name: 'Management API',
      fine: 'ok',
      fact: clusterApi === undefined ? '' : `Cluster API ${clusterApi}, namespace ${observed.namespace}`,
      findings: serverFindings(observed),
    },
    ...(aws ? [{ name: 'AWS', fine: 'ok', fact: awsFact(observed, aws), findings: awsFindings(observed, aws) }] : []),
  ]
}

function serverFindings({ clusterApi, isServed, missingTemplates, refused, namespace }: ObservedPreflight): Finding[] {
  return [
    ...(clusterApi === undefined
      ? [person('server', 'Cluster API is not installed there', 'run clusterctl init, or use capt up')]
      : []),
    ...(isServed
      ? []
      : [person('server', 'the kinds of capt are not installed there', 'install capt: docs/install.md')]),
    ...missingTemplates.map((name) =>
      person('template', `there is no WorkspaceTemplate ${name} in namespace ${namespace}`, 'apply it:', {
        command: `capt apply -f templates/${name}.yaml`,
      }),
    ),
    ...(refused ?? []).map((action) =>
      person('permission', `you may not ${action} in namespace ${namespace}`, 'ask for the role capt-editor there'),
    ),
    ...(refused === undefined ? [know('permission', 'the server cannot be asked what you may do')] : []),
  ]
}

function awsFact({ region }: ObservedPreflight, aws: Asked<AwsFacts>): string {
  return aws.is === 'known' ? `account ${aws.value.account}, ${region ?? ''}, ${aws.value.caller}` : (region ?? '')
}

function awsFindings({ region, blocks }: ObservedPreflight, aws: Asked<AwsFacts>): readonly Finding[] {
  if (region === undefined)
    return [person('region', 'no region is named', 'set AWS_REGION, or name a manifest: capt doctor -f cluster.yaml')]
  if (aws.is === 'unknown') return [person('credentials', aws.message, aws.hint)]
  const { denied, vpcs, addresses } = aws.value
  return [
    ...(denied === undefined
      ? [
          know(
            'permission',
            'the policies of this identity cannot be simulated',
            'allow iam:SimulatePrincipalPolicy to have them checked',
          ),
        ]
      : deniedFindings(denied, policiesOf({ blocks }))),
    ...(vpcs.is === 'known' ? vpcFindings(vpcs.value, blocks, region) : [know('quota', vpcs.message, vpcs.hint)]),
    ...addressFindings(addresses, blocks),
  ]
}

/** One for each policy, so that an identity without any rights is no wall of text. */
function deniedFindings(denied: readonly string[], policies: readonly NeededPolicy['name'][]): readonly Finding[] {
  const left = new Set(denied)
  return policies.flatMap((name) => {
    const { needs } = NEEDED_POLICIES.find((policy) => policy.name === name)!
    const mine = [...new Set(needs.flatMap(({ actions }) => actions))].filter((action) => left.delete(action)).sort()
    if (mine.length === 0) return []
    const shown = mine.length <= SHOWN ? mine : [...mine.slice(0, SHOWN - 1), `${mine.length - SHOWN + 1} more`]
    const what = `${shown.join(', ')} ${mine.length === 1 ? 'is' : 'are'} denied to this identity`
    const todo = `allow what docs/iam.md lists, or attach config/iam/${name}.json, then ask again`
    return [
      name === 'capt'
        ? know('permission', `${what}; deletion and capt doctor ask for it`, todo)
        : person('permission', what, todo),
    ]
  })
}

const SHOWN = 6

/** What an account has by default; a higher quota is not known here. */
const DEFAULT_VPCS = 5

function vpcFindings(
  vpcs: readonly { id: string; cidr: string }[],
  blocks: readonly string[],
  region: string,
): Finding[] {
  const overlaps = blocks.flatMap((block) =>
    vpcs.filter(({ cidr }) => isOverlapping(block, cidr)).map((vpc) => ({ block, ...vpc })),
  )
  return [
    ...overlaps.map(({ block, id, cidr }) =>
      know(
        'addresses',
        `${block} overlaps ${cidr} of ${id}: the two can never be connected`,
        'choose another block in spec.vpcConfig.cidr',
      ),
    ),
    ...(blocks.length > 0 && vpcs.length >= DEFAULT_VPCS
      ? [
          know(
            'quota',
            `${region} has ${vpcs.length} VPCs; the quota is ${DEFAULT_VPCS} unless it was raised`,
            'see Service Quotas, VPCs per Region',
          ),
        ]
      : []),
  ]
}

function addressFindings(asked: AwsFacts['addresses'], blocks: readonly string[]): readonly Finding[] {
  if (asked.is === 'unknown') return [know('quota', asked.message, asked.hint)]
  const { used, most } = asked.value
  if (most === undefined || used + blocks.length <= most) return []
  return [
    person(
      'quota',
      `${used} of ${most} Elastic IP addresses are used, and each new VPC needs one for its NAT gateway`,
      'release some, or raise the quota: Service Quotas, EC2-VPC Elastic IPs',
    ),
  ]
}

export function isOverlapping(a: string, b: string): boolean {
  const [x, y] = [rangeOf(a), rangeOf(b)]
  return x !== undefined && y !== undefined && x.from <= y.to && y.from <= x.to
}

function rangeOf(block: string): { readonly from: number; readonly to: number } | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(block)
  if (!match) return undefined
  const [a = 0, b = 0, c = 0, d = 0, bits = 0] = match.slice(1).map(Number)
  const size = 2 ** (32 - bits)
  const at = ((a * 256 + b) * 256 + c) * 256 + d
  const from = at - (at % size)
  return { from, to: from + size - 1 }
}
