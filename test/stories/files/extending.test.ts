// Adding a command or a kind is one file, a controller one folder and its entry in the registry, an engine one folder and the
// lines that export, choose and list it, and a field that reaches Terraform five files: planted in a copy of the repository, each
// shows up everywhere after `make generate`.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'

const ROOT = join(import.meta.dirname, '../../..')
const COPIED = [
  'src',
  'scripts',
  'test',
  'docs',
  'config',
  'examples',
  'templates',
  'modules',
  'package.json',
  'package-lock.json',
]

const COMMAND = `// Greets.
import { type Command, EXIT } from '../../command.ts'

export const command: Command = {
  name: 'greet',
  summary: 'Greet somebody by name',
  positionals: 'NAME',
  examples: { 'greet demo': 'Greets demo' },
  options: {},
  async run(args, io) {
    io.stdout.write(\`Hello \${args.positionals[0]}\\n\`)
    return EXIT.fine
  },
}
`

const KIND = `// A planted kind.
import { defineKind, type KindOf } from '../define-kind.ts'
import * as s from '../schema/build.ts'

export const CAPTGreeting = defineKind({
  group: 'infrastructure.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTGreeting',
  reconciledBy: 'infrastructure',
  shortNames: ['greeting'],
  about: 'Greets a cluster.',
  spec: s.object({ text: s.string({ about: 'The text.', maxLength: 64 }) }, { about: 'Desired state.' }),
  status: s.object({ isSent: s.boolean({ about: 'Whether it was sent.' }) }, { about: 'Observed state.' }),
  columns: [{ name: 'Text', path: '.spec.text' }],
})
export type CAPTGreeting = KindOf<typeof CAPTGreeting>
`

const CONTROLLER = `// The controller for CAPTGreeting: reports that the text was sent.
import { CAPTGreeting } from '#api'
import { type Controller, done } from '#runtime'

export function captGreetingController(): Controller<CAPTGreeting, CAPTGreeting, never> {
  return {
    name: 'captgreeting',
    kind: CAPTGreeting,
    wakes: [],
    summary: false,
    observe: async (_world, greeting) => greeting,
    decide: () => done,
    act: async () => undefined,
    status: () => ({ fields: { isSent: true } }),
  }
}
`

const ENGINE = `// A planted engine: it answers as the simulated one does.
import type { Engine } from '../port.ts'
import { createSimulatedEngine } from '../simulated/simulated-engine.ts'

export function createPlantedEngine(options: Parameters<typeof createSimulatedEngine>[0]): Engine {
  return { ...createSimulatedEngine(options), name: 'planted' }
}
`

const ENGINE_TEST = `import { silentLog, systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { engineContract } from '../contract.ts'
import { createPlantedEngine } from './planted-engine.ts'

engineContract('the planted engine', async () => {
  const { objects, close } = memoryCluster()
  const engine = createPlantedEngine({ objects, clock: systemClock, log: silentLog, resourceMs: 1 })
  const hold = setInterval(() => undefined, 1000)
  return { objects, engine, close: () => (clearInterval(hold), engine.stop().then(close)) }
})
`

/**
 * Starts the embedded home of the copy with the planted engine; prints the status that the planted controller gives a planted
 * object, and how the engine reports a run.
 */
const GREET = `
  import { CAPTGreeting, EventKind, WorkspaceTemplate, WorkspaceTemplateApply } from './src/api/index.ts'
  import { startHome } from './src/app/index.ts'
  import { anApply, aTemplate } from './src/testing/index.ts'
  const options = { dataDir: 'home', host: '127.0.0.1', port: 0, engine: 'planted', logLevel: 'error' }
  const home = await startHome({ ...options, logTo: process.stderr, env: {} })
  const { apiVersion, kind } = CAPTGreeting
  const key = { name: 'demo', namespace: 'default' }
  await home.objects.create(CAPTGreeting, { apiVersion, kind, metadata: key, spec: { text: 'Hello' } })
  await home.objects.create(WorkspaceTemplate, aTemplate('resource "terraform_data" "x" {}', {}, key))
  await home.objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'demo' } }, key))
  let status
  let started
  for (let tries = 0; tries < 100 && (status === undefined || started === undefined); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    status = (await home.objects.get(CAPTGreeting, key)).status
    for await (const { reason, note } of home.objects.list(EventKind, { namespace: 'default' }))
      if (reason === 'RunStarted') started = note
  }
  console.log(JSON.stringify(status), started)
  await home.stop()
`

const VARIABLE = `
variable "flow_logs" {
  type        = bool
  description = "Record the traffic of the VPC."
  default     = false
}
`

/** What is written by hand into a file that is there: the text after which it stands (empty: the end), and itself. */
type Insertion = readonly [file: string, after: string, planted: string]

const REGISTRY: readonly Insertion[] = [
  [
    'src/controllers/registry.ts',
    "import { captControlPlaneController } from './control-plane/index.ts'\n",
    "import { captGreetingController } from './greeting/index.ts'\n",
  ],
  ['src/controllers/registry.ts', '      workspaceTemplateController(),\n', '      captGreetingController(),\n'],
]

const CHOICE: readonly Insertion[] = [
  [
    'src/engine/index.ts',
    "export { Tail } from './runner/process/tail.ts'\n",
    "export { createPlantedEngine } from './planted/planted-engine.ts'\n",
  ],
  ['src/app/engine.ts', '  createLocalEngine,\n', '  createPlantedEngine,\n'],
  [
    'src/app/engine.ts',
    "  if (engine === 'simulated') return createSimulatedEngine({ objects, clock, log })\n",
    "  if (engine === 'planted') return createPlantedEngine({ objects, clock, log })\n",
  ],
  ['src/cli/command.ts', "const ENGINES = ['terraform', ", "'planted', "],
]

const FIELD: readonly Insertion[] = [
  [
    'src/api/kinds/capt-cluster.ts',
    '  vpcConfig: s.object(\n    {\n',
    "      flowLogs: s.boolean({ about: 'Record the traffic of the VPC, as the variable flow_logs.' }),\n",
  ],
  [
    'src/api/terraform-fields.ts',
    'const CLUSTER: readonly TerraformField[] = [\n',
    "  { field: 'vpcConfig.flowLogs', variable: 'flow_logs', sent: 'value' },\n",
  ],
  ['templates/vpc/variables.tf', '', VARIABLE],
  ['templates/vpc/main.tf', '  tags = var.tags\n', '  enable_flow_log = var.flow_logs\n'],
  [
    'test/support/cluster/field-rows.ts',
    'export const CLUSTER_ROWS: readonly (readonly [string, unknown, string, unknown, Spec?])[] = [\n',
    "  ['vpcConfig.flowLogs', true, 'vpc/spec/values/flow_logs', true],\n",
  ],
]

describe('a planted command, a planted kind with its controller, a planted engine and a planted field', () => {
  let copy = ''
  const read = (path: string): string => readFileSync(join(copy, path), 'utf8')
  const node = (...args: string[]): string => execFileSync(process.execPath, args, { cwd: copy, encoding: 'utf8' })
  const nodeTest = (...args: string[]): string => {
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env
    const options = { cwd: copy, env, encoding: 'utf8' } as const
    return execFileSync(process.execPath, ['--test', '--test-reporter=tap', ...args], options)
  }

  before(() => {
    copy = mkdtempSync(join(tmpdir(), 'capt-extending-'))
    for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    writeFileSync(join(copy, 'src/cli/commands/clusters/greet.ts'), COMMAND)
    writeFileSync(join(copy, 'src/api/kinds/capt-greeting.ts'), KIND)
    mkdirSync(join(copy, 'src/controllers/greeting'))
    writeFileSync(join(copy, 'src/controllers/greeting/index.ts'), CONTROLLER)
    mkdirSync(join(copy, 'src/engine/planted'))
    writeFileSync(join(copy, 'src/engine/planted/planted-engine.ts'), ENGINE)
    writeFileSync(join(copy, 'src/engine/planted/planted-engine.test.ts'), ENGINE_TEST)
    for (const [file, anchor, planted] of [...REGISTRY, ...CHOICE, ...FIELD]) {
      const text = read(file)
      assert.ok(text.includes(anchor), file)
      writeFileSync(join(copy, file), anchor === '' ? text + planted : text.replace(anchor, anchor + planted))
    }
    node('scripts/generate.ts')
  })
  after(() => rmSync(copy, { recursive: true, force: true }))

  it('leave nothing stale after one run of the generator', () => {
    assert.match(node('scripts/generate.ts'), /files are up to date/)
  })

  it('the command runs, and is in the help and on the page of commands', () => {
    assert.equal(node('src/main.ts', 'greet', 'demo'), 'Hello demo\n')
    assert.match(node('src/main.ts', 'help'), /^ {2}greet +Greet somebody by name$/m)
    assert.match(node('src/main.ts', 'greet', '--help'), /^Usage: capt greet NAME$/m)
    assert.match(read('docs/commands.md'), /^## capt greet$/m)
  })

  it('the kind has a CRD with its columns, and a reference page', () => {
    const crd = read('config/crd/infrastructure.cluster.x-k8s.io_captgreetings.yaml')
    assert.match(crd, /jsonPath: \.spec\.text/)
    assert.match(read('config/crd/kustomization.yaml'), /_captgreetings\.yaml/)
    assert.ok(existsSync(join(copy, 'docs/kinds/captgreeting.md')), 'docs/kinds/captgreeting.md')
    assert.match(read('docs/kinds/README.md'), /CAPTGreeting/)
  })

  it('the manager and people have roles for the kind', () => {
    for (const file of ['rbac/cluster', 'infrastructure/cluster', 'overlays/namespaced'])
      assert.match(read(`config/${file}/manager-role.yaml`), /resources: \[captgreetings\/status\]/, file)
    assert.doesNotMatch(read('config/control-plane/cluster/manager-role.yaml'), /captgreetings/)
    assert.match(read('config/rbac/cluster/people-roles.yaml'), /name: captgreeting-editor-role/)
  })

  it('the manager runs the controller of the kind, and runs of the engine', () => {
    const printed = node('--input-type=module-typescript', '--eval', GREET)
    assert.match(printed, /^\{"isSent":true\} Starting terraform apply by planted/)
  })

  it('the engine keeps the promises of every engine, and is listed for --engine', () => {
    assert.match(
      nodeTest('src/engine/planted/planted-engine.test.ts'),
      /the planted engine keeps the engine's promises/,
    )
    assert.match(read('docs/commands.md'), /terraform\|planted\|tofu\|simulated/)
  })

  it('the field is in the CRD, on its page and in both templates, and every check of fields holds', () => {
    assert.match(read('config/crd/infrastructure.cluster.x-k8s.io_captclusters.yaml'), /flowLogs:/)
    assert.match(read('docs/kinds/captcluster.md'), /flowLogs/)
    for (const file of ['vpc', 'simulation-vpc']) assert.match(read(`templates/${file}.yaml`), /variable "flow_logs"/)
    const tests = ['test/stories/cluster/fields.test.ts', 'test/stories/files/templates.test.ts']
    const output = nodeTest('--test-name-pattern=/every field|declares every value|has the inputs of/', ...tests)
    assert.match(output, /CAPTCluster vpcConfig\.flowLogs shows in/)
    assert.match(output, /vpc: declares every value that its controller sends/)
  })

  it('the command line knows the kind by its short name', () => {
    const source = `
      import { findKind } from './src/cli/resources.ts'
      const server = { server: 'https://example.invalid', raw: async () => ({ status: 404, body: '' }) }
      console.log((await findKind('greeting', server)).plural)`
    assert.equal(node('--input-type=module-typescript', '--eval', source), 'captgreetings\n')
  })
})
