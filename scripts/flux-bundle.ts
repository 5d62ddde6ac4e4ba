// The TypeScript half of `make flux-bundle`: says which releases to make, and packs generated CRDs as compact JSON.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

interface Release {
  readonly flux: string
  readonly sourceController: string
  readonly helmController: string
}
interface Definition {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> }
  readonly spec: Record<string, unknown>
}

const DATA = join(import.meta.dirname, '..', 'src', 'catalog', 'data', 'flux')

function list(wanted: readonly string[]): string {
  const releases = JSON.parse(readFileSync(join(DATA, 'releases.json'), 'utf8')) as readonly Release[]
  const chosen = releases.filter((release) => wanted.length === 0 || wanted.includes(release.flux))
  return chosen.map((release) => `${release.flux} ${release.sourceController} ${release.helmController}\n`).join('')
}

/** One line per CRD, so that a diff between two versions names what changed. Status is the API server's business. */
function pack(version: string, dir: string): void {
  const definitions = readdirSync(dir)
    .sort()
    .map((file) => parse(readFileSync(join(dir, file), 'utf8')) as Definition)
  const lines = definitions.map((one) =>
    JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: one.metadata.name, annotations: one.metadata.annotations },
      spec: one.spec,
    }),
  )
  mkdirSync(join(DATA, version), { recursive: true })
  writeFileSync(join(DATA, version, 'crds.json'), `[\n${lines.join(',\n')}\n]\n`)
}

const [verb, ...rest] = process.argv.slice(2)
if (verb === 'list') process.stdout.write(list(rest))
else if (verb === 'pack' && rest.length === 2) pack(rest[0]!, rest[1]!)
else {
  process.stderr.write('usage: flux-bundle.ts list [VERSION...] | pack VERSION DIR\n')
  process.exitCode = 2
}
