// WorkspaceTemplates and WorkspaceTemplateApplies: what Crossplane did by fields of its Workspace, capt does by fields of
// the apply. What the older project needed Terraform for and capt does itself is dropped.
import type { UnknownObject } from '#api'
import { isPlainObject } from '#lib'
import { consentText, type ImportContext } from '../context.ts'
import { dropped, Editor, fieldsOf, type Outcome, textOf } from '../outcome.ts'

const KUBECONFIG = 'capt signs the kubeconfig itself and refreshes it; no Terraform is needed for it'
const SPOT =
  'capt ensures the service-linked role for EC2 Spot itself and never deletes it; controlPlaneConfig.ensureSpotServiceLinkedRole asks for it'

/** Names that the older project had in its code. */
const OWN_TEMPLATES: Readonly<Record<string, string>> = {
  'eks-kubeconfig-template': KUBECONFIG,
  'spot-role-check': SPOT,
  'spot-role-create': SPOT,
}
const OWN_APPLIES: readonly (readonly [RegExp, string])[] = [
  [/^.+-kubeconfig-apply$/, KUBECONFIG],
  [/^.+-spot-role-(check|create)$/, SPOT],
]

export const isSpotObject = ({ metadata }: UnknownObject): boolean =>
  /(^|-)spot-role-(check|create)$/.test(metadata.name)

/** Why an apply is not needed any more; undefined for all others. */
const needlessApply = (name: string): string | undefined => OWN_APPLIES.find(([pattern]) => pattern.test(name))?.[1]

const SPEC = 'spec.template.spec'

export function mapTemplate(object: UnknownObject, context: ImportContext): Outcome {
  const needless = OWN_TEMPLATES[object.metadata.name]
  if (needless !== undefined) return dropped(object, needless)
  const edit = new Editor(object)
  const provider = textOf(fieldsOf(edit.get(`${SPEC}.providerConfigRef`))['name'])
  dropPolicies(edit)
  mapConnection(edit, object, context)
  if (edit.has(`${SPEC}.providerConfigRef`)) mapProvider(edit, object, context, provider)
  mapSources(edit, object, context)
  return edit.done()
}

function dropPolicies(edit: Editor): void {
  const orphans = edit.get(`${SPEC}.deletionPolicy`) === 'Orphan'
  edit.drop(
    `${SPEC}.deletionPolicy`,
    orphans
      ? 'what is made from it has retainWorkspaceOnDelete or retainVpcOnDelete instead'
      : 'capt destroys on deletion by default',
  )
  const policies = edit.get(`${SPEC}.managementPolicies`)
  const isWhole = Array.isArray(policies) && policies.includes('*')
  edit.drop(
    `${SPEC}.managementPolicies`,
    isWhole ? 'capt does everything by default' : 'its applies have suspend and retainWorkspaceOnDelete instead',
  )
}

function mapConnection(edit: Editor, object: UnknownObject, context: ImportContext): void {
  edit.drop('spec.writeConnectionSecretToRef', 'the older project never read it; the one in spec.template.spec counts')
  const published = textOf(fieldsOf(edit.get(`${SPEC}.publishConnectionDetailsTo`))['name'])
  if (published !== undefined && !edit.has(`${SPEC}.writeConnectionSecretToRef`))
    edit.set(
      `${SPEC}.writeConnectionSecretToRef`,
      { name: published },
      'outputs go to a Secret; external stores read that',
    )
  edit.drop(`${SPEC}.publishConnectionDetailsTo`, 'writeConnectionSecretToRef does its work')
  context.localize(edit, `${SPEC}.writeConnectionSecretToRef`, object, 'Secret')
}

function mapProvider(edit: Editor, object: UnknownObject, context: ImportContext, provider: string | undefined): void {
  const secret = context.credentialsFor(provider)
  edit.drop(
    `${SPEC}.providerConfigRef`,
    secret === undefined
      ? 'runs use the identity of capt itself'
      : `what is made from it has credentials from Secret ${secret} (credentialsRef, or identity.secretRef)`,
  )
  const namespace = context.namespaceOf(object)
  if (secret !== undefined && !context.find('Secret', namespace, secret))
    edit.needs.push(
      `Secret ${namespace}/${secret}: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in place of ProviderConfig ${provider ?? ''}`,
    )
  const module = edit.text(`${SPEC}.forProvider.module`) ?? ''
  if (/provider\s+"aws"/.test(module)) return
  const region = context.regionOf(provider)
  if (region !== undefined) {
    const env = edit.get(`${SPEC}.forProvider.env`)
    const others = Array.isArray(env) ? env : []
    if (others.some((one) => fieldsOf(one)['name'] === 'AWS_REGION')) return
    edit.set(
      `${SPEC}.forProvider.env`,
      [...others, { name: 'AWS_REGION', value: region }],
      `AWS_REGION=${region} added: ProviderConfig ${provider ?? ''} had set the region`,
    )
  } else if (provider !== undefined && !context.find('ProviderConfig', undefined, provider))
    edit.needs.push(
      `ProviderConfig ${provider}: give it with -f, or put its region and other provider settings into the modules; it is not among the input`,
    )
}

/** The VPC's connection Secret has another name here. */
const OLD_VPC_SECRET = /-vpc-vpc-connection$/

/** Files and environment from Secrets and ConfigMaps: the namespace may be left out. */
function mapSources(edit: Editor, object: UnknownObject, context: ImportContext): void {
  const own = context.namespaceOf(object)
  for (const list of ['varFiles', 'env']) {
    const path = `${SPEC}.forProvider.${list}`
    const found = edit.get(path)
    if (!Array.isArray(found)) continue
    const notes: string[] = []
    const mapRef = (field: string, ref: unknown): unknown => {
      if (!isPlainObject(ref) || (field !== 'secretKeyRef' && field !== 'configMapKeyRef')) return ref
      const { namespace, name, ...rest } = ref
      const isVpc = typeof name === 'string' && OLD_VPC_SECRET.test(name)
      if (isVpc) {
        const renamed = name.replace(OLD_VPC_SECRET, '-vpc-connection')
        notes.push(`${name} is called ${renamed} here, in the namespace of the cluster`)
        return { name: renamed, ...rest }
      }
      if (namespace === own) {
        notes.push(`the namespace of ${String(name)} is left out: it is that of the apply`)
        return { name, ...rest }
      }
      if (typeof namespace === 'string')
        edit.needs.push(consentText(field === 'secretKeyRef' ? 'Secret' : 'ConfigMap', namespace, String(name)))
      return ref
    }
    const result = found.map((item: unknown) =>
      isPlainObject(item)
        ? Object.fromEntries(Object.entries(item).map(([field, ref]) => [field, mapRef(field, ref)]))
        : item,
    )
    if (notes.length > 0) edit.set(path, result, notes.join('; '))
  }
}

export function mapApply(object: UnknownObject, context: ImportContext): Outcome {
  const { name } = object.metadata
  const needless = needlessApply(name)
  if (needless !== undefined) return dropped(object, needless)
  const edit = new Editor(object)
  const namespace = context.namespaceOf(object)
  const policy = context.policyOf(edit.get('spec.templateRef'), namespace)
  context.localize(edit, 'spec.templateRef', object, 'WorkspaceTemplate')
  context.localize(edit, 'spec.writeConnectionSecretToRef', object, 'Secret')
  edit.drop('spec.waitForSecret', 'the older project never read it; spec.waitForSecrets takes a list')
  edit.drop('spec.dependencies', 'the older project never read it; spec.waitForWorkspaces takes a list')
  mapWaits(edit, namespace, context)
  if (policy.retains && edit.get('spec.retainWorkspaceOnDelete') !== true)
    edit.set('spec.retainWorkspaceOnDelete', true, 'added: Crossplane was configured to keep what its template made')
  if (policy.suspends) edit.set('spec.suspend', true, 'added: Crossplane was configured to observe only')
  const secret = context.credentialsFor(policy.providerConfig)
  if (secret !== undefined && !edit.has('spec.credentialsRef'))
    edit.set(
      'spec.credentialsRef',
      { name: secret },
      `added: in place of ProviderConfig ${policy.providerConfig ?? ''}`,
    )
  return edit.done()
}

function mapWaits(edit: Editor, namespace: string, context: ImportContext): void {
  const listed = (path: string) => {
    const found = edit.get(path)
    return Array.isArray(found) ? found.map(fieldsOf) : undefined
  }
  const secrets = listed('spec.waitForSecrets')
  if (secrets?.some((one) => one['namespace'] === namespace))
    edit.set(
      'spec.waitForSecrets',
      secrets.map(({ namespace: given, ...rest }) => (given === namespace ? rest : { ...rest, namespace: given })),
      'the own namespace is left out',
    )
  const workspaces = listed('spec.waitForWorkspaces')
  if (!workspaces) return
  const mapped = workspaces.flatMap((one) => {
    const name = textOf(one['name']) ?? ''
    const apply = context.applyOfWorkspace(name)
    if (apply && needlessApply(apply.metadata.name) !== undefined) return []
    const found = apply ? context.namespaceOf(apply) : undefined
    return [{ name: apply?.metadata.name ?? name, ...(found && found !== namespace ? { namespace: found } : {}) }]
  })
  if (JSON.stringify(mapped) !== JSON.stringify(workspaces))
    edit.set('spec.waitForWorkspaces', mapped, 'names WorkspaceTemplateApplies here, not Workspaces of Crossplane')
}
