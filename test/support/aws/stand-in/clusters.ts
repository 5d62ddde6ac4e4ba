// What moto lacks of clusters and node groups: it drops fields of a request, knows no security group of a cluster, changes
// no version, and answers a change of the configuration with nothing. Its answers are completed here.
import { type ClusterCall, Fault, type Json, listAnswer, type Route } from './call.ts'
import { type ClusterState, noteUpdate, toUpdate } from './cluster-state.ts'

/** Fields of CreateCluster that moto does not keep. */
const KEPT = [
  'accessConfig',
  'upgradePolicy',
  'deletionProtection',
  'computeConfig',
  'storageConfig',
  'zonalShiftConfig',
]
const KEPT_OF_NODE_GROUP = ['version', 'releaseVersion', 'updateConfig', 'nodeRepairConfig']

/** Notes what CreateCluster asked for and moto drops. */
export function noteCluster({ settings }: ClusterState, request: Json, network: Json): void {
  for (const field of KEPT)
    if (request[field] !== undefined)
      settings[field] =
        typeof request[field] === 'object' ? { ...(settings[field] as object), ...request[field] } : request[field]
  settings['resourcesVpcConfig'] = {
    endpointPublicAccess: true,
    endpointPrivateAccess: false,
    publicAccessCidrs: ['0.0.0.0/0'],
    securityGroupIds: [],
    ...(request['resourcesVpcConfig'] as Json),
    ...network,
  }
  settings['kubernetesNetworkConfig'] = {
    ipFamily: 'ipv4',
    serviceIpv4Cidr: '172.20.0.0/16',
    ...(request['kubernetesNetworkConfig'] as Json | undefined),
  }
  settings['health'] = { issues: [] }
}

/** A cluster of moto's with what is kept here. */
export function completeCluster({ settings }: ClusterState, described: Json): Json {
  return {
    ...described,
    ...settings,
    resourcesVpcConfig: { ...(described['resourcesVpcConfig'] as Json), ...(settings['resourcesVpcConfig'] as Json) },
  }
}

/** Notes what CreateNodegroup asked for; a node group has the version of its cluster unless it has its own. */
export function noteNodeGroup({ settings, nodeGroups }: ClusterState, request: Json): void {
  const version = String(request['version'] ?? settings['version'])
  const kept = KEPT_OF_NODE_GROUP.filter((field) => request[field] !== undefined)
  nodeGroups.set(String(request['nodegroupName']), {
    version,
    releaseVersion: `${version}.2-20261102`,
    updateConfig: { maxUnavailable: 1 },
    asked: request,
    ...Object.fromEntries(kept.map((field) => [field, request[field]])),
  })
}

/** moto invents a key pair for remote access, and a disk where the launch template has one. */
export function completeNodeGroup({ nodeGroups }: ClusterState, described: Json): Json {
  const kept = nodeGroups.get(String(described['nodegroupName']))
  if (!kept) return described
  const { remoteAccess: _, diskSize, resources, ...rest } = described
  const { remoteAccessSecurityGroup: __, ...groups } = (resources ?? {}) as Json
  const { asked, ...settings } = kept as { asked: Json }
  return {
    ...rest,
    resources: asked['remoteAccess'] ? resources : groups,
    ...(asked['remoteAccess'] ? { remoteAccess: asked['remoteAccess'] } : {}),
    ...(asked['launchTemplate'] ? {} : { diskSize }),
    ...settings,
  }
}

function changeVersion({ cluster, body }: ClusterCall): Json {
  const { settings } = cluster
  const [from, to] = [settings['version'], body['version']].map((version) => Number(String(version).split('.')[1]))
  if (!(to! - from! === 1))
    throw new Fault(
      'InvalidParameterException',
      `Unsupported Kubernetes minor version update from ${settings['version']} to ${body['version']}`,
      { clusterName: cluster.name },
    )
  settings['version'] = body['version']
  return noteUpdate(cluster, 'VersionUpdate', { Version: body['version'], PlatformVersion: 'eks.4' })
}

/** UpdateClusterConfig changes one thing at a time, and merges it with what is there. */
function changeConfig({ cluster, body }: ClusterCall): Json {
  const TYPES = {
    resourcesVpcConfig: 'EndpointAccessUpdate',
    accessConfig: 'AccessConfigUpdate',
    upgradePolicy: 'UpgradePolicyUpdate',
    logging: 'LoggingUpdate',
    deletionProtection: 'DeletionProtectionUpdate',
    zonalShiftConfig: 'ZonalShiftConfigUpdate',
    computeConfig: 'AutoModeUpdate',
  } as const
  const fields = Object.keys(TYPES).filter((field) => body[field] !== undefined) as (keyof typeof TYPES)[]
  const [field] = fields
  if (field === undefined || fields.length > 1)
    throw new Fault('InvalidParameterException', 'Only one type of update can be allowed.', {
      clusterName: cluster.name,
    })
  const { settings } = cluster
  if (field === 'accessConfig') checkMode(settings['accessConfig'] as Json, body['accessConfig'] as Json)
  const wanted = body[field]
  settings[field] = typeof wanted === 'object' ? { ...(settings[field] as object | undefined), ...wanted } : wanted
  // Parameters are named after the setting itself, except where EKS takes the whole.
  const isSplit = ['resourcesVpcConfig', 'accessConfig', 'logging'].includes(field)
  const params = Object.entries(isSplit ? (wanted as Json) : { [field]: wanted })
  return noteUpdate(
    cluster,
    TYPES[field],
    Object.fromEntries(params.map(([name, value]) => [name[0]!.toUpperCase() + name.slice(1), value])),
  )
}

/** Authentication goes from aws-auth to access entries, never back. */
function checkMode({ authenticationMode: from }: Json, { authenticationMode: to }: Json): void {
  const order = ['CONFIG_MAP', 'API_AND_CONFIG_MAP', 'API']
  if (from === to)
    throw new Fault('InvalidRequestException', `Unsupported authentication mode update from ${from} to ${to}`)
  if (order.indexOf(String(to)) - order.indexOf(String(from)) !== 1)
    throw new Fault('InvalidParameterException', `Unsupported authentication mode update from ${from} to ${to}`)
}

function changeNodeGroup({ cluster, at, body }: ClusterCall): Json {
  const kept = cluster.nodeGroups.get(at['group']!)
  if (!kept)
    throw new Fault('ResourceNotFoundException', `No node group found for name: ${at['group']}.`, {
      clusterName: cluster.name,
      nodegroupName: at['group'],
    })
  const version = String(body['version'] ?? kept['version'])
  Object.assign(kept, { version, releaseVersion: body['releaseVersion'] ?? `${version}.2-20261102` })
  const params = { Version: version, ReleaseVersion: kept['releaseVersion'] }
  return noteUpdate(cluster, 'VersionUpdate', params, { nodegroupName: at['group']! })
}

const UPDATES = '/clusters/:cluster/updates'

export const CLUSTER_ROUTES: readonly Route[] = [
  { method: 'POST', path: UPDATES, answer: changeVersion },
  { method: 'POST', path: '/clusters/:cluster/update-config', answer: changeConfig },
  { method: 'POST', path: '/clusters/:cluster/node-groups/:group/update-version', answer: changeNodeGroup },
  {
    method: 'GET',
    path: UPDATES,
    answer({ cluster, query }) {
      const of = (field: 'addonName' | 'nodegroupName') => query.get(field) ?? undefined
      const found = [...cluster.updates.values()].filter(
        (one) => one.addonName === of('addonName') && one.nodegroupName === of('nodegroupName'),
      )
      return listAnswer(
        'updateIds',
        found.map(({ id }) => id),
        query,
      )
    },
  },
  {
    method: 'GET',
    path: `${UPDATES}/:update`,
    answer({ cluster, at }) {
      const found = cluster.updates.get(at['update']!)
      if (!found)
        throw new Fault('ResourceNotFoundException', `No update found for ID: ${at['update']}`, {
          clusterName: cluster.name,
        })
      return toUpdate(found, 'Successful')
    },
  },
]
