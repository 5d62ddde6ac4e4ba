// What is in capt, from package-lock.json alone: a CycloneDX document for a release, and the list of licences.
// Pure and without a clock: the same lock file gives the same text.
import { sha256 } from '#lib'

interface LockedPackage {
  readonly version: string
  readonly license?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

const FOLDER = 'node_modules/'
const nameOf = (path: string): string => path.slice(path.lastIndexOf(FOLDER) + FOLDER.length)
/** Scopes are percent-encoded in package URLs. */
const purlOf = (path: string, { version }: LockedPackage): string =>
  `pkg:npm/${nameOf(path).replace('@', '%40')}@${version}`
const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : a > b ? 1 : 0)

/** Everything but the program itself, without what only builds and tests it. */
function shipped({ packages }: LockFile): readonly (readonly [string, LockedPackage])[] {
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .toSorted(byName)
}

/** As Node finds it: in the folder of the package that asks, then in those above. */
function resolve({ packages }: LockFile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(`/${FOLDER}`)))) {
    const path = `${folder === '' ? '' : `${folder}/`}${FOLDER}${name}`
    if (packages[path]) return path
    if (folder === '') return undefined
    if (!folder.includes(`/${FOLDER}`)) folder = ''
  }
}

function dependsOn(lock: LockFile, path: string): string[] {
  const { dependencies = {}, optionalDependencies = {} } = lock.packages[path]!
  const found = Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    const at = resolve(lock, path, name)
    return at === undefined ? [] : [purlOf(at, lock.packages[at]!)]
  })
  return [...new Set(found)].sort()
}

export function billOfMaterials(lock: LockFile, version: string): string {
  const packages = shipped(lock)
  const root = `pkg:generic/capt@${version}`
  const components = packages.map(([path, one]) => ({
    type: 'library',
    'bom-ref': purlOf(path, one),
    name: nameOf(path),
    version: one.version,
    scope: one.optional ? 'optional' : 'required',
    licenses: [{ expression: one.license ?? 'NOASSERTION' }],
    purl: purlOf(path, one),
    ...(one.integrity?.startsWith('sha512-')
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(one.integrity.slice(7), 'base64').toString('hex') }] }
      : {}),
  }))
  const dependencies = [
    { ref: root, dependsOn: dependsOn(lock, '') },
    ...packages.map(([path, one]) => ({ ref: purlOf(path, one), dependsOn: dependsOn(lock, path) })),
  ]
  const known = new Map(components.map((one) => [one['bom-ref'], one]))
  const edges = new Map(dependencies.map((one) => [one.ref, one]))
  const digest = sha256(JSON.stringify([version, ...known.keys()]))
  // A UUID of version 8: its digits are those of the content.
  const uuid = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': root,
        name: 'capt',
        version,
        licenses: [{ expression: 'Apache-2.0' }],
        purl: root,
      },
    },
    components: [...known.values()],
    dependencies: [...edges.values()],
  }
  return `${JSON.stringify(bom, null, 2)}\n`
}

export function licencePage(lock: LockFile): string {
  const rows = new Map(
    shipped(lock).map(([path, { version, license }]) => [`${nameOf(path)}@${version}`, license ?? 'unknown']),
  )
  return `# Packages in capt and their licences

Generated from package-lock.json by npm run generate. Do not edit. The image \`capt-runner\` also has Terraform, and both images
what Node's official image has.

| package | licence |
| --- | --- |
${[...rows].map(([name, licence]) => `| ${name} | ${licence} |`).join('\n')}
`
}
