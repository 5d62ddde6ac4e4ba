// What the stand-in keeps of one cluster beside moto. It ends with the cluster: a cluster of the same name that is made
// later begins without any of it.
import { type Json, newId, now } from './call.ts'

export interface ClusterState {
  readonly name: string
  readonly arn: string
  readonly partition: string
  readonly region: string
  readonly account: string
  /** When moto made the cluster; another time means another cluster of this name. */
  readonly createdAt: number
  /** Fields of the cluster that moto drops or cannot change. */
  readonly settings: Record<string, unknown>
  readonly accessEntries: Map<string, AccessEntry>
  readonly addons: Map<string, Addon>
  readonly associations: Map<string, PodIdentityAssociation>
  /** By node group: fields that moto drops or cannot change. */
  readonly nodeGroups: Map<string, Record<string, unknown>>
  readonly updates: Map<string, Update>
}

export interface AccessEntry {
  readonly principalArn: string
  readonly accessEntryArn: string
  readonly type: string
  readonly createdAt: number
  modifiedAt: number
  kubernetesGroups: readonly string[]
  username: string
  readonly tags: Record<string, string>
  readonly policies: Map<string, Json>
}

export interface Addon {
  readonly addonName: string
  readonly addonArn: string
  readonly createdAt: number
  readonly tags: Record<string, string>
  status: string
  modifiedAt: number
  addonVersion: string
  serviceAccountRoleArn?: string
  configurationValues?: string
  podIdentityAssociations: readonly string[]
  readonly namespace?: string
}

export interface PodIdentityAssociation {
  readonly associationId: string
  readonly associationArn: string
  readonly namespace: string
  readonly serviceAccount: string
  readonly createdAt: number
  readonly tags: Record<string, string>
  readonly ownerArn?: string
  modifiedAt: number
  roleArn: string
  disableSessionTags: boolean
  targetRoleArn?: string
  externalId?: string
  policy?: string
}

export interface Update {
  readonly id: string
  readonly type: string
  readonly createdAt: number
  readonly params: readonly { readonly type: string; readonly value: string }[]
  readonly addonName?: string
  readonly nodegroupName?: string
}

/** The state of a cluster as moto describes it. */
export function stateOf(described: Json): ClusterState {
  const arn = String(described['arn'])
  const [, partition, , region, account] = arn.split(':')
  return {
    name: String(described['name']),
    arn,
    partition: partition!,
    region: region!,
    account: account!,
    createdAt: Number(described['createdAt']),
    settings: {
      version: described['version'],
      certificateAuthority: { data: toPem(described['certificateAuthority'] as Json) },
      // Defaults of a cluster that is made through the API.
      accessConfig: { authenticationMode: 'CONFIG_MAP' },
      upgradePolicy: { supportType: 'EXTENDED' },
      deletionProtection: false,
    },
    accessEntries: new Map(),
    addons: new Map(),
    associations: new Map(),
    nodeGroups: new Map(),
    updates: new Map(),
  }
}

/** Base64, as EKS writes it; what moto gives is neither that nor a certificate. */
const toPem = (authority: Json | undefined): string =>
  Buffer.from(`-----BEGIN CERTIFICATE-----\n${authority?.['data']}\n-----END CERTIFICATE-----\n`).toString('base64')

/** `arn:aws:eks:eu-west-1:123456789012:addon/demo/…` */
export const arnIn = ({ partition, region, account, name }: ClusterState, kind: string, rest: string): string =>
  `arn:${partition}:eks:${region}:${account}:${kind}/${name}/${rest}`

/** Notes a change. It is over when it is asked about, as the state it leads to is there at once. */
export function noteUpdate(
  cluster: ClusterState,
  type: string,
  params: Readonly<Record<string, unknown>>,
  of: { readonly addonName?: string; readonly nodegroupName?: string } = {},
): Json {
  const given = Object.entries(params).filter(([, value]) => value !== undefined)
  const update: Update = {
    id: newId(),
    type,
    createdAt: now(),
    params: given.map(([name, value]) => ({
      type: name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    })),
    ...of,
  }
  cluster.updates.set(update.id, update)
  return toUpdate(update, 'InProgress')
}

export const toUpdate = ({ id, type, createdAt, params }: Update, status: string): Json => ({
  update: { id, status, type, params, createdAt, errors: [] },
})
