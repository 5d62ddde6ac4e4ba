// Reads the AWS side of a survey. Nothing is changed.
import {
  type AwsRequests,
  type EksCluster,
  launchTemplateGroups,
  listAccessEntries,
  listAddons,
  listAssociations,
  listClosedZones,
  listEksClusters,
  listNodeGroups,
  listOidcProviders,
  listSecurityGroups,
  listSubnets,
  type Rule,
  readAccount,
  readEksCluster,
  readInstanceProfile,
  readQueue,
  readRole,
  readRule,
  recommendedImage,
} from '#aws'
import { EVENT_RULES, karpenterNames, partitionOfRegion, ruleName } from '#catalog'
import { CaptError } from '#lib'
import type { AccountSurvey } from './survey.ts'

const SPOT_ROLE = 'AWSServiceRoleForEC2Spot'

export async function findCluster(aws: AwsRequests, name: string): Promise<EksCluster> {
  const names = karpenterNames(name)
  const cluster = names && (await readEksCluster(aws, name))
  if (cluster) return cluster
  const others = await listEksClusters(aws).catch(() => [])
  const known = others.length === 0 ? 'there are none in it' : `it has ${others.slice(0, 10).join(', ')}`
  throw new CaptError('CAPT_KARPENTER_CLUSTER', `There is no EKS cluster "${name}" in ${aws.region}: ${known}`, {
    hint: 'check the name, --region and the account of your credentials (aws sts get-caller-identity)',
  })
}

export async function readAccountSide(aws: AwsRequests, cluster: EksCluster): Promise<AccountSurvey> {
  const { name, vpcId } = cluster
  const names = karpenterNames(name)
  const account = await readAccount(aws)
  const groups = await listNodeGroups(aws, name)
  const nodeGroups = []
  for (const group of groups)
    nodeGroups.push({
      ...group,
      securityGroups: group.launchTemplate ? await launchTemplateGroups(aws, group.launchTemplate) : [],
    })
  const rules: Record<string, Rule> = {}
  for (const { key } of EVENT_RULES) {
    const rule = await readRule(aws, ruleName(name, key))
    if (rule) rules[ruleName(name, key)] = rule
  }
  return {
    accountId: account.id,
    caller: account.caller,
    region: aws.region,
    partition: partitionOfRegion(aws.region).name,
    cluster,
    nodeGroups,
    rules,
    addons: await listAddons(aws, name),
    accessEntries: cluster.authenticationMode === 'CONFIG_MAP' ? [] : await listAccessEntries(aws, name),
    associations: await listAssociations(aws, name),
    oidcProviders: await listOidcProviders(aws),
    subnets: await listSubnets(aws, vpcId),
    securityGroups: await listSecurityGroups(aws, vpcId),
    closedZones: await listClosedZones(aws),
    nodeRole: await readRole(aws, names.nodeRole),
    controllerRole: await readRole(aws, names.controllerRole),
    instanceProfile: await readInstanceProfile(aws, names.instanceProfile),
    queue: await readQueue(aws, names.queue),
    hasSpotRole: (await readRole(aws, SPOT_ROLE)) !== undefined,
    image: await recommendedImage(aws, cluster.version),
  }
}
