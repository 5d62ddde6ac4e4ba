// What a release is made of and by: actions pinned by commit and no more rights than needed, every package listed with a
// licence that fits ours.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { billOfMaterials, type LockFile } from '../../../scripts/release/bill-of-materials.ts'

const ROOT = join(import.meta.dirname, '../../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}
interface Job {
  readonly 'timeout-minutes': number
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}
interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, string>>
}

for (const name of readdirSync(join(ROOT, '.github/workflows')))
  describe(`.github/workflows/${name}`, () => {
    const text = read(`.github/workflows/${name}`)
    const workflow = parse(text) as Workflow
    const steps = Object.values(workflow.jobs).flatMap((job) => job.steps)

    it('pins every action by its commit, with the version beside it', () => {
      const used = [...text.matchAll(/uses: (.*)$/gm)].map((match) => match[1]!)
      assert.ok(used.length > 1)
      for (const one of used) assert.match(one, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    })

    it('starts with the right to read, and puts no expression into a script', () => {
      assert.deepEqual(workflow.permissions, { contents: 'read' })
      for (const { run } of steps) assert.doesNotMatch(run ?? '', /\$\{\{/)
      for (const job of Object.values(workflow.jobs)) assert.ok(job['timeout-minutes'] > 0)
    })

    it('calls make targets that exist', () => {
      const targets = steps.flatMap(({ run = '' }) => [...run.matchAll(/^make ([a-z-]+)/gm)].map((match) => match[1]!))
      assert.ok(targets.length > 0)
      for (const target of targets) assert.match(read('Makefile'), new RegExp(`^${target}:`, 'm'))
    })
  })

it('one commit stands for one version of an action in every workflow', () => {
  const all = readdirSync(join(ROOT, '.github/workflows')).map((name) => read(`.github/workflows/${name}`))
  const used = new Set(all.flatMap((text) => [...text.matchAll(/uses: (.*)$/gm)].map((match) => match[1]!)))
  assert.equal(new Set([...used].map((one) => one.split('@')[0])).size, used.size)
})

describe('a release by its workflow', () => {
  const { release } = (parse(read('.github/workflows/release.yml')) as Workflow).jobs
  const steps = release!.steps
  const at = (found: (step: Step) => boolean) => {
    const index = steps.findIndex(found)
    assert.ok(index >= 0, String(found))
    return index
  }
  const attested = (what: string) =>
    at(({ uses, with: { 'subject-name': name = '', 'subject-path': path = '' } = {} }) =>
      Boolean(uses?.startsWith('actions/attest-build-provenance@') && `${name}${path}`.endsWith(what)),
    )
  const IMAGES = ['/capt', '/capt-runner']

  it('checks the signatures of the packages before it builds, and builds before it signs', () => {
    const order = ['npm audit signatures', 'make docker-buildx', 'cosign sign ', 'make build-installer', 'make package']
    const publish = ['cosign sign-blob', 'make create-github-release']
    const found = [...order, ...publish].map((command) => at(({ run }) => run?.startsWith(command) ?? false))
    assert.deepEqual(
      found,
      found.toSorted((one, other) => one - other),
    )
  })

  it('signs both images by digest, and the checksums of all assets', () => {
    const images = steps[at(({ run }) => run?.startsWith('cosign sign ') ?? false)]!.run!
    assert.match(images, /"\$REGISTRY\/\$OWNER\/capt@\$MANAGER" "\$REGISTRY\/\$OWNER\/capt-runner@\$RUNNER"/)
    const checksums = steps[at(({ run }) => run?.startsWith('cosign sign-blob') ?? false)]!.run!
    assert.match(checksums, /--bundle dist\/installer\/\S+ dist\/installer\/SHA256SUMS$/)
  })

  it('attests where both images and every asset come from', () => {
    for (const what of [...IMAGES, 'dist/installer/*']) attested(what)
    assert.deepEqual(release!.permissions, {
      contents: 'write',
      packages: 'write',
      'id-token': 'write',
      attestations: 'write',
    })
  })
})

describe('updates', () => {
  it('are proposed for packages, actions and base images', () => {
    const { updates } = parse(read('.github/dependabot.yml')) as {
      updates: readonly { 'package-ecosystem': string; schedule: object }[]
    }
    assert.deepEqual(
      updates.map((one) => one['package-ecosystem']),
      ['npm', 'github-actions', 'docker'],
    )
  })
})

describe('the list of packages', () => {
  const lock = JSON.parse(read('package-lock.json')) as LockFile
  const text = billOfMaterials(lock, '1.2.3')
  const bom = JSON.parse(text) as {
    readonly bomFormat: string
    readonly serialNumber: string
    readonly metadata: { readonly component: { readonly version: string; readonly 'bom-ref': string } }
    readonly components: readonly {
      readonly 'bom-ref': string
      readonly name: string
      readonly licenses: readonly [{ readonly expression: string }]
      readonly hashes: readonly [{ readonly content: string }]
    }[]
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
  }

  it('has every package that ships, with licence and hash, and none that only builds', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    const names = bom.components.map(({ name }) => name)
    for (const name of Object.keys(dependencies)) assert.ok(names.includes(name), name)
    for (const name of ['typescript', 'esbuild', '@biomejs/biome']) assert.ok(!names.includes(name), name)
    for (const { name, licenses, hashes } of bom.components) {
      assert.match(licenses[0].expression, /^(MIT|Apache-2\.0|ISC|0BSD|BSD-[23]-Clause|MIT OR Apache-2\.0)$/, name)
      assert.match(hashes[0].content, /^[0-9a-f]{128}$/, name)
    }
  })

  it('says what depends on what, from the program down, and leaves no package out', () => {
    const edges = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
    const reached = new Set<string>()
    const visit = (ref: string): void => {
      if (reached.has(ref)) return
      reached.add(ref)
      for (const next of edges.get(ref) ?? []) visit(next)
    }
    visit(bom.metadata.component['bom-ref'])
    const unreached = bom.components.map((one) => one['bom-ref']).filter((ref) => !reached.has(ref))
    assert.deepEqual(unreached, [])
    assert.deepEqual(
      [...reached].filter((ref) => !edges.has(ref)),
      [],
    )
  })

  it('is the same for the same lock file, and names the version', () => {
    assert.equal(text, billOfMaterials(lock, '1.2.3'))
    assert.equal(bom.metadata.component.version, '1.2.3')
    assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  })
})
