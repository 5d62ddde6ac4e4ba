// The one place that writes YAML. Its readers differ: kubectl, core's controllers and Helm read YAML 1.1, where a bare yes, on or 012
// is no string. What one of the two versions would read as something else is quoted. Long strings are not folded.
import { loadYaml } from '../schema/lazy.ts'

const FORMAT = { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const

export const toYaml = (value: unknown): string => loadYaml().stringify(value, FORMAT)

/** One document per object, in the given order. */
export const toYamlDocuments = (values: readonly unknown[]): string => values.map(toYaml).join('---\n')
