// What names, labels and annotations may look like, in kube-apiserver's words.
import type { Fault } from '#api'
import type { Metadata } from '../object.ts'
import { fault, forbiddenFault, invalidFault, requiredFault } from '../status.ts'
import type { ResourceType } from './resource.ts'

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/
const MAX_ANNOTATIONS = 256 * 1024

const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const QUALIFIED_TEXT =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

type NameRule = 'subdomain' | 'label' | 'path'

export function nameProblems(name: string, rule: NameRule): readonly string[] {
  if (rule === 'path') return pathProblems(name)
  const [pattern, max, text] = rule === 'label' ? [LABEL, 63, LABEL_TEXT] : [SUBDOMAIN, 253, SUBDOMAIN_TEXT]
  return [...(name.length > max ? [`must be no more than ${max} bytes`] : []), ...(pattern.test(name) ? [] : [text])]
}

function pathProblems(name: string): readonly string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return ['/', '%'].filter((letter) => name.includes(letter)).map((letter) => `may not contain '${letter}'`)
}

export function qualifiedProblems(key: string): readonly string[] {
  const parts = key.split('/')
  if (parts.length > 2) {
    return [
      `a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const name = parts.at(-1)!
  const problems: string[] = []
  if (parts.length === 2) {
    const prefix = parts[0]!
    if (prefix === '') problems.push('prefix part must be non-empty')
    else problems.push(...nameProblems(prefix, 'subdomain').map((text) => `prefix part ${text}`))
  }
  if (name === '') problems.push('name part must be non-empty')
  else if (name.length > 63) problems.push('name part must be no more than 63 bytes')
  if (!QUALIFIED.test(name)) problems.push(QUALIFIED_TEXT)
  return problems
}

/** Everything the server demands of metadata, for any kind. */
export function metadataFaults(
  metadata: Metadata,
  { namespaced, custom, rules }: Pick<ResourceType, 'namespaced' | 'custom' | 'rules'>,
): readonly Fault[] {
  const rule = rules.name ?? 'subdomain'
  const faults: Fault[] = []
  const check = (field: 'generateName' | 'name' | 'namespace', text: string, by: NameRule) => {
    for (const problem of nameProblems(text, by))
      faults.push(invalidFault(`metadata.${field}`, metadata[field], problem))
  }
  const { generateName, name, namespace } = metadata
  if (generateName) check('generateName', generateName.replace(/-$/, ''), rule)
  if (!name) faults.push(requiredFault('metadata.name', 'name or generateName is required'))
  else check('name', name, rule)
  if (namespaced && !namespace) faults.push(requiredFault('metadata.namespace'))
  if (namespaced && namespace) check('namespace', namespace, 'label')
  if (!namespaced && namespace) faults.push(forbiddenFault('metadata.namespace', 'not allowed on this type'))
  return [
    ...faults,
    ...labelFaults(metadata.labels),
    ...annotationFaults(metadata),
    ...ownerFaults(metadata),
    ...finalizerFaults(metadata, custom),
  ]
}

function labelFaults(labels: Readonly<Record<string, string>> = {}, path = 'metadata.labels'): readonly Fault[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedProblems(key).map((text) => invalidFault(path, key, text)),
    ...(value.length > 63 ? [invalidFault(path, value, 'must be no more than 63 bytes')] : []),
    ...(LABEL_VALUE.test(value) ? [] : [invalidFault(path, value, VALUE_TEXT)]),
  ])
}

function annotationFaults({ annotations = {} }: Metadata): readonly Fault[] {
  const size = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  return [
    ...Object.keys(annotations).flatMap((key) =>
      qualifiedProblems(key.toLowerCase()).map((text) => invalidFault('metadata.annotations', key, text)),
    ),
    ...(size > MAX_ANNOTATIONS
      ? [fault('metadata.annotations', 'TooLong', `Too long: may not be more than ${MAX_ANNOTATIONS} bytes`)]
      : []),
  ]
}

function ownerFaults({ ownerReferences = [] }: Metadata): readonly Fault[] {
  const faults = ownerReferences.flatMap((owner) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((field) => !owner[field])
      .map((field) =>
        invalidFault(
          `metadata.ownerReferences.${field}`,
          '',
          `${field === 'apiVersion' ? 'version' : field} must not be empty`,
        ),
      ),
  )
  const controllers = ownerReferences.filter((owner) => owner.controller)
  if (controllers.length < 2) return faults
  const [first, second] = controllers
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${first!.kind}/${first!.name} and ${second!.kind}/${second!.name}`
  return [
    ...faults,
    fault('metadata.ownerReferences', 'Invalid', `Invalid value: ${JSON.stringify(ownerReferences)}: ${why}`),
  ]
}

const STANDARD_FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion']

function finalizerFaults({ finalizers = [] }: Metadata, custom: boolean): readonly Fault[] {
  const unnamed = finalizers.flatMap((name, i) => [
    ...qualifiedProblems(name).map((text) => invalidFault('metadata.finalizers', name, text)),
    ...(custom || name.includes('/') || STANDARD_FINALIZERS.includes(name)
      ? []
      : [
          invalidFault(
            `metadata.finalizers[${i}]`,
            name,
            'name is neither a standard finalizer name nor is it fully qualified',
          ),
        ]),
  ])
  const both = finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')
  return both
    ? [
        ...unnamed,
        fault(
          'metadata.finalizers',
          'Invalid',
          `Invalid value: []string{${finalizers.map((name) => JSON.stringify(name)).join(', ')}}: finalizer orphan and finalizer foregroundDeletion cannot be both set`,
        ),
      ]
    : unnamed
}

/** What an update may not change about metadata. */
export function metadataUpdateFaults(next: Metadata, old: Metadata): readonly Fault[] {
  const faults = (['name', 'namespace', 'uid'] as const)
    .filter((field) => next[field] !== old[field])
    .map((field) => invalidFault(`metadata.${field}`, next[field] ?? '', 'field is immutable'))
  const held = new Set(old.finalizers ?? [])
  const added = (next.finalizers ?? []).filter((name) => !held.has(name))
  if (old.deletionTimestamp && added.length > 0) {
    const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => `"${name}"`).join(', ')}}`
    faults.push(forbiddenFault('metadata.finalizers', why))
  }
  return faults
}
