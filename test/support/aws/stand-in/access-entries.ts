// Access entries of a cluster and the access policies associated with them.
import { type ClusterCall, Fault, type Json, listAnswer, newId, now, type Route, tagsOf, textOf } from './call.ts'
import { type AccessEntry, arnIn, type ClusterState } from './cluster-state.ts'

/** What EKS sets for entries that are not STANDARD; it accepts neither from the caller. */
const OF_TYPE: Readonly<Record<string, { readonly username: string; readonly groups: readonly string[] }>> = {
  EC2_LINUX: { username: 'system:node:{{EC2PrivateDNSName}}', groups: ['system:nodes'] },
  EC2_WINDOWS: { username: 'system:node:{{EC2PrivateDNSName}}', groups: ['eks:kube-proxy-windows', 'system:nodes'] },
  FARGATE_LINUX: {
    username: 'system:node:{{SessionName}}',
    groups: ['system:bootstrappers', 'system:nodes', 'system:node-proxier'],
  },
  HYBRID_LINUX: { username: 'system:node:{{SessionName}}', groups: ['system:bootstrappers', 'system:nodes'] },
  EC2: { username: 'system:node:{{EC2PrivateDNSName}}', groups: ['system:nodes'] },
}

const POLICY =
  /^arn:aws[a-z-]*:eks::aws:cluster-access-policy\/(AmazonEKS(ClusterAdmin|Admin|AdminView|Edit|View|AutoNode)Policy)$/

const toEntry = (cluster: ClusterState, { policies: _, ...entry }: AccessEntry): Json => ({
  accessEntry: { clusterName: cluster.name, ...entry },
})

/** Calls about access entries are refused unless the cluster authenticates by them. */
function needApi({ settings }: ClusterState): void {
  const { authenticationMode } = settings['accessConfig'] as { authenticationMode: string }
  if (authenticationMode === 'CONFIG_MAP')
    throw new Fault(
      'InvalidRequestException',
      "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.",
    )
}

function entryAt({ cluster, at }: ClusterCall): AccessEntry {
  needApi(cluster)
  const found = cluster.accessEntries.get(at['principal']!)
  if (found) return found
  throw new Fault(
    'ResourceNotFoundException',
    "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.",
  )
}

function create({ cluster, body }: ClusterCall): Json {
  needApi(cluster)
  const principalArn = textOf(body, 'principalArn')
  const principal = /^arn:aws[a-z-]*:iam::(\d{12}):(role|user)\/(?:.+\/)?([^/]+)$/.exec(principalArn)
  if (!principal)
    throw new Fault('InvalidParameterException', 'The specified principalArn is invalid: invalid principal.')
  if (principalArn.includes(':role/aws-service-role/'))
    throw new Fault(
      'InvalidParameterException',
      'The caller is not allowed to modify access entries with a principalArn value of a Service Linked Role',
    )
  if (cluster.accessEntries.has(principalArn))
    throw new Fault('ResourceInUseException', 'The specified access entry resource is already in use on this cluster.')
  const [, account, kind, name] = principal
  const type = typeof body['type'] === 'string' ? body['type'] : 'STANDARD'
  const fixed = Object.hasOwn(OF_TYPE, type) ? OF_TYPE[type] : undefined
  if (!fixed && type !== 'STANDARD') throw new Fault('InvalidParameterException', `The type ${type} is not valid.`)
  const given = settingsOf(body)
  if (fixed && (given.username !== undefined || (given.groups ?? []).length > 0)) throw onlyStandard()
  const usual =
    kind === 'user' ? principalArn : `arn:${cluster.partition}:sts::${account}:assumed-role/${name}/{{SessionName}}`
  const entry: AccessEntry = {
    principalArn,
    accessEntryArn: arnIn(cluster, 'access-entry', `${kind}/${account}/${name}/${newId()}`),
    type,
    createdAt: now(),
    modifiedAt: now(),
    kubernetesGroups: fixed?.groups ?? given.groups ?? [],
    username: fixed?.username ?? given.username ?? usual,
    tags: tagsOf(body),
    policies: new Map(),
  }
  cluster.accessEntries.set(principalArn, entry)
  return toEntry(cluster, entry)
}

function settingsOf({ kubernetesGroups, username }: Json): { groups?: readonly string[]; username?: string } {
  const groups = kubernetesGroups as readonly string[] | undefined
  for (const group of groups ?? [])
    if (/^(system|eks|aws|amazon|iam):/.test(group))
      throw new Fault(
        'InvalidParameterException',
        `The kubernetes group name ${group} is invalid, it cannot start with ${/^[a-z]+:/.exec(group)![0]}`,
      )
  return { ...(groups ? { groups } : {}), ...(username ? { username: String(username) } : {}) }
}

const onlyStandard = () =>
  new Fault(
    'InvalidParameterException',
    'This operation can only be performed on Access Entries with a type of "STANDARD".',
  )

function update(call: ClusterCall): Json {
  const entry = entryAt(call)
  if (entry.type !== 'STANDARD') throw onlyStandard()
  const { groups, username } = settingsOf(call.body)
  if (groups) entry.kubernetesGroups = groups
  if (username) entry.username = username
  entry.modifiedAt = now()
  return toEntry(call.cluster, entry)
}

function associate(call: ClusterCall): Json {
  const entry = entryAt(call)
  const policyArn = textOf(call.body, 'policyArn')
  if (entry.type !== 'STANDARD') throw onlyStandard()
  if (!POLICY.test(policyArn))
    throw new Fault('InvalidParameterException', 'The policyArn parameter format is not valid')
  const { type, namespaces = [] } = (call.body['accessScope'] ?? {}) as { type?: string; namespaces?: string[] }
  if (type !== 'cluster' && type !== 'namespace')
    throw new Fault('InvalidParameterException', 'The accessScope type must be one of [cluster, namespace].')
  if ((type === 'namespace') !== namespaces.length > 0)
    throw new Fault(
      'InvalidParameterException',
      'Namespaces belong to an accessScope of type namespace, and only there.',
    )
  const known = entry.policies.get(policyArn)
  const associated = {
    policyArn,
    accessScope: { type, namespaces },
    associatedAt: known?.['associatedAt'] ?? now(),
    modifiedAt: now(),
  }
  entry.policies.set(policyArn, associated)
  return { clusterName: call.cluster.name, principalArn: entry.principalArn, associatedAccessPolicy: associated }
}

function disassociate(call: ClusterCall): Json {
  if (entryAt(call).policies.delete(call.at['policy']!)) return {}
  throw new Fault('ResourceNotFoundException', 'The specified policyArn is not associated with this access entry.')
}

const ENTRIES = '/clusters/:cluster/access-entries'

export const ACCESS_ENTRY_ROUTES: readonly Route[] = [
  { method: 'POST', path: ENTRIES, answer: create },
  {
    method: 'GET',
    path: ENTRIES,
    answer({ cluster, query }) {
      needApi(cluster)
      const policy = query.get('associatedPolicyArn')
      const found = [...cluster.accessEntries.values()].filter(({ policies }) => !policy || policies.has(policy))
      return listAnswer('accessEntries', found.map(({ principalArn }) => principalArn).sort(), query)
    },
  },
  { method: 'GET', path: `${ENTRIES}/:principal`, answer: (call) => toEntry(call.cluster, entryAt(call)) },
  { method: 'POST', path: `${ENTRIES}/:principal`, answer: update },
  {
    method: 'DELETE',
    path: `${ENTRIES}/:principal`,
    answer(call) {
      call.cluster.accessEntries.delete(entryAt(call).principalArn)
      return {}
    },
  },
  { method: 'POST', path: `${ENTRIES}/:principal/access-policies`, answer: associate },
  {
    method: 'GET',
    path: `${ENTRIES}/:principal/access-policies`,
    answer(call) {
      const { principalArn, policies } = entryAt(call)
      const listed = listAnswer('associatedAccessPolicies', [...policies.values()], call.query)
      return { clusterName: call.cluster.name, principalArn, ...listed }
    },
  },
  { method: 'DELETE', path: `${ENTRIES}/:principal/access-policies/:policy`, answer: disassociate },
]
