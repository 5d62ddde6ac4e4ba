// EKS add-ons of a cluster. A new one is CREATING, a changed one UPDATING and a deleted one DELETING in the answer to that
// call; when it is next described, the work is done.
import { defaultVersionOf, isAddon, namespaceOf, versionsOf } from './addon-versions.ts'
import { type ClusterCall, Fault, type Json, listAnswer, newId, now, type Route, tagsOf, textOf } from './call.ts'
import { type Addon, arnIn, type ClusterState, noteUpdate } from './cluster-state.ts'
import { associate } from './pod-identity.ts'

const toAddon = (cluster: ClusterState, { namespace, ...addon }: Addon): Json => ({
  addon: {
    clusterName: cluster.name,
    ...addon,
    health: { issues: [] },
    publisher: 'eks',
    owner: 'aws',
    ...(namespace === undefined ? {} : { namespaceConfig: { namespace } }),
  },
})

function addonAt({ cluster, at }: ClusterCall): Addon {
  const name = at['addon']!
  const found = cluster.addons.get(name)
  if (found && found.status !== 'DELETING') return found
  cluster.addons.delete(name)
  throw new Fault('ResourceNotFoundException', `No addon: ${name} found in cluster: ${cluster.name}`, {
    clusterName: cluster.name,
    addonName: name,
  })
}

const invalid = (cluster: ClusterState, addonName: string, message: string): Fault =>
  new Fault('InvalidParameterException', message, { clusterName: cluster.name, addonName })

function checkSettings(cluster: ClusterState, addonName: string, body: Json): void {
  const { addonVersion, configurationValues, serviceAccountRoleArn } = body
  const version = String(cluster.settings['version'])
  if (addonVersion !== undefined && !versionsOf(addonName, version).includes(String(addonVersion)))
    throw invalid(cluster, addonName, 'Addon version specified is not supported')
  if (serviceAccountRoleArn !== undefined && !/^arn:aws[a-z-]*:iam::\d{12}:role\//.test(String(serviceAccountRoleArn)))
    throw invalid(cluster, addonName, 'The serviceAccountRoleArn is not valid')
  if (!isObjectText(configurationValues))
    throw invalid(cluster, addonName, 'ConfigurationValue provided in request is not supported: not valid JSON')
}

function isObjectText(text: unknown): boolean {
  if (text === undefined || text === '') return true
  try {
    const value: unknown = JSON.parse(String(text))
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

function create({ cluster, body }: ClusterCall): Json {
  const addonName = textOf(body, 'addonName')
  if (!isAddon(addonName)) throw invalid(cluster, addonName, 'Addon specified is not supported')
  checkSettings(cluster, addonName, body)
  const found = cluster.addons.get(addonName)
  if (found && found.status !== 'DELETING')
    throw new Fault('ResourceInUseException', 'Addon already exists.', { clusterName: cluster.name, addonName })
  const addonArn = arnIn(cluster, 'addon', `${addonName}/${newId()}`)
  const namespace = (body['namespaceConfig'] as { namespace?: string } | undefined)?.namespace ?? namespaceOf(addonName)
  const addon: Addon = {
    addonName,
    addonArn,
    createdAt: now(),
    modifiedAt: now(),
    tags: tagsOf(body),
    status: 'CREATING',
    addonVersion: String(body['addonVersion'] ?? defaultVersionOf(addonName, String(cluster.settings['version']))),
    podIdentityAssociations: associationsOf(cluster, namespace, body, addonArn),
    namespace,
  }
  change(addon, body)
  cluster.addons.set(addonName, addon)
  return toAddon(cluster, addon)
}

function associationsOf(cluster: ClusterState, namespace: string, body: Json, owner: string): readonly string[] {
  const wanted = (body['podIdentityAssociations'] ?? []) as readonly Json[]
  return wanted.map((one) => associate(cluster, { ...one, namespace }, owner).associationArn)
}

function change(addon: Addon, { addonVersion, serviceAccountRoleArn, configurationValues }: Json): void {
  if (addonVersion !== undefined) addon.addonVersion = String(addonVersion)
  if (serviceAccountRoleArn !== undefined) addon.serviceAccountRoleArn = String(serviceAccountRoleArn)
  if (configurationValues !== undefined) addon.configurationValues = String(configurationValues)
}

function update(call: ClusterCall): Json {
  const { cluster, body } = call
  const addon = addonAt(call)
  checkSettings(cluster, addon.addonName, body)
  change(addon, body)
  if (body['podIdentityAssociations'] !== undefined) {
    dropAssociations(cluster, addon)
    addon.podIdentityAssociations = associationsOf(cluster, addon.namespace!, body, addon.addonArn)
  }
  addon.status = 'UPDATING'
  addon.modifiedAt = now()
  const { addonVersion, resolveConflicts, configurationValues, serviceAccountRoleArn, podIdentityAssociations } = body
  return noteUpdate(
    cluster,
    'AddonUpdate',
    {
      AddonVersion: addonVersion,
      ServiceAccountRoleArn: serviceAccountRoleArn,
      ResolveConflicts: resolveConflicts,
      ConfigurationValues: configurationValues,
      PodIdentityAssociations: podIdentityAssociations,
    },
    { addonName: addon.addonName },
  )
}

/** An add-on owns the associations that were made for it. */
function dropAssociations(cluster: ClusterState, { addonArn }: Addon): void {
  for (const [id, { ownerArn }] of cluster.associations) if (ownerArn === addonArn) cluster.associations.delete(id)
}

const ADDONS = '/clusters/:cluster/addons'

export const ADDON_ROUTES: readonly Route[] = [
  { method: 'POST', path: ADDONS, answer: create },
  {
    method: 'GET',
    path: ADDONS,
    answer({ cluster, query }) {
      const present = [...cluster.addons.values()].filter(({ status }) => status !== 'DELETING')
      return listAnswer('addons', present.map(({ addonName }) => addonName).sort(), query)
    },
  },
  {
    method: 'GET',
    path: `${ADDONS}/:addon`,
    answer(call) {
      const addon = addonAt(call)
      addon.status = 'ACTIVE'
      return toAddon(call.cluster, addon)
    },
  },
  { method: 'POST', path: `${ADDONS}/:addon/update`, answer: update },
  {
    method: 'DELETE',
    path: `${ADDONS}/:addon`,
    answer(call) {
      const addon = addonAt(call)
      dropAssociations(call.cluster, addon)
      addon.status = 'DELETING'
      return toAddon(call.cluster, addon)
    },
  },
]
