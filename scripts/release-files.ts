// The text of every release asset for one version, by its name. Reads config/ and templates/, writes nothing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse as parseVersion } from 'semver'
import { parse, stringify } from 'yaml'
import { sha256 } from '#lib'
import { type Manifest, renderKustomization, withImages } from './kustomize.ts'
import { billOfMaterials, type LockFile } from './release/bill-of-materials.ts'
import { DEFAULT_IMAGE } from './release/image-names.ts'
import { clusterClassText, flavourTexts } from './templates.ts'

export interface ReleaseOptions {
  /** `1.2.3`, without a v. */
  readonly version: string
  /** Where the images are, without tag; the runner's is the same with -runner behind it. */
  readonly image?: string
  /** Digests of the pushed images, where they are known: the manifests name exactly these. */
  readonly digests?: { readonly manager?: string | undefined; readonly runner?: string | undefined }
}

const root = join(import.meta.dirname, '..')

/** Files that each clusterctl provider finds beside its components. */
export const PROVIDERS = {
  'infrastructure-capt': (name: string) =>
    /^(infrastructure-components|metadata|cluster-template|clusterclass-)/.test(name),
  'control-plane-capt': (name: string) => /^(control-plane-components|metadata)/.test(name),
} as const satisfies Record<string, (name: string) => boolean>

const readLock = () => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile

function checkDigest(text: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(text)) return text
  throw new Error(`the digest of an image is sha256: and 64 digits, not ${JSON.stringify(text)}`)
}

export function releaseFiles({ version, image = DEFAULT_IMAGE, digests = {} }: ReleaseOptions): Map<string, string> {
  const images = [
    { suffix: '', digest: digests.manager },
    { suffix: '-runner', digest: digests.runner },
  ].map(({ suffix, digest }) => ({
    name: DEFAULT_IMAGE + suffix,
    newName: image + suffix,
    newTag: `v${version}`,
    ...(digest === undefined ? {} : { digest: checkDigest(digest) }),
  }))
  const render = (folder: string) =>
    renderKustomization(join(root, 'config', folder)).map((manifest) => withImages(manifest, images))
  const files = new Map<string, string>([
    ['install.yaml', toText(render('default'), `capt v${version}: every kind and every controller`)],
    [
      'install-local-engine.yaml',
      toText(render('overlays/local-engine'), `capt v${version}, with Terraform in the pod of the manager`),
    ],
    [
      'install-namespaced.yaml',
      toText(render('overlays/namespaced'), `capt v${version} for one namespace, without its kinds`),
    ],
    [
      'network-policy-egress.yaml',
      toText(render('network-policy/egress'), `What capt v${version} may connect to; optional`),
    ],
    [
      'approval-policy.yaml',
      toText(
        render('approval-policy'),
        `Who may approve plans of capt v${version}; optional, Kubernetes 1.30 and later`,
      ),
    ],
    [
      'run-data-policy.yaml',
      toText(
        render('run-data-policy'),
        `Who may write what runs of capt v${version} work from; Kubernetes 1.30 and later`,
      ),
    ],
    ['crds.yaml', toText(render('crd'), `The kinds of capt v${version}`)],
    [
      'infrastructure-components.yaml',
      componentsText(render('infrastructure'), `capt v${version}, infrastructure provider`),
    ],
    [
      'control-plane-components.yaml',
      componentsText(render('control-plane'), `capt v${version}, control-plane provider`),
    ],
    ['templates.yaml', templatesText(`WorkspaceTemplates of capt v${version}, for the namespace of your clusters`)],
    ['metadata.yaml', metadataText(version)],
    ['sbom.cdx.json', billOfMaterials(readLock(), version)],
    ...flavourTexts(),
    ['clusterclass-capt.yaml', clusterClassText()],
  ])
  files.set('SHA256SUMS', [...files].map(([name, text]) => `${sha256(text)}  ${name}\n`).join(''))
  return files
}

/** What `vpcTemplateRef`, `workspaceTemplateRef` and their like name in the docs, without a namespace. */
const TEMPLATES = ['vpc', 'eks-controlplane', 'node-group', 'machine']

function templatesText(what: string): string {
  const texts = TEMPLATES.map((name) => readFileSync(join(root, 'templates', `${name}.yaml`), 'utf8'))
  return `# ${what}.\n${texts.map((text) => text.replace(/^#.*\n/, '')).join('')}`
}

function toText(manifests: readonly Manifest[], what: string): string {
  return `# ${what}.\n${manifests.map((manifest) => `---\n${stringify(manifest, { lineWidth: 0 })}`).join('')}`
}

/**
 * clusterctl fills in variables, so its users choose the images and the limits of the manager without editing what they
 * downloaded. Every other `${…}`, as in descriptions of fields, is escaped.
 */
function componentsText(manifests: readonly Manifest[], what: string): string {
  const text = toText(manifests, what).replaceAll('${', () => '$${')
  const settings = [
    [/^( +image: )(\S+)$/m, 'CAPT_IMAGE'],
    [/^( +limits:\n +cpu: )(\S+)$/m, 'CAPT_CPU_LIMIT'],
    [/^( +limits:\n.+\n +memory: )(\S+)$/m, 'CAPT_MEMORY_LIMIT'],
    [/^( +- name: CAPT_RUNNER_IMAGE\n +value: )(\S+)$/m, 'CAPT_RUNNER_IMAGE'],
  ] as const
  return settings.reduce((filled, [place, variable]) => {
    // The control-plane provider has no runs.
    if (!place.test(filled) && variable === 'CAPT_RUNNER_IMAGE') return filled
    if (!place.test(filled)) throw new Error(`There is no place for ${variable} in the manager's manifest`)
    // Quoted, so that a number such as 4 stays a string, as the values of limits are.
    return filled.replace(
      place,
      (_match, before: string, value: string) => `${before}"\${${variable}:=${value.replaceAll('"', '')}}"`,
    )
  }, text)
}

interface Metadata {
  readonly releaseSeries: readonly { readonly major: number; readonly minor: number; readonly contract: string }[]
}

/** clusterctl refuses a version whose minor is not listed. A new minor keeps the contract of the last one. */
function metadataText(version: string): string {
  const known = parse(readFileSync(join(root, 'config/metadata.yaml'), 'utf8')) as Metadata
  const { major, minor } = parseVersion(version)!
  const { releaseSeries } = known
  const isListed = releaseSeries.some((series) => series.major === major && series.minor === minor)
  const contract = releaseSeries.at(-1)!.contract
  return stringify({
    ...known,
    releaseSeries: isListed ? releaseSeries : [...releaseSeries, { major, minor, contract }],
  })
}
