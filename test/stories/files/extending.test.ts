// Adding a command or a kind is one file, a controller one folder and its entry in the registry, and a field that reaches
// Terraform five files: planted in a copy of the repository, each shows up everywhere after `make generate`.
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
import { type Command, EXIT } from '../command.ts'

export const command: Command = {
  name: 'greet',
  group: 'Clusters',
  summary: 'Greet somebody by name',
  positionals: 'NAME',
  examples: [{ run: 'greet demo', about: 'Greets demo' }],
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
  plural: 'captgreetings',
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

/** Starts the embedded home of the copy, and prints the status that the planted controller gives a planted object. */
const GREET = `
  import { CAPTGreeting } from './src/api/index.ts'
  import { startHome } from './src/app/index.ts'
  const options = { dataDir: 'home', host: '127.0.0.1', port: 0, engine: 'simulated', logLevel: 'error' }
  const home = await startHome({ ...options, logTo: process.stderr, env: {} })
  const { apiVersion, kind } = CAPTGreeting
  const key = { name: 'demo', namespace: 'default' }
  await home.objects.create(CAPTGreeting, { apiVersion, kind, metadata: key, spec: { text: 'Hello' } })
  let status
  for (let tries = 0; tries < 100 && status === undefined; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    status = (await home.objects.get(CAPTGreeting, key)).status
  }
  console.log(JSON.stringify(status))
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

const FIELD: readonly Insertion[] = [
  [
    'src/api/kinds/capt-cluster.ts',
    '  vpcConfig: s.object(\n    {\n',
    "      flowLogs: s.boolean({ about: 'Record the traffic of the VPC, as the variable flow_logs.' }),\n",
  ],
  [
    'src/controllers/cluster/variables.ts',
    '      values: {\n',
    '        ...(spec.vpcConfig?.flowLogs === undefined ? {} : { flow_logs: spec.vpcConfig.flowLogs }),\n',
  ],
  ['templates/vpc/main.tf', '', VARIABLE],
  ['templates/simulation-vpc/main.tf', '', VARIABLE],
  [
    'test/support/cluster/field-rows.ts',
    'export const CLUSTER_ROWS: readonly (readonly [string, unknown, string, unknown, Spec?])[] = [\n',
    "  ['vpcConfig.flowLogs', true, 'vpc/spec/values/flow_logs', true],\n",
  ],
]

describe('a planted command, a planted kind with its controller and a planted field', () => {
  let copy = ''
  const read = (path: string): string => readFileSync(join(copy, path), 'utf8')
  const node = (...args: string[]): string => execFileSync(process.execPath, args, { cwd: copy, encoding: 'utf8' })

  before(() => {
    copy = mkdtempSync(join(tmpdir(), 'capt-extending-'))
    for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    writeFileSync(join(copy, 'src/cli/commands/greet.ts'), COMMAND)
    writeFileSync(join(copy, 'src/api/kinds/capt-greeting.ts'), KIND)
    mkdirSync(join(copy, 'src/controllers/greeting'))
    writeFileSync(join(copy, 'src/controllers/greeting/index.ts'), CONTROLLER)
    for (const [file, anchor, planted] of [...REGISTRY, ...FIELD]) {
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

  it('the manager runs the controller of the kind', () => {
    assert.equal(node('--input-type=module-typescript', '--eval', GREET), '{"isSent":true}\n')
  })

  it('the field is in the CRD, on its page and in both templates, and every check of fields holds', () => {
    assert.match(read('config/crd/infrastructure.cluster.x-k8s.io_captclusters.yaml'), /flowLogs:/)
    assert.match(read('docs/kinds/captcluster.md'), /flowLogs/)
    for (const file of ['vpc', 'simulation-vpc']) assert.match(read(`templates/${file}.yaml`), /variable "flow_logs"/)
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env
    const tests = ['test/stories/cluster/fields.test.ts', 'test/stories/files/templates.test.ts']
    const names = ['--test-name-pattern=/every field|declares every value|has the inputs of/', '--test-reporter=tap']
    const output = execFileSync(process.execPath, ['--test', ...names, ...tests], { cwd: copy, env, encoding: 'utf8' })
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
