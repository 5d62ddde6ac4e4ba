// Cluster, CAPTCluster, CAPTControlPlane and its template.
import type { UnknownObject } from '#api'
import type { ImportContext } from '../context.ts'
import { Editor, fieldsOf, type Outcome, refused, textOf } from '../outcome.ts'
import { isSpotObject } from './workspaces.ts'

const ENDPOINT = 'capt writes it, with a host that has no scheme'

export function mapCluster(object: UnknownObject): Outcome {
  const edit = new Editor(object)
  const host = textOf(fieldsOf(edit.get('spec.controlPlaneEndpoint'))['host'])
  if (host?.includes('://')) edit.drop('spec.controlPlaneEndpoint', ENDPOINT)
  return edit.done()
}

export function mapCaptCluster(object: UnknownObject, context: ImportContext): Outcome {
  const edit = new Editor(object)
  const policy = context.policyOf(edit.get('spec.vpcTemplateRef'), context.namespaceOf(object))
  const used = context.regionOf(policy.providerConfig)
  const region = edit.text('spec.region')
  if (used !== undefined && region !== undefined && used !== region)
    return refused(
      object,
      `spec.region is ${region}, and ProviderConfig ${policy.providerConfig ?? ''} made everything in ${used}: the older project never read spec.region`,
      `set spec.region to ${used}`,
    )
  context.localize(edit, 'spec.vpcTemplateRef', object, 'WorkspaceTemplate')
  if (edit.has('spec.existingVpcId')) {
    edit.drop('spec.retainVpcOnDelete', 'a VPC that capt did not make is never deleted')
    edit.drop('spec.vpcConfig', 'a VPC that capt did not make is not configured')
  } else if (policy.retains && edit.get('spec.retainVpcOnDelete') !== true)
    edit.set('spec.retainVpcOnDelete', true, 'added: Crossplane was configured to keep what the template made')
  addIdentity(edit, context, policy.providerConfig)
  return edit.done()
}

/** Accepted by the older project and never read. */
const IGNORED = ['endpointAccess.publicCIDRs', 'addons', 'timeouts']

export function mapControlPlane(object: UnknownObject, context: ImportContext): Outcome {
  const edit = new Editor(object)
  const namespace = context.namespaceOf(object)
  const policy = context.policyOf(edit.get('spec.workspaceTemplateRef'), namespace)
  edit.drop('spec.controlPlaneEndpoint', ENDPOINT)
  context.localize(edit, 'spec.workspaceTemplateRef', object, 'WorkspaceTemplate')
  for (const field of IGNORED) {
    const path = `spec.controlPlaneConfig.${field}`
    if (edit.has(path))
      edit.changes.push({ path, what: 'takes effect now: the older project accepted it and never read it' })
  }
  const spots = [...context.all('WorkspaceTemplate', namespace), ...context.all('WorkspaceTemplateApply', namespace)]
  if (spots.some(isSpotObject))
    edit.set(
      'spec.controlPlaneConfig.ensureSpotServiceLinkedRole',
      true,
      'added: in place of spot-role-check and spot-role-create; the role is never deleted',
    )
  addIdentity(edit, context, policy.providerConfig)
  return edit.done()
}

function addIdentity(edit: Editor, context: ImportContext, providerConfig: string | undefined): void {
  const secret = context.credentialsFor(providerConfig)
  if (secret === undefined || edit.has('spec.identity')) return
  edit.set(
    'spec.identity',
    { secretRef: { name: secret } },
    `added: in place of ProviderConfig ${providerConfig ?? ''}`,
  )
}

/** Metadata of no object in particular; capt apply leaves the same out. */
const OWN_METADATA = ['name', 'generateName', 'namespace', 'finalizers', 'creationTimestamp', 'ownerReferences']

export function mapControlPlaneTemplate(object: UnknownObject, context: ImportContext): Outcome {
  const edit = new Editor(object)
  const spec = 'spec.template.spec'
  for (const field of OWN_METADATA)
    edit.drop(`spec.template.metadata.${field}`, 'each object made from a template has its own')
  edit.drop(`${spec}.version`, 'the version comes from the Cluster: set spec.topology.version there')
  edit.drop(`${spec}.controlPlaneEndpoint`, ENDPOINT)
  edit.drop(`${spec}.workspaceTemplateApplyName`, 'each control plane has its own')
  context.localize(edit, `${spec}.workspaceTemplateRef`, object, 'WorkspaceTemplate')
  return edit.done()
}
