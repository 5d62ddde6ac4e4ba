// A new stage type is one definition, an entry in the registry and its schema. Planted in a copy of the sources, it is
// validated, rendered, delivered and removed without any other change.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../../..')
const copy = mkdtempSync(join(tmpdir(), 'capt-stage-type-'))
const stages = 'src/controllers/addon-delivery/stages'
const run = promisify(execFile)

const DEFINITION = `// The stage type banner: one ConfigMap with a text.
import { renderPart } from '../resource-set/render-part.ts'
import { deliveredObjects } from '../teardown/delivered.ts'
import { ready, textOf } from './render/rendered.ts'
import type { StageType } from './stage-type.ts'

export const bannerStage: StageType = {
  field: 'banner',
  render(input) {
    const metadata = { name: 'banner', namespace: 'default' }
    const data = { text: input.stage.banner!.text + ' ' + textOf(input.variables, 'CLUSTER_NAME') }
    const check = { type: 'Condition', apiVersion: 'v1', kind: 'ConfigMap', path: 'data.text', equals: data.text } as const
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    return ready(undefined, [renderPart(input, '', [manifest], [{ ...check, ...metadata }])])
  },
  removal: () => [deliveredObjects],
}
`

/** Uses the planted type through the same functions as the controller; prints what they answered. */
const DRIVER = `
import { AddonPipeline, checkManifests, ConfigMapKind, readManifests } from '#api'
import { memoryCluster } from '#testing'
import { aDelivery, aPart, aStage, minutesAgo, shippedStage } from './controllers/addon-delivery/observed-examples.ts'
import { decideDelivery } from './controllers/addon-delivery/decide.ts'
import { renderStage } from './controllers/addon-delivery/stages/render/render-stage.ts'
import { decideTeardown } from './controllers/addon-delivery/teardown/decide.ts'
import { planRemoval } from './controllers/addon-delivery/teardown/steps.ts'

const { flux: _flux, ...rest } = shippedStage('flux')
const stage = { ...rest, name: 'hello', enabledBy: [], banner: { text: 'Welcome to' } }
const problems = (spec: object) => {
  const object = { apiVersion: AddonPipeline.apiVersion, kind: 'AddonPipeline', metadata: { name: 'p' }, spec }
  return checkManifests(readManifests(JSON.stringify(object), 'pipeline.yaml')).map((one) => JSON.stringify(one))
}
const input = {
  stage, cluster: 'demo', variables: { CLUSTER_NAME: 'demo' }, secretVariables: new Set<string>(), override: undefined,
  versions: { flux: '2.9.5', karpenter: '1.14.1' }, definitions: [], isFluxAdopted: false, probe: undefined,
  installFile: undefined, sources: [], nodes: undefined, liveReplicas: undefined,
}
const rendered = renderStage(input)
if (rendered.is !== 'ready') throw new Error(JSON.stringify(rendered))
const [part] = rendered.parts
const deciding = (isWritten: boolean) => {
  const own = aStage({ stage, rendered, existing: { is: 'nothing' }, before: undefined, parts: [aPart({ part: part!, isWritten })] })
  const decision = decideDelivery(aDelivery({ stages: [own] }))
  return { own, decision }
}
const steps = planRemoval([stage], new Set(['hello']), { cause: 'stages', withCluster: false, nodesTimeoutMs: 1 })
const step = steps.find(({ type }) => type === 'objects')!
const workload = memoryCluster({})
workload.seed(ConfigMapKind, part!.manifests[0] as never)
const { own, decision } = deciding(false)
const observedStep = await step.observe!(workload.objects, step, { observedStages: [own], delivery: aDelivery().delivery } as never)
const removal = decideTeardown({
  cause: 'stages', startedAt: minutesAgo(0), unreachableSince: undefined, ended: [], isWorkloadOpen: true,
  current: { step, observedStep, startedAt: minutesAgo(0) }, isWorkloadAbsent: false, survey: undefined,
  mayTerminate: false, mayDeleteNetwork: false, leftovers: [], isEmpty: false,
}, Date.parse(minutesAgo(0)))
console.log(JSON.stringify({
  accepted: problems({ clusterSelector: {}, stages: [{ name: 'hello', banner: { text: 'x' } }] }),
  refused: problems({ clusterSelector: {}, stages: [{ name: 'hello', banner: { text: 'x' }, flux: {} }] }),
  text: (part!.manifests[0] as { data?: { text?: string } }).data?.text,
  deliver: decision,
  settled: deciding(true).decision.is,
  steps: steps.map(({ name }) => name),
  removal: removal.decision,
}))
`

function edit(path: string, from: string | RegExp, to: string): void {
  const file = join(copy, path)
  const text = readFileSync(file, 'utf8')
  const edited = text.replace(from, to)
  assert.notEqual(edited, text, path)
  writeFileSync(file, edited)
}

describe('a new stage type', () => {
  before(() => {
    cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true, filter: (path) => !path.endsWith('.test.ts') })
    for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(copy, file))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    writeFileSync(join(copy, stages, 'banner.ts'), DEFINITION)
    edit(
      `${stages}/registry.ts`,
      'import { fluxStage }',
      "import { bannerStage } from './banner.ts'\nimport { fluxStage }",
    )
    edit(`${stages}/registry.ts`, '[fluxStage,', '[bannerStage, fluxStage,')
    edit(
      'src/api/kinds/stage-types.ts',
      'export const stageTypes = {',
      "export const stageTypes = {\n  banner: s.object({ text: s.string({ about: 'Text.' }) }, { required: ['text'], about: 'A text.' }),",
    )
    writeFileSync(join(copy, 'src/driver.ts'), DRIVER)
  })
  after(() => rmSync(copy, { recursive: true, force: true }))

  it('is validated, rendered, delivered and removed', async () => {
    const { stdout } = await run(process.execPath, [join(copy, 'src/driver.ts')], { cwd: copy })
    const answer = JSON.parse(stdout)
    assert.deepEqual(answer.accepted, [])
    assert.match(answer.refused.join(), /exactly one of banner, flux, karpenter, nodePool and resources must be set/)
    assert.equal(answer.text, 'Welcome to demo')
    assert.partialDeepStrictEqual(answer.deliver, {
      is: 'act',
      actions: [{ do: 'deliver', stage: { name: 'hello' }, part: { set: 'hello-installer-demo' } }],
    })
    assert.equal(answer.settled, 'done')
    assert.deepEqual(answer.steps, ['hello/sets', 'hello/objects', 'hello/gate'])
    assert.partialDeepStrictEqual(answer.removal, {
      is: 'act',
      actions: [{ do: 'delete', where: 'workload', things: [{ key: { namespace: 'default', name: 'banner' } }] }],
    })
  })

  it('holds to the types of the rest', async () => {
    const config = { extends: './tsconfig.json', include: [`${stages}/*.ts`] }
    writeFileSync(join(copy, 'tsconfig.stage.json'), JSON.stringify(config))
    await run(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.stage.json'], { cwd: copy })
  })
})
