// What core's ClusterResourceSet controller does badly with a payload, found before it is written. Each rule was
// measured on the real controller: the failure it prevents is silent there.

import type { Manifest } from './manifests.ts'
import { resolveScope } from './scope.ts'

interface LintFinding {
  readonly rule: 'no-namespace' | 'generate-name' | 'duplicate'
  readonly message: string
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
