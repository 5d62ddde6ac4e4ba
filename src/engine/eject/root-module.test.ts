import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { anApply, aTemplate } from '#testing'
import { renderWorkspace } from '../render/render.ts'
import { readState } from '../state/state-file.ts'
import type { Workspace } from '../workspace.ts'
import type { HeldWorkspace } from './read-workspace.ts'
import { toRootModule } from './root-module.ts'
import { environmentScript } from './shell.ts'

const key = { namespace: 'default', name: 'demo-vpc' }
const stateText = JSON.stringify({
  version: 4,
  serial: 7,
  lineage: 'l',
  resources: [],
  outputs: { kubeconfig: { value: 'x', sensitive: true } },
})
const AWS_LOCK = 'provider "registry.terraform.io/hashicorp/aws" {\n}\n'

function held(
  files: Readonly<Record<string, string>>,
  change: Partial<Workspace> = {},
  more: Partial<HeldWorkspace> = {},
): HeldWorkspace {
  const rendered = renderWorkspace(aTemplate('', {}), anApply({}, { name: key.name }))
  assert.ok(rendered.ok)
  const workspace = { ...rendered.workspace, ...change }
  const frozen = Object.entries(files).map(([path, text]) => ({
    path,
    mode: 0o644,
    data: Buffer.from(text).toString('base64'),
  }))
  return {
    key,
    workspaceId: 'id-1',
    bundle: { workspace, tool: 'terraform 1.11.4', files: frozen },
    state: { ...readState(stateText)!, text: stateText },
    backend: undefined,
    lastRun: { id: 'r', phase: 'Succeeded' },
    isApplied: true,
    suspects: [],
    ...more,
  }
}

const filesOf = (...given: Parameters<typeof toRootModule>) =>
  Object.fromEntries(toRootModule(...given).files.map(({ path, data }) => [path, Buffer.from(data).toString('utf8')]))
const remote = (entrypoint: string) => ({ source: { kind: 'remote', address: 'x', entrypoint } }) as const

describe('a root module', () => {
  it('has the files of the run, the state and a page, readable by their owner alone', () => {
    const module = toRootModule(held({ 'main.tf': 'x', 'bin/tool': '#!' }), 'local')
    assert.deepEqual(
      module.files.map(({ path }) => path),
      ['main.tf', 'bin/tool', 'terraform.tfstate', 'README.md'],
    )
    assert.ok(module.files.every(({ mode }) => (mode & 0o077) === 0))
    assert.deepEqual(module.notes, [])
    assert.match(filesOf(held({}), 'local')['README.md']!, /terraform init\nterraform plan\n.*outputs kubeconfig/s)
  })

  it('of a module from elsewhere is where its entrypoint is', () => {
    const module = toRootModule(held({ 'live/main.tf': 'x', 'shared/main.tf': 'y' }, remote('live/')), 'local')
    assert.equal(module.root, 'live')
    const paths = ['live/main.tf', 'shared/main.tf', 'live/terraform.tfstate', 'live/README.md']
    assert.deepEqual(
      module.files.map(({ path }) => path),
      paths,
    )
    assert.throws(() => toRootModule(held({}, remote('../up')), 'local'), /CAPT_EJECT_REFUSED|outside/)
  })

  it('never leaves its folder, and keeps the page of the module', () => {
    const files = filesOf(held({ '../evil.tf': 'x', '/etc/evil': 'x', 'README.md': 'theirs' }), 'local')
    assert.deepEqual(Object.keys(files).sort(), ['README-capt.md', 'README.md', 'terraform.tfstate'])
    assert.equal(files['README.md'], 'theirs')
  })

  it('names the Secrets that hold the state, also where the template names the local backend', () => {
    const block = (files: Readonly<Record<string, string>>, name: string) =>
      JSON.parse(filesOf(held(files), 'kubernetes')[name]!) as unknown
    const kubernetes = { namespace: 'default', secret_suffix: 'demo-vpc-kqwsxjgf' }
    assert.deepEqual(block({}, 'capt_backend.tf.json'), { terraform: { backend: { kubernetes } } })
    const name = 'capt_backend_override.tf.json'
    assert.deepEqual(block({ [name]: '{}' }, name), { terraform: { backend: { kubernetes } } })
    assert.equal(filesOf(held({}), 'kubernetes')['terraform.tfstate'], undefined)
  })

  it('keeps the backend that the template names, with the settings of its runs', () => {
    const args = {
      init: ['-upgrade', '-backend-config=bucket=b'],
      plan: ['-lock=false'],
      apply: [],
      destroy: ['-refresh=false'],
    }
    const own = held({ 'main.tf': 'terraform {\n  backend "s3" {}\n}' }, { args }, { backend: 's3', state: undefined })
    const files = filesOf(own, 'local')
    assert.deepEqual(Object.keys(files), ['main.tf', 'capt.tfbackend', 'README.md'])
    assert.equal(files['capt.tfbackend'], 'bucket = "b"\n')
    assert.match(
      files['README.md']!,
      /^terraform init -upgrade -backend-config=capt\.tfbackend\nterraform plan -lock=false$/m,
    )
    assert.match(files['README.md']!, /^terraform plan -destroy -refresh=false/m)
    assert.match(toRootModule(own, 'local').notes.join(), /backend "s3"/)
  })

  it('comes with the tags that runs give to AWS resources, and with what else was in their environment', () => {
    const env = { AWS_REGION: 'eu-west-1', TF_DATA_DIR: '/elsewhere' }
    const files = filesOf(held({ '.terraform.lock.hcl': AWS_LOCK }, { env }), 'local')
    const printed = execFileSync('/bin/sh', ['-s', 'env'], { input: files['with-environment.sh']!, env: {} }).toString()
    assert.deepEqual(
      printed
        .split('\n')
        .filter((line) => /^(AWS|TF)_/.test(line))
        .sort(),
      [
        'AWS_REGION=eu-west-1',
        'TF_AWS_DEFAULT_TAGS_capt-workspace-name=demo-vpc',
        'TF_AWS_DEFAULT_TAGS_capt-workspace=id-1',
      ],
    )
    assert.match(files['README.md']!, /^\.\/with-environment\.sh terraform plan$/m)
  })

  it('says where credentials are, and has none', () => {
    const ref = { kind: 'Secret', namespace: 'default', name: 'datadog', key: 'token' } as const
    const needs = { credentials: [{ namespace: 'default', name: 'aws' }], secretEnv: [{ name: 'DD_API_KEY', ref }] }
    const readme = filesOf(held({}, needs), 'local')['README.md']!
    assert.match(readme, /Secret default\/aws; DD_API_KEY: key token of Secret default\/datadog/)
  })

  it('notes resources that may exist beside the state', () => {
    const suspects = [{ address: 'a.b', action: 'create', run: 'r' }]
    assert.match(toRootModule(held({}, {}, { suspects }), 'local').notes.join(), /capt doctor demo-vpc/)
  })

  const ends: readonly { phase: string; untouched?: true; isApplied: boolean; note: RegExp | undefined }[] = [
    { phase: 'Succeeded', isApplied: true, note: undefined },
    { phase: 'Failed', isApplied: true, note: /ended as Failed; expect a plan/ },
    { phase: 'Cancelled', untouched: true, isApplied: true, note: undefined },
    { phase: 'Cancelled', isApplied: true, note: /ended as Cancelled/ },
    { phase: 'Planned', isApplied: true, note: /a plan waits for approval/ },
    { phase: 'Planned', isApplied: false, note: /ended as Planned; expect a plan/ },
  ]
  for (const { note, isApplied, ...lastRun } of ends)
    it(`${note ? 'notes' : 'is silent about'} a last run that is ${JSON.stringify({ ...lastRun, isApplied })}`, () => {
      const { notes } = toRootModule(held({}, {}, { lastRun: { id: 'r', ...lastRun }, isApplied }), 'local')
      assert.equal(notes.length, note ? 1 : 0)
      if (note) assert.match(notes[0]!, note)
    })
})

describe('the script with the environment', () => {
  it('passes every value on as it is', () => {
    const value = `it's $HOME "x" \`id\` \\ \n end`
    const input = environmentScript({ 'A-b': value })
    const out = execFileSync('/bin/sh', ['-s', process.execPath, '-p', 'process.env["A-b"]'], { input }).toString()
    assert.equal(out, `${value}\n`)
  })
})
