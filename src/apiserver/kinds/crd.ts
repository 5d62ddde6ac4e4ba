// What makes a CustomResourceDefinition acceptable, and the status it carries: names accepted, established, versions
// that may be in storage. We decide at once what the real server decides a moment later in a controller.
import type { Fault } from '#api'
import { type Clock, isCaptError, messageOf, parseJsonPath, toTimestamp } from '#lib'
import { type ApiObject, listAt, recordAt, textAt } from '../object.ts'
import { invalidFault, requiredFault, unsupportedFault } from '../status.ts'
import { type CompileSchema, type CrdVersion, crdVersions } from './custom.ts'
import { nameProblems } from './names.ts'
import type { Rules } from './resource.ts'

export const CRD_CLEANUP = 'customresourcecleanup.apiextensions.k8s.io'

interface CrdWorld {
  readonly clock: Clock
  readonly compile: CompileSchema
  /** Names that other kinds of the group already have: plural, singular, short names; and kinds. */
  taken(group: string, except: string): { readonly words: ReadonlySet<string>; readonly kinds: ReadonlySet<string> }
}

export function crdRules(world: CrdWorld): Rules {
  return {
    generation: true,
    prepare: (crd, old) => prepareCrd(crd, old, world),
    validate: (crd, old) => validateCrd(crd, old, world.compile),
    retire: (crd) => retireCrd(crd, world.clock),
  }
}

function prepareCrd(crd: ApiObject, old: ApiObject | undefined, world: CrdWorld): void {
  const spec = recordAt(crd, 'spec')
  const names = recordAt(spec, 'names')
  names['singular'] ||= textAt(names, 'kind').toLowerCase()
  names['listKind'] ||= `${textAt(names, 'kind')}List`
  spec['conversion'] ??= { strategy: 'None' }
  crd['spec'] = spec
  const status = recordAt(old ?? crd, 'status')
  const storage = crdVersions(crd).find((version) => version.storage)?.name
  const stored = listAt(status, 'storedVersions') as string[]
  const conflict = nameConflict(crd, world)
  crd['status'] = {
    acceptedNames: conflict ? recordAt(status, 'acceptedNames') : { ...names },
    conditions: [
      ...conditionsOf(status, world.clock, [
        conflict
          ? { type: 'NamesAccepted', status: 'False', ...conflict }
          : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
        conflict && !isOn(status, 'Established')
          ? { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
          : {
              type: 'Established',
              status: 'True',
              reason: 'InitialNamesAccepted',
              message: 'the initial names have been accepted',
            },
      ]),
    ],
    storedVersions: storage === undefined || stored.includes(storage) ? stored : [...stored, storage],
  }
}

function retireCrd(crd: ApiObject, clock: Clock): void {
  crd.metadata.finalizers = [...new Set([...(crd.metadata.finalizers ?? []), CRD_CLEANUP])]
  const status = recordAt(crd, 'status')
  const pending = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  }
  crd['status'] = { ...status, conditions: conditionsOf(status, clock, [pending]) }
}

interface CrdCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime?: string
}

export function conditionsOf(status: unknown, clock: Clock, wanted: readonly CrdCondition[]): readonly CrdCondition[] {
  const before = listAt(status, 'conditions') as readonly CrdCondition[]
  const kept = before.filter((condition) => !wanted.some((item) => item.type === condition.type))
  return [
    ...kept,
    ...wanted.map((item) => {
      const last = before.find((condition) => condition.type === item.type)
      const since = last?.status === item.status ? last.lastTransitionTime : undefined
      return { ...item, lastTransitionTime: since ?? toTimestamp(clock.now()) }
    }),
  ]
}

function isOn(status: unknown, type: string): boolean {
  return (listAt(status, 'conditions') as CrdCondition[]).some((item) => item.type === type && item.status === 'True')
}

function nameConflict(crd: ApiObject, world: CrdWorld): { reason: string; message: string } | undefined {
  const names = recordAt(crd, 'spec', 'names')
  const { words, kinds } = world.taken(textAt(crd, 'spec', 'group'), crd.metadata.name)
  const clash = (reason: string, word: string) => ({ reason, message: `"${word}" is already in use` })
  if (words.has(textAt(names, 'plural'))) return clash('PluralConflict', textAt(names, 'plural'))
  if (words.has(textAt(names, 'singular'))) return clash('SingularConflict', textAt(names, 'singular'))
  const short = (listAt(names, 'shortNames') as string[]).find((word) => words.has(word))
  if (short) return clash('ShortNamesConflict', short)
  if (kinds.has(textAt(names, 'kind'))) return clash('KindConflict', textAt(names, 'kind'))
  return undefined
}

function validateCrd(crd: ApiObject, old: ApiObject | undefined, compile: CompileSchema): readonly Fault[] {
  const spec = recordAt(crd, 'spec')
  const names = recordAt(spec, 'names')
  const group = textAt(spec, 'group')
  const plural = textAt(names, 'plural')
  const faults: Fault[] = []
  if (crd.metadata.name !== `${plural}.${group}`) {
    faults.push(invalidFault('metadata.name', crd.metadata.name, 'must be spec.names.plural+"."+spec.group'))
  }
  if (group === '') faults.push(requiredFault('spec.group'))
  else if (!group.includes('.')) {
    faults.push(invalidFault('spec.group', group, 'should be a domain with at least one dot'))
  }
  const scope = textAt(spec, 'scope')
  if (scope === '') faults.push(requiredFault('spec.scope'))
  else if (scope !== 'Namespaced' && scope !== 'Cluster') {
    faults.push(unsupportedFault('spec.scope', scope, ['Cluster', 'Namespaced']))
  }
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) {
    const word = textAt(names, field)
    if (word === '') faults.push(requiredFault(`spec.names.${field}`))
    else
      for (const text of nameProblems(word.toLowerCase(), 'label'))
        faults.push(invalidFault(`spec.names.${field}`, word, text))
  }
  faults.push(...validateVersions(crd, compile), ...validateUpdate(crd, old))
  return faults
}

function validateVersions(crd: ApiObject, compile: CompileSchema): readonly Fault[] {
  const versions = crdVersions(crd)
  const faults: Fault[] = []
  if (versions.length === 0) return [requiredFault('spec.versions', 'must have at least one version')]
  const names = versions.map((version) => version.name)
  if (versions.filter((version) => version.storage).length !== 1)
    faults.push(invalidFault('spec.versions', names, 'must have exactly one version marked as storage version'))
  if (new Set(names).size !== names.length)
    faults.push(invalidFault('spec.versions', names, 'must contain unique version names'))
  for (const [i, version] of versions.entries()) {
    const path = `spec.versions[${i}]`
    const schema = version.schema?.openAPIV3Schema
    faults.push(...columnFaults(version, path))
    for (const text of nameProblems(version.name ?? '', 'label'))
      faults.push(invalidFault(`${path}.name`, version.name, text))
    if (!schema) {
      faults.push(requiredFault(`${path}.schema.openAPIV3Schema`, 'schemas are required'))
      continue
    }
    try {
      compile(schema)
    } catch (error) {
      if (!isCaptError(error, 'CAPT_SCHEMA_INVALID')) throw error
      faults.push({ path: `${path}.schema.openAPIV3Schema`, type: 'Invalid', message: schemaMessage(path, error) })
    }
  }
  return faults
}

function columnFaults(version: CrdVersion, path: string): readonly Fault[] {
  const scale = version.subresources?.scale ?? {}
  const paths = [
    ...(version.additionalPrinterColumns ?? []).map(
      (column, i) => [`${path}.additionalPrinterColumns[${i}].jsonPath`, column.jsonPath] as const,
    ),
    ...Object.entries(scale).map(([field, text]) => [`${path}.subresources.scale.${field}`, text] as const),
  ]
  return paths.flatMap(([field, text]) => {
    if (text && !text.startsWith('.')) return [invalidFault(field, text, 'must be a simple json path starting with .')]
    try {
      parseJsonPath(text ?? '')
      return text ? [] : [requiredFault(field)]
    } catch (error) {
      return [invalidFault(field, text, messageOf(error))]
    }
  })
}

function schemaMessage(path: string, error: Error & { at?: string | undefined }): string {
  return `${path}.schema.openAPIV3Schema: Invalid value: ${error.message}${error.at ? ` (${error.at})` : ''}`
}

function validateUpdate(crd: ApiObject, old: ApiObject | undefined): readonly Fault[] {
  if (!old) return []
  const faults: Fault[] = []
  for (const field of ['group', 'scope', 'names.plural', 'names.kind']) {
    const [next, before] = [crd, old].map((one) => textAt(one, 'spec', ...field.split('.')))
    if (next !== before) faults.push(invalidFault(`spec.${field}`, next, 'field is immutable'))
  }
  const names = new Set(crdVersions(crd).map((version) => version.name))
  for (const [i, stored] of (listAt(crd, 'status', 'storedVersions') as string[]).entries()) {
    if (names.has(stored)) continue
    const why = `missing from spec.versions; ${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`
    faults.push(invalidFault(`status.storedVersions[${i}]`, stored, why))
  }
  return faults
}
