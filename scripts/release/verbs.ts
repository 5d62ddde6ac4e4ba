// The verbs of a release as data; those of a cluster are in cluster-verbs.ts: what each needs, what stops it, and the steps it takes. Pure: it reads through the
// inputs and runs nothing; run.ts checks everything that is needed before it takes the first step.
import { parse as parseVersion } from 'semver'
import { changelogBlockers, released, sectionOf } from './changelog.ts'
import { disagreements, withVersion } from './versions.ts'

export interface Inputs {
  readonly version: string
  /** Registry, owner and name, without tag. */
  readonly image: string
  readonly owner: string
  readonly containerTool: string
  /** `2026-01-31` */
  readonly date: string
  /** A file of the repository; undefined when it is not there. */
  readonly read: (path: string) => string | undefined
  readonly assets: readonly string[]
}

/** A command that must succeed, or must print nothing, before anything is changed. */
export interface Requirement {
  readonly command: readonly string[]
  readonly printsNothing?: true
  readonly missing: string
  readonly hint: string
}

export type Step =
  | { readonly write: string; readonly text: string }
  | { readonly run: readonly string[]; readonly input?: string; readonly about?: string }

export interface Work {
  readonly requirements: readonly Requirement[]
  readonly blockers: readonly string[]
  readonly steps: readonly Step[]
}

const MANAGER_PLATFORMS = 'linux/amd64,linux/arm64,linux/s390x,linux/ppc64le'
/** The platforms that both Terraform and the AWS provider are released for. */
const RUNNER_PLATFORMS = 'linux/amd64,linux/arm64'
const TARGETS = [
  { target: 'manager', suffix: '', platforms: MANAGER_PLATFORMS },
  { target: 'runner', suffix: '-runner', platforms: RUNNER_PLATFORMS },
] as const

export const only = (work: Partial<Work>): Work => ({ requirements: [], blockers: [], steps: [], ...work })
const mustRead = (inputs: Inputs) => (path: string) => {
  const text = inputs.read(path)
  if (text === undefined) throw new Error(`${path} is missing`)
  return text
}
const agreeing = (inputs: Inputs): readonly string[] =>
  disagreements(mustRead(inputs), inputs.version).map(
    (one) => `${one}; run make update-version VERSION=${inputs.version}`,
  )

function containerTool({ containerTool: tool }: Inputs, isMultiPlatform: boolean): readonly Requirement[] {
  const hint = 'install Docker or Podman (CONTAINER_TOOL=podman), or let the release workflow build the images'
  return [
    { command: [tool, '--version'], missing: `no container engine: ${tool} is not installed`, hint },
    { command: [tool, 'info'], missing: `no container engine: ${tool} reaches no daemon`, hint },
    ...(isMultiPlatform
      ? [{ command: [tool, 'buildx', 'version'], missing: `${tool} has no buildx`, hint: 'install the plugin buildx' }]
      : []),
  ]
}

function imageSteps(inputs: Inputs, isMultiPlatform: boolean): readonly Step[] {
  const { version, image, owner, containerTool: tool } = inputs
  return TARGETS.map(({ target, suffix, platforms }) => ({
    run: [
      tool,
      ...(isMultiPlatform
        ? ['buildx', 'build', '--push', '--platform', platforms, '--provenance=mode=max', '--sbom=true']
        : ['build']),
      ...['--target', target, '--build-arg', `VERSION=${version}`],
      ...['--label', `org.opencontainers.image.source=https://github.com/${owner}/capt`],
      ...['--label', `org.opencontainers.image.version=${version}`],
      ...['--tag', `${image}${suffix}:v${version}`, '.'],
    ],
  }))
}

export const VERBS: Readonly<Record<string, (inputs: Inputs) => Work>> = {
  'update-version': (inputs) =>
    only({
      steps: [
        ...[...withVersion(mustRead(inputs), inputs.version)].map(([write, text]) => ({ write, text })),
        { run: ['node', 'scripts/generate.ts'] },
      ],
    }),
  'update-changelog': (inputs) => {
    const text = mustRead(inputs)('CHANGELOG.md')
    return only({
      blockers: changelogBlockers(text, inputs.version),
      steps: [{ write: 'CHANGELOG.md', text: released(text, inputs.version, inputs.date) }],
    })
  },
  'docker-build': (inputs) =>
    only({ requirements: containerTool(inputs, false), steps: imageSteps(inputs, false), blockers: agreeing(inputs) }),
  'docker-buildx': (inputs) =>
    only({ requirements: containerTool(inputs, true), steps: imageSteps(inputs, true), blockers: agreeing(inputs) }),
  'create-github-release': (inputs) => {
    const { version, owner, assets } = inputs
    const notes = sectionOf(mustRead(inputs)('CHANGELOG.md'), version)
    const isBuilt = inputs.read('dist/installer/install.yaml')?.startsWith(`# capt v${version}:`) ?? false
    const kind = parseVersion(version)!.prerelease.length > 0 ? ['--prerelease'] : []
    const hint = 'install gh (GitHub CLI) and run gh auth login, or push the tag: the release workflow does the same'
    return only({
      requirements: [
        { command: ['gh', '--version'], missing: 'gh is not installed', hint },
        { command: ['gh', 'auth', 'status'], missing: 'gh is not logged in', hint },
      ],
      blockers: [
        ...agreeing(inputs),
        ...(notes ? [] : [`CHANGELOG.md has no section ${version}; run make update-changelog VERSION=${version}`]),
        ...(isBuilt ? [] : [`dist/installer is not of v${version}; run make build-installer VERSION=${version}`]),
      ],
      steps: [
        {
          run: [
            ...['gh', 'release', 'create', `v${version}`, '--repo', `${owner}/capt`, '--verify-tag'],
            ...['--title', `v${version}`, '--notes-file', '-', ...kind],
            ...assets.map((name) => `dist/installer/${name}`),
          ],
          input: notes ?? '',
          about: `notes of ${version} from CHANGELOG.md`,
        },
      ],
    })
  },
}

/** Verbs that name a version people will see; for the others it is the one of package.json. */
export const NEEDS_VERSION: readonly string[] = [
  'update-version',
  'update-changelog',
  'docker-buildx',
  'create-github-release',
]
