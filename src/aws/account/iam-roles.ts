// Roles, their policies and instance profiles by name, and the OIDC providers of an account.
import { nodesAt, textAt } from '../xml.ts'
import { type AwsRequests, iamList, tagsOf, unlessMissing } from './requests.ts'

type Tags = Readonly<Record<string, string>>

export interface IamRole {
  readonly name: string
  readonly arn: string
  /** Parsed; undefined when it is not JSON. */
  readonly trust: unknown
  readonly tags: Tags
  /** ARNs. */
  readonly attached: readonly string[]
  /** Parsed documents by name. */
  readonly inline: Readonly<Record<string, unknown>>
}

export interface InstanceProfile {
  readonly name: string
  readonly arn: string
  readonly roles: readonly string[]
  readonly tags: Tags
}

export async function readRole(aws: AwsRequests, name: string): Promise<IamRole | undefined> {
  const page = await unlessMissing(aws.query('iam', 'GetRole', { RoleName: name }))
  const [role] = page ? nodesAt(page, 'GetRoleResult', 'Role') : []
  if (!role) return undefined
  const of = { RoleName: name }
  const attached = await iamList(aws, 'ListAttachedRolePolicies', of, 'AttachedPolicies', 'member')
  const inline: Record<string, unknown> = {}
  for (const { text } of await iamList(aws, 'ListRolePolicies', of, 'PolicyNames', 'member')) {
    const policy = await aws.query('iam', 'GetRolePolicy', { ...of, PolicyName: text.trim() })
    inline[text.trim()] = toDocument(textAt(policy, 'GetRolePolicyResult', 'PolicyDocument'))
  }
  return {
    name,
    arn: textAt(role, 'Arn') ?? '',
    trust: toDocument(textAt(role, 'AssumeRolePolicyDocument')),
    tags: tagsOf(nodesAt(role, 'Tags', 'member')),
    attached: attached.map((one) => textAt(one, 'PolicyArn') ?? '').sort(),
    inline,
  }
}

/** IAM answers with the document in percent encoding. */
function toDocument(text: string | undefined): unknown {
  try {
    return JSON.parse(decodeURIComponent(text ?? ''))
  } catch {
    return undefined
  }
}

export async function createRole(aws: AwsRequests, name: string, trust: object, tags: Tags): Promise<void> {
  await aws.query('iam', 'CreateRole', {
    RoleName: name,
    AssumeRolePolicyDocument: JSON.stringify(trust),
    ...tagParameters(tags),
  })
}

export async function updateTrust(aws: AwsRequests, name: string, trust: object): Promise<void> {
  await aws.query('iam', 'UpdateAssumeRolePolicy', { RoleName: name, PolicyDocument: JSON.stringify(trust) })
}

export async function deleteRole(aws: AwsRequests, name: string): Promise<void> {
  await unlessMissing(aws.query('iam', 'DeleteRole', { RoleName: name }))
}

export async function attachPolicy(aws: AwsRequests, role: string, arn: string): Promise<void> {
  await aws.query('iam', 'AttachRolePolicy', { RoleName: role, PolicyArn: arn })
}

export async function detachPolicy(aws: AwsRequests, role: string, arn: string): Promise<void> {
  await unlessMissing(aws.query('iam', 'DetachRolePolicy', { RoleName: role, PolicyArn: arn }))
}

export async function putInlinePolicy(aws: AwsRequests, role: string, name: string, document: object): Promise<void> {
  const PolicyDocument = JSON.stringify(document)
  await aws.query('iam', 'PutRolePolicy', { RoleName: role, PolicyName: name, PolicyDocument })
}

export async function deleteInlinePolicy(aws: AwsRequests, role: string, name: string): Promise<void> {
  await unlessMissing(aws.query('iam', 'DeleteRolePolicy', { RoleName: role, PolicyName: name }))
}

export async function readInstanceProfile(aws: AwsRequests, name: string): Promise<InstanceProfile | undefined> {
  const page = await unlessMissing(aws.query('iam', 'GetInstanceProfile', { InstanceProfileName: name }))
  const [profile] = page ? nodesAt(page, 'GetInstanceProfileResult', 'InstanceProfile') : []
  if (!profile) return undefined
  return {
    name,
    arn: textAt(profile, 'Arn') ?? '',
    roles: nodesAt(profile, 'Roles', 'member').map((role) => textAt(role, 'RoleName') ?? ''),
    tags: tagsOf(nodesAt(profile, 'Tags', 'member')),
  }
}

export async function createInstanceProfile(aws: AwsRequests, name: string, tags: Tags): Promise<void> {
  await aws.query('iam', 'CreateInstanceProfile', { InstanceProfileName: name, ...tagParameters(tags) })
}

export async function addRoleToProfile(aws: AwsRequests, name: string, role: string): Promise<void> {
  await aws.query('iam', 'AddRoleToInstanceProfile', { InstanceProfileName: name, RoleName: role })
}

export async function deleteInstanceProfile(aws: AwsRequests, name: string): Promise<void> {
  const profile = await readInstanceProfile(aws, name)
  for (const role of profile?.roles ?? [])
    await unlessMissing(
      aws.query('iam', 'RemoveRoleFromInstanceProfile', { InstanceProfileName: name, RoleName: role }),
    )
  await unlessMissing(aws.query('iam', 'DeleteInstanceProfile', { InstanceProfileName: name }))
}

/** ARNs. */
export async function listOidcProviders(aws: AwsRequests): Promise<readonly string[]> {
  const found = await iamList(aws, 'ListOpenIDConnectProviders', {}, 'OpenIDConnectProviderList', 'member')
  return found.map((one) => textAt(one, 'Arn') ?? '')
}

export async function readAccount(aws: AwsRequests): Promise<{ readonly id: string; readonly caller: string }> {
  const page = await aws.query('sts', 'GetCallerIdentity')
  const at = (name: string) => textAt(page, 'GetCallerIdentityResult', name) ?? ''
  return { id: at('Account'), caller: at('Arn') }
}

function tagParameters(tags: Tags): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tags).flatMap(([key, value], i) => [
      [`Tags.member.${i + 1}.Key`, key],
      [`Tags.member.${i + 1}.Value`, value],
    ]),
  )
}
