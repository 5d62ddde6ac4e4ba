// The verbs of a release: one version everywhere, what is missing is said before anything changes, a dry run changes
// nothing. Container engine, gh and kubectl are stand-ins here that record how they are called.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { sectionOf } from '../../../scripts/release/changelog.ts'
import { CLUSTER_VERBS } from '../../../scripts/release/cluster-verbs.ts'
import { DEFAULT_IMAGE } from '../../../scripts/release/image-names.ts'
import { type Ran, runVerb } from '../../../scripts/release/run.ts'
import { VERBS } from '../../../scripts/release/verbs.ts'
import { disagreements, SERIES_FILE, VERSIONED_FILES } from '../../../scripts/release/versions.ts'

const ROOT = join(import.meta.dirname, '../../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const files = (...patterns: readonly string[]): string[] =>
  globSync(patterns, { cwd: ROOT }).filter((path) => statSync(join(ROOT, path)).isFile())
const VERSIONED = [...VERSIONED_FILES.map(({ path }) => path), SERIES_FILE]
const { version: CURRENT } = JSON.parse(read('package.json')) as { version: string }

function run(program: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const unset = { DRY_RUN: '', VERSION: '', OWNER: '', REGISTRY: '', MAKEFLAGS: '', MAKELEVEL: '' }
  return new Promise((resolve) => {
    execFile(program, args, { cwd: ROOT, env: { ...process.env, ...unset, ...more } }, (error, out, err) =>
      resolve({ status: typeof error?.code === 'number' ? error.code : 0, out, err }),
    )
  })
}
/** As if the packages were installed: what make would do first is not what is tested. */
const make = (...args: readonly string[]) => run('make', ['-o', 'node_modules/.capt-installed', ...args])

interface Answer {
  readonly status?: number
  readonly out?: string
  readonly err?: string
}

/** A world in which programs answer as listed, by the beginning of the call; every other call succeeds with no words. */
function aWorld(env: Readonly<Record<string, string>>, answers: Readonly<Record<string, Answer>> = {}) {
  const written = new Map<string, string>()
  const ran: { command: string; input: string | undefined }[] = []
  const said: string[] = []
  const verb = (name: string, isDry = false): Promise<number> =>
    runVerb(
      name,
      { isDry },
      {
        env,
        date: '2026-01-31',
        read: (path) => written.get(path) ?? (path.startsWith('dist/') ? undefined : read(path)),
        write: (path, text) => void written.set(path, text),
        assets: () => ['SHA256SUMS', 'install.yaml'],
        ask(command) {
          const call = command.join(' ')
          const key = Object.keys(answers).find((one) => call.startsWith(one))
          return { status: 0, out: '', err: '', ...(key === undefined ? {} : answers[key]) }
        },
        run: (command, input) => ran.push({ command: command.join(' '), input }) * 0,
        print: (line) => said.push(line),
        complain: (line) => said.push(line),
      },
    )
  return { verb, written, ran, said: () => said.join('\n') }
}

describe('the version', () => {
  it('is the same wherever it stands', () => assert.deepEqual(disagreements(read, CURRENT), []))

  it('is noticed where it differs', () =>
    assert.deepEqual(disagreements(read, '9.9.9'), [
      `package.json has version ${CURRENT}, not 9.9.9`,
      `package-lock.json has version ${CURRENT}, not 9.9.9`,
      `config/manager/kustomization.yaml has version ${CURRENT}, not 9.9.9`,
      `config/manager-job-engine/kustomization.yaml has version ${CURRENT}, not 9.9.9`,
      `docs/get-capt.md has version ${CURRENT}, not 9.9.9`,
      `charts/capt/Chart.yaml has version ${CURRENT}, not 9.9.9`,
      'config/metadata.yaml does not list the minor of 9.9.9',
    ]))
})

describe('make update-version', () => {
  const copy = mkdtempSync(join(tmpdir(), 'capt-version-'))
  const inCopy = (path: string) => readFileSync(join(copy, path), 'utf8')
  before(async () => {
    const names = ['src', 'scripts', 'test/support', 'docs', 'config', 'examples', 'templates', 'modules', 'charts']
    for (const name of [...names, 'package.json', 'package-lock.json', 'THIRD-PARTY.md'])
      cpSync(join(ROOT, name), join(copy, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    const ran = await run(process.execPath, [join(copy, 'scripts/release.ts'), 'update-version'], { VERSION: '7.8.9' })
    assert.equal(ran.status, 0, ran.err)
  })
  after(() => rmSync(copy, { recursive: true, force: true }))

  it('leaves the version of before in no file', () => {
    assert.deepEqual(disagreements(inCopy, '7.8.9'), [])
    const others = files('*.{json,md}', '{charts,config,docs,examples,modules,scripts,templates}/**/*').filter(
      (path) => existsSync(join(copy, path)) && path !== 'package-lock.json',
    )
    assert.ok(others.length > 100)
    // As a word: other things may have a version that ends or begins like ours.
    const former = new RegExp(`(?<![\\w.-])v?${CURRENT.replaceAll('.', '\\.')}(?![\\w.-])`)
    assert.match(read('package.json'), former)
    assert.deepEqual(
      others.filter((path) => former.test(inCopy(path))),
      [],
    )
  })
})

describe('the image', () => {
  it('is named REGISTRY/OWNER/capt in every manifest, by the default of the release document', () => {
    assert.equal(DEFAULT_IMAGE, 'ghcr.io/appthrust/capt')
    for (const path of ['config/manager/manager.yaml', 'config/manager/kustomization.yaml'])
      assert.ok(read(path).includes(DEFAULT_IMAGE), path)
  })

  it('has registry and owner as variables in every page, module and workflow', () => {
    const pages = ['*.md', '{docs,modules,examples,templates}/**/*.*', '.github/**/*.yml', 'Dockerfile', 'Makefile']
    const lines = files(...pages)
      .filter((path) => path !== 'CHANGELOG.md' && !path.endsWith('.png'))
      .flatMap((path) => read(path).split('\n'))
      .flatMap((line) => (/ghcr\.io\/appthrust|github\.com\/appthrust|: ghcr\.io/.test(line) ? [line.trim()] : []))
    // The name that an overlay replaces, and where the variable of the workflow gets its value.
    assert.deepEqual(lines.sort(), [
      '- name: ghcr.io/appthrust/capt      # the name in the manifests of every release',
      'REGISTRY: ghcr.io',
    ])
  })
})

describe('a documented make target', () => {
  const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1]!)
  const typedIn = (text: string) => all(text, /(?:^ *|`)(?:\w+=\S+ )*make ([a-z][a-z-]*)/gm)
  const saidIn = (text: string) => all(text, /\brun make ([a-z][a-z-]*)/g)
  const blocksOf = (text: string) => text.match(/^ *```[\s\S]*?^ *```|`[^`\n]+`/gm)?.join('\n') ?? ''
  const pages = files('*.md', '{docs,modules,charts}/**/*.md').filter((path) => path !== 'CHANGELOG.md')
  const mentioned = [
    ...pages.flatMap((path) => typedIn(blocksOf(read(path)))),
    ...files('bin/*', '{scripts,src}/**/*.ts').flatMap((path) => saidIn(read(path))),
  ]
  const listed = [...read('Makefile').matchAll(/^([a-z-]+):.*## /gm)].map((match) => match[1]!)

  it('exists', () => {
    for (const name of ['update-version', 'docker-buildx', 'test-real']) assert.ok(mentioned.includes(name), name)
    assert.deepEqual(
      [...new Set(mentioned)].filter((name) => !listed.includes(name)),
      [],
    )
  })

  it('runs dry', async () => {
    const ran = await Promise.all(listed.map((name) => make('-n', name, 'VERSION=9.9.9')))
    assert.deepEqual(
      ran.flatMap(({ status, err }, i) => (status === 0 ? [] : `${listed[i]}: ${err}`)),
      [],
    )
  })

  const verbs = [...Object.keys(VERBS), ...Object.keys(CLUSTER_VERBS), 'build-installer', 'package']
  const scriptOf = (verb: string): string[] =>
    verb === 'build-installer' ? ['installer.ts'] : verb === 'package' ? ['package.ts'] : ['release.ts', verb]
  const flagged = (verb: string): Promise<Ran> => {
    const [script, ...words] = scriptOf(verb)
    return run(process.execPath, [join(ROOT, 'scripts', script!), ...words, '--dry-run'], { VERSION: '9.9.9' })
  }
  for (const [how, start] of [
    ['DRY_RUN=1', (verb: string) => make(verb, 'VERSION=9.9.9', 'DRY_RUN=1')],
    ['--dry-run', flagged],
  ] as const)
    it(`of a release prints its steps with ${how}, and changes nothing`, async () => {
      const before = stateOfFiles()
      const ran = await Promise.all(verbs.map(start))
      for (const [i, { status, out, err }] of ran.entries()) {
        assert.equal(status, 0, `${verbs[i]}: ${err}`)
        for (const line of out.trim().split('\n')) assert.match(line, /^would (write|run) /, verbs[i])
      }
      assert.deepEqual(stateOfFiles(), before)
    })

  /** Everything that a verb of a release may write. */
  const stateOfFiles = () =>
    [...VERSIONED, 'CHANGELOG.md', ...files('dist/{installer,repository}/**/*')].map((path) => {
      const { mtimeMs, size } = statSync(join(ROOT, path))
      return [path, mtimeMs, size]
    })
})

describe('a verb that lacks something', () => {
  const absent: Answer = { status: 127 }
  const HAS_IT = { VERSION: CURRENT }
  const CASES: readonly [string, Record<string, string>, Record<string, Answer>, RegExp][] = [
    [
      'docker-build',
      HAS_IT,
      { docker: absent },
      /no container engine: docker is not installed\n {2}hint install Docker/,
    ],
    ['docker-build', HAS_IT, { 'docker info': { status: 1 } }, /no container engine: docker reaches no daemon/],
    ['docker-buildx', { ...HAS_IT, CONTAINER_TOOL: 'podman' }, { podman: absent }, /podman is not installed/],
    ['docker-buildx', HAS_IT, { 'docker buildx': { status: 1 } }, /docker has no buildx/],
    ['docker-build', { VERSION: '9.9.9' }, {}, /package\.json has version .* run make update-version VERSION=9\.9\.9/],
    ['create-github-release', HAS_IT, { gh: absent }, /gh is not installed/],
    ['create-github-release', HAS_IT, { 'gh auth': { status: 1 } }, /gh is not logged in/],
    ['create-github-release', HAS_IT, {}, /CHANGELOG\.md has no section .*\n.*dist\/installer is not of v/],
    ['install', {}, { kubectl: absent }, /kubectl is not installed/],
    ['deploy', {}, { 'kubectl get --raw': { status: 1 } }, /kubectl reaches no cluster that is ready/],
    ['uninstall', {}, { 'kubectl get captclusters': { out: 'captcluster/demo\n' } }, /objects of kind CAPTCluster/],
    ['undeploy', {}, { 'kubectl get captclusters': { status: 1, err: 'Forbidden' } }, /or they cannot be listed/],
  ]
  for (const [verb, env, answers, expected] of CASES)
    it(`${verb} changes nothing and says: ${expected.source.slice(0, 50)}`, async () => {
      const world = aWorld(env, answers)
      assert.equal(await world.verb(verb), 1)
      assert.match(world.said(), expected)
      assert.deepEqual([world.ran, [...world.written.keys()]], [[], []])
      assert.equal(await world.verb(verb, true), 0)
      assert.match(world.said(), /^would /m)
      assert.deepEqual([world.ran, [...world.written.keys()]], [[], []])
    })

  it('refuses a version that is none', async () => {
    for (const [verb, version] of [
      ['update-version', 'v1'],
      ['update-changelog', ''],
    ] as const)
      await assert.rejects(aWorld({ VERSION: version }).verb(verb), /VERSION must be a version such as 1\.2\.3/)
  })
})

describe('a verb that has what it needs', () => {
  it('builds both images with registry, owner and tag as asked', async () => {
    const world = aWorld({ REGISTRY: 'registry.example', OWNER: 'team', VERSION: CURRENT })
    assert.equal(await world.verb('docker-buildx'), 0)
    const [manager, runner] = world.ran.map(({ command }) => command)
    assert.match(manager!, /--push --platform linux\/amd64,linux\/arm64,linux\/s390x,linux\/ppc64le .*--target manager/)
    assert.ok(manager!.endsWith(`--tag registry.example/team/capt:v${CURRENT} .`))
    assert.match(runner!, /--push --platform linux\/amd64,linux\/arm64 .*--target runner/)
    assert.ok(runner!.endsWith(`--tag registry.example/team/capt-runner:v${CURRENT} .`))
  })

  it('installs kinds, deploys everything, and removes both', async () => {
    const unknown = { status: 1, err: "error: the server doesn't have a resource type" }
    const world = aWorld({ OWNER: 'team' }, { 'kubectl get capt': unknown })
    for (const verb of ['install', 'deploy', 'undeploy', 'uninstall'])
      assert.equal(await world.verb(verb), 0, world.said())
    const [install, deploy, undeploy, uninstall] = world.ran
    assert.equal(install?.command, 'kubectl apply --server-side -f -')
    assert.doesNotMatch(install?.input ?? '', /kind: Deployment/)
    assert.match(
      deploy?.input ?? '',
      new RegExp(`image: ghcr.io/team/capt:v${CURRENT}\n(.*\n)+ +value: ghcr.io/team/capt-runner:v${CURRENT}\n`),
    )
    assert.deepEqual([undeploy?.input, uninstall?.input], [deploy?.input, install?.input])
    assert.match(uninstall?.command ?? '', /^kubectl delete --ignore-not-found/)
  })

  it('writes version and changelog, and then releases exactly that', async () => {
    const world = aWorld({ VERSION: '3.4.5-rc.1', OWNER: 'team' })
    assert.equal(await world.verb('update-version'), 0)
    assert.equal(world.ran.shift()?.command, 'node scripts/generate.ts')
    const now = (path: string) => world.written.get(path) ?? read(path)
    const chart = `charts/capt/Chart.yaml has version ${CURRENT}, not 3.4.5-rc.1`
    assert.deepEqual(disagreements(now, '3.4.5-rc.1'), [chart], 'generate writes the chart')
    world.written.set('charts/capt/Chart.yaml', 'appVersion: 3.4.5-rc.1\n')
    const lock = JSON.parse(now('package-lock.json')) as { packages: Record<string, { version: string }> }
    const known = JSON.parse(read('package-lock.json')) as typeof lock
    known.packages['']!.version = '3.4.5-rc.1'
    assert.deepEqual(lock.packages, known.packages, 'no other package got the version')

    const unreleased = sectionOf(read('CHANGELOG.md'), 'Unreleased')
    assert.equal(await world.verb('update-changelog'), 0)
    assert.match(now('CHANGELOG.md'), /^## Unreleased\n\n## 3\.4\.5-rc\.1 - 2026-01-31\n\n### /m)
    assert.equal(await world.verb('update-changelog'), 1)
    assert.match(world.said(), /has a section 3\.4\.5-rc\.1 already/)

    world.written.set('dist/installer/install.yaml', '# capt v3.4.5-rc.1: every kind\n')
    assert.equal(await world.verb('create-github-release'), 0, world.said())
    const [{ command, input } = { command: '', input: '' }] = world.ran
    assert.match(
      command,
      /^gh release create v3\.4\.5-rc\.1 --repo team\/capt --verify-tag .* --prerelease dist\/installer\/S/,
    )
    assert.equal(input, unreleased)
  })
})
