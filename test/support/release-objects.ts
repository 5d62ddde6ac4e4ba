// The objects of a release, as they are applied: what each Deployment starts in its container.
import { parseAllDocuments } from 'yaml'
import { releaseFiles } from '../../scripts/release-files.ts'

const files = releaseFiles({ version: '9.9.9' })

export interface Container {
  readonly image: string
  readonly command?: readonly string[]
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly volumeMounts: readonly { readonly mountPath: string }[]
}
interface Loose {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly [Container] } } }
}

/** The objects of an asset, as clusterctl fills it in when no variable is set. */
export function objectsOf(asset: string): readonly Loose[] {
  const text = files
    .get(asset)!
    .replace(/(?<!\$)\$\{[A-Z_]+:=([^}]*)\}/g, '$1')
    .replaceAll('$${', () => '${')
  return parseAllDocuments(text).map((document) => document.toJS() as Loose)
}

/** By asset. */
export const DEPLOYMENTS = new Map(
  [...files.keys()]
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => objectsOf(name).flatMap((one) => (one.kind === 'Deployment' ? [[name, one] as const] : []))),
)
