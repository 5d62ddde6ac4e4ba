// A new stage type is a schema, a definition, an entry in the registry and a test. The blocks of CONTRIBUTING.md, planted
// in a copy of the sources, are validated, delivered and removed without any other change.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { readSteps } from '../../support/docs-pages.ts'

const root = join(import.meta.dirname, '../../..')
const copy = mkdtempSync(join(tmpdir(), 'capt-stage-type-'))
const stages = 'src/controllers/addon-delivery/stages'
const run = promisify(execFile)

const [, section = ''] = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split('\n## Adding a stage type\n')
const blocks = readSteps('CONTRIBUTING.md', section.split('\n## ')[0]!).map(({ text }) => text)
const [SCHEMA, DEFINITION, TEST, PLAIN_SCHEMA, PLAIN_DEFINITION] = blocks

/** Brings the planted type to a simulated cluster with the controllers, takes it away again, and prints what was seen. */
const STORY = `
import { AddonPipeline, checkManifests, DeploymentKind, readManifests } from '#api'
import { defaultPipeline } from '#controllers'
import { HelmReleaseKind, OCIRepositoryKind } from './src/controllers/addon-delivery/health/read.ts'
import { stageWith } from './src/controllers/addon-delivery/stages/render/input-examples.ts'
import { addonsWorld, Cluster, HOME } from './test/support/addons/world.ts'

const problems = (stage: object) => {
  const spec = { clusterSelector: {}, stages: [{ name: 'hello', ...stage }] }
  const object = { apiVersion: AddonPipeline.apiVersion, kind: 'AddonPipeline', metadata: { name: 'p' }, spec }
  return checkManifests(readManifests(JSON.stringify(object), 'pipeline.yaml')).map((one) => JSON.stringify(one))
}
const podinfo = { version: '6.9.0', namespace: 'podinfo', timeout: '10m' }
const hello = stageWith({ name: 'hello', needs: ['flux'], enabledBy: [{ key: 'hello', value: 'yes' }], podinfo })
const shipped = defaultPipeline(HOME)
const priorities = [{ name: 'high', value: 1000 }]
const first = stageWith({ name: 'first', needs: [], enabledBy: [{ key: 'hello', value: 'yes' }], priorities })
const stages = [{ ...shipped.spec.stages[0]!, enabledBy: [] }, hello, first]
const Priority = { group: 'scheduling.k8s.io', version: 'v1', kind: 'PriorityClass', plural: 'priorityclasses', namespaced: false }
const high = () => workload.peek(Priority, { name: 'high' })?.metadata.name
const world = await addonsWorld({ pipeline: { ...shipped, spec: { ...shipped.spec, stages } } })
const workload = await world.addCluster('demo', { labels: { hello: 'yes' } })
const key = { namespace: 'podinfo', name: 'podinfo' }
const installed = () => [OCIRepositoryKind, HelmReleaseKind, DeploymentKind].filter((kind) => workload.peek(kind, key)).map(({ kind }) => kind)
const states = () => ['hello', 'first'].map((name) => world.stage('demo', name)?.state)
await world.until('both are healthy', () => states().every((state) => state === 'Healthy'))
const plain = { evidence: world.stage('demo', 'first')?.healthy?.evidence, delivered: high(), removed: '' }
const delivered = { ...world.stage('demo', 'hello'), installed: installed() }
const body = { metadata: { labels: { hello: null } } }
await world.home.others.patch(Cluster, { namespace: 'default', name: 'demo' }, { type: 'merge', body })
await world.until('both are gone', () => states().every((state) => state === 'NotWanted'))
plain.removed = high() ?? 'nothing is left'
const removed = { ...world.stage('demo', 'hello'), installed: installed() }
await world.close()
console.log(JSON.stringify({
  accepted: problems({ podinfo: { version: '6.9.0', chart: 'oci://registry.example.com/podinfo' } }),
  refused: problems({ podinfo: { version: '6.9.0' }, flux: {} }),
  delivered,
  removed,
  plain,
  unkeyed: problems({ priorities: [{ name: 'high', value: 1 }, { name: 'high', value: 2 }] }),
}))
`

function edit(path: string, from: string, to: string): void {
  const file = join(copy, path)
  const text = readFileSync(file, 'utf8')
  const edited = text.replace(from, () => to)
  assert.notEqual(edited, text, path)
  writeFileSync(file, edited)
}

describe('the stage types of CONTRIBUTING.md', () => {
  before(() => {
    cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true, filter: (path) => !path.endsWith('.test.ts') })
    for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(copy, file))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    writeFileSync(join(copy, stages, 'podinfo.ts'), `${DEFINITION}\n`)
    writeFileSync(join(copy, stages, 'priorities.ts'), `${PLAIN_DEFINITION}\n`)
    writeFileSync(join(copy, stages, 'podinfo.test.ts'), `${TEST}\n`)
    const registry = `${stages}/registry.ts`
    edit(
      registry,
      'import { resources',
      "import { podinfoStage } from './podinfo.ts'\nimport { prioritiesStage } from './priorities.ts'\nimport { resources",
    )
    edit(registry, '  flux: fluxStage,', '  flux: fluxStage,\n  podinfo: podinfoStage,\n  priorities: prioritiesStage,')
    edit(
      'src/api/kinds/stage-types.ts',
      '/** A stage sets exactly one of these fields. */\nexport const stageTypes = {',
      `${SCHEMA}\n${PLAIN_SCHEMA}\n\nexport const stageTypes = {\n  podinfo,\n  priorities,`,
    )
    cpSync(join(root, 'test/support/addons'), join(copy, 'test/support/addons'), { recursive: true })
    writeFileSync(join(copy, 'story.ts'), STORY)
  })
  after(() => rmSync(copy, { recursive: true, force: true }))

  it('are validated, delivered until they are healthy, and removed', async () => {
    const { stdout } = await run(process.execPath, [join(copy, 'story.ts')], { cwd: copy })
    const answer = JSON.parse(stdout)
    assert.deepEqual(answer.accepted, [])
    assert.match(answer.refused.join(), /exactly one of podinfo, .+ and \w+ must be set/)
    assert.partialDeepStrictEqual(answer.delivered, {
      wantedVersion: '6.9.0',
      healthy: {
        evidence: [
          'Deployment podinfo: 1 of 1 available',
          'OCIRepository podinfo fetched',
          'HelmRelease podinfo ready: InstallSucceeded, chart 6.9.0',
        ],
      },
      installed: ['OCIRepository', 'HelmRelease', 'Deployment'],
    })
    assert.deepEqual(answer.removed, { name: 'hello', state: 'NotWanted', installed: [] })
    const evidence = ['PriorityClass high: value is 1000']
    assert.deepEqual(answer.plain, { evidence, delivered: 'high', removed: 'nothing is left' })
    assert.match(answer.unkeyed.join(), /priorities\[1\].+high.+ stands there twice/)
  })

  it('pass their own test', async () => {
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env
    const file = join(copy, stages, 'podinfo.test.ts')
    const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', file], { cwd: copy, env })
    assert.match(stdout, /# pass 1$/m)
  })

  it('hold to the types of the rest', async () => {
    const config = { extends: './tsconfig.json', include: [`${stages}/*.ts`] }
    writeFileSync(join(copy, 'tsconfig.stage.json'), JSON.stringify(config))
    await run(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.stage.json'], { cwd: copy })
  })
})
