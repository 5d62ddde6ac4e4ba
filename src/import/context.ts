// What the mapping of one object may know of the others: the clusters, who uses which template, how Crossplane was configured.
import type { UnknownObject } from '#api'
import { workspaceNameOf } from '#engine'
import { type Editor, fieldsOf, textOf } from './outcome.ts'

export interface ImportOptions {
  /** Namespace of objects that name none. */
  readonly namespace: string
  /** Secret with credentials, instead of one named like the ProviderConfig; `none`: the identity of capt itself. */
  readonly credentials?: string
  /** Also make a MachinePool of each ManagedNodeGroup template. */
  readonly withPools?: boolean
}

/** What a template of the older project says about everything made from it. */
interface TemplatePolicy {
  readonly retains: boolean
  readonly suspends: boolean
  readonly providerConfig?: string
}

export class ImportContext {
  readonly objects: readonly UnknownObject[]
  readonly options: ImportOptions

  constructor(objects: readonly UnknownObject[], options: ImportOptions) {
    this.objects = objects
    this.options = options
  }

  namespaceOf({ metadata }: UnknownObject): string {
    return metadata.namespace ?? this.options.namespace
  }

  all(kind: string, namespace?: string): readonly UnknownObject[] {
    return this.objects.filter(
      (one) => one.kind === kind && (namespace === undefined || this.namespaceOf(one) === namespace),
    )
  }

  find(kind: string, namespace: string | undefined, name: string): UnknownObject | undefined {
    return this.all(kind, namespace).find(({ metadata }) => metadata.name === name)
  }

  /** The Cluster that an object of a namespace can only belong to; undefined where there are none or several. */
  onlyCluster(namespace: string): string | undefined {
    const names = new Set(
      ['Cluster', 'CAPTCluster', 'CAPTControlPlane']
        .flatMap((kind) => this.all(kind, namespace))
        .map(({ metadata }) => metadata.name),
    )
    return names.size === 1 ? [...names][0] : undefined
  }

  /** The apply whose Workspace had this name. Workspaces belonged to no namespace. */
  applyOfWorkspace(name: string): UnknownObject | undefined {
    return this.all('WorkspaceTemplateApply').find(({ metadata }) => workspaceNameOf(metadata.name) === name)
  }

  policyOf(ref: unknown, namespace: string): TemplatePolicy {
    const { name, namespace: given } = fieldsOf(ref)
    const template = this.find('WorkspaceTemplate', textOf(given) ?? namespace, textOf(name) ?? '')
    return policyIn(template)
  }

  /** The Secret that takes the place of a ProviderConfig; undefined for the identity of capt itself. */
  credentialsFor(providerConfig: string | undefined): string | undefined {
    const { credentials } = this.options
    if (credentials === 'none' || providerConfig === undefined) return undefined
    return credentials ?? providerConfig
  }

  /** The region that Terraform used: a ProviderConfig decided it for every cluster. */
  regionOf(providerConfig: string | undefined): string | undefined {
    const found = providerConfig === undefined ? undefined : this.find('ProviderConfig', undefined, providerConfig)
    const text = textOf(fieldsOf(found?.['spec'])['configuration'])
    return text === undefined ? undefined : /\bregion\s*=\s*"([a-z0-9-]+)"/.exec(text)?.[1]
  }

  /** A reference to the own namespace needs no namespace; one to another namespace needs the consent of its owner. */
  localize(edit: Editor, path: string, object: UnknownObject, kind: string): void {
    const namespace = textOf(fieldsOf(edit.get(path))['namespace'])
    if (namespace === undefined) return
    if (namespace === this.namespaceOf(object)) edit.drop(`${path}.namespace`, 'it is the namespace of the object')
    else edit.needs.push(consentText(kind, namespace, textOf(fieldsOf(edit.get(path))['name']) ?? ''))
  }
}

export const consentText = (kind: string, namespace: string, name: string): string =>
  `${kind} ${namespace}/${name}: the annotation capt.appthrust.com/allow-namespaces, because another namespace refers to it`

function policyIn(template: UnknownObject | undefined): TemplatePolicy {
  const spec = fieldsOf(fieldsOf(fieldsOf(template?.['spec'])['template'])['spec'])
  const { deletionPolicy, managementPolicies, providerConfigRef } = spec
  const allowed =
    Array.isArray(managementPolicies) && !managementPolicies.includes('*') ? managementPolicies : undefined
  const providerConfig = textOf(fieldsOf(providerConfigRef)['name'])
  return {
    retains: deletionPolicy === 'Orphan' || (allowed !== undefined && !allowed.includes('Delete')),
    suspends: allowed !== undefined && !allowed.includes('Update') && !allowed.includes('Create'),
    ...(providerConfig === undefined ? {} : { providerConfig }),
  }
}
