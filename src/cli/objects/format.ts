// How objects are printed as data: -o json|yaml|name|jsonpath=TEMPLATE, without managedFields unless asked for.
import type { AnyObject } from '#api'
import { groupOf } from '#api'
import { CaptError } from '#lib'
import type { Arguments, Io, Option } from '../command.ts'
import { printData } from '../output.ts'
import { parseTemplate } from './jsonpath.ts'

const TEMPLATE = /^jsonpath=(.+)$/s

export const FORMAT_OPTION = {
  output: {
    type: 'string',
    short: 'o',
    value: 'FORMAT',
    about: 'json, yaml, wide, name or jsonpath=TEMPLATE.',
    check: (value) =>
      ['json', 'yaml', 'wide', 'name'].includes(value) || TEMPLATE.test(value)
        ? undefined
        : 'one of: json, yaml, wide, name, jsonpath=TEMPLATE',
  },
  'show-managed-fields': { type: 'boolean', about: 'Keep metadata.managedFields in json and yaml.' },
} as const satisfies Record<string, Option>

export interface Format {
  readonly is: 'table' | 'wide' | 'json' | 'yaml' | 'name' | 'jsonpath'
  readonly showManagedFields: boolean
  /** Of a jsonpath. */
  readonly render?: (value: unknown) => string
}

export function formatOf({ values }: Arguments): Format {
  const showManagedFields = values['show-managed-fields'] === true
  const { output } = values
  if (typeof output !== 'string') return { is: 'table', showManagedFields }
  const template = TEMPLATE.exec(output)?.[1]
  if (template === undefined) return { is: output as Format['is'], showManagedFields }
  try {
    return { is: 'jsonpath', showManagedFields, render: parseTemplate(template) }
  } catch (error) {
    if (error instanceof CaptError && error.code === 'CAPT_USAGE') throw error
    throw new CaptError('CAPT_USAGE', `"${template}" is not a JSONPath template`, {
      hint: `for example -o jsonpath='{.status.vpcId}'`,
      cause: error,
    })
  }
}

/** One object as itself, several as a List. */
export async function printObjects(objects: readonly AnyObject[], isList: boolean, format: Format, io: Io) {
  if (format.is === 'name') return io.stdout.write(objects.map((object) => `${nameOf(object)}\n`).join(''))
  const shown = format.showManagedFields ? objects : objects.map(withoutManagedFields)
  const data = isList ? { apiVersion: 'v1', kind: 'List', items: shown } : shown[0]
  if (format.render) return io.stdout.write(format.render(data))
  await printData(data, format.is === 'yaml' ? 'yaml' : 'json', io)
}

/** `captcluster.infrastructure.cluster.x-k8s.io/demo`, which every command takes as KIND/NAME. */
export function nameOf({ apiVersion, kind, metadata }: AnyObject): string {
  const group = groupOf(apiVersion)
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${metadata.name}`
}

function withoutManagedFields<T extends AnyObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as AnyObject['metadata'] & { managedFields?: unknown }
  return { ...object, metadata }
}
