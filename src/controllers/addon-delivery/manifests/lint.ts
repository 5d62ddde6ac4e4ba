// What core's ClusterResourceSet controller does badly with a payload, found before it is written. Each rule was
// measured on the real controller: the failure it prevents is silent there.

import type { Manifest } from './manifests.ts'
import { resolveScope } from './scope.ts'

interface LintFinding {
  readonly rule: 'short-value' | 'json-list' | 'no-namespace' | 'generate-name' | 'empty' | 'duplicate'
  readonly message: string
}

/** Checks the values of one ConfigMap or Secret as core will read them. */
export function lintValues(values: Readonly<Record<string, string>>, where: string): readonly LintFinding[] {
  const keys = Object.keys(values)
  if (keys.length === 0)
    return [{ rule: 'empty', message: `${where} has no data: core reports an error and never applies it` }]
  return keys.flatMap((key): LintFinding[] => {
    const value = values[key]!
    if (Buffer.byteLength(value) < 32)
      return [
        { rule: 'short-value', message: `${where}, key ${key}: shorter than 32 bytes, which core refuses with EOF` },
      ]
    if (/^\s*\[/.test(value))
      return [{ rule: 'json-list', message: `${where}, key ${key}: a JSON list; a mistake in it counts as applied` }]
    return []
  })
}

export function lintManifests(manifests: readonly Manifest[], where: string): readonly LintFinding[] {
  const observed = new Set<string>()
  return manifests.flatMap((manifest): LintFinding[] => {
    const name = `${manifest.kind}/${manifest.metadata.name ?? ''}`
    if (manifest.metadata['generateName'] !== undefined && manifest.metadata.name === undefined)
      return [
        {
          rule: 'generate-name',
          message: `${where}: ${manifest.kind} uses generateName: every retry makes another one`,
        },
      ]
    const identity = `${manifest.apiVersion.split('/')[0]}|${manifest.kind}|${manifest.metadata.namespace ?? ''}|${manifest.metadata.name}`
    if (observed.has(identity)) return [{ rule: 'duplicate', message: `${where}: ${name} is there twice` }]
    observed.add(identity)
    if (resolveScope(manifest.apiVersion, manifest.kind, manifests) === 'Namespaced' && !manifest.metadata.namespace)
      return [{ rule: 'no-namespace', message: `${where}: ${name} needs metadata.namespace; core fills in none` }]
    return []
  })
}
