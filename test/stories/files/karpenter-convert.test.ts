// capt karpenter convert as a person runs it: files, folders and standard input in; YAML, findings and an exit code out.
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { command } from '../../../src/cli/commands/karpenter/convert.ts'
import { type Around, capt } from '../../support/karpenter-io.ts'

const data = join(import.meta.dirname, '../../../src/karpenter/convert/testdata')
const golden = (name: string) => readFileSync(join(data, `${name}.golden.yaml`), 'utf8')
const convert = (argv: readonly string[], around: Around = {}) => capt(command, argv, { cwd: data, ...around })

const PIN = ['--ami', 'al2023@v20261102']

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'capt-convert-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

describe('capt karpenter convert', () => {
  it('prints the converted objects of the module guide and says what changed', async () => {
    const { code, stdout, stderr } = await convert(['ops-provisioner.yaml', '--role', 'KarpenterNodeRole-demo', ...PIN])
    assert.deepEqual([code, stdout], [0, golden('ops-provisioner')])
    assert.equal(
      stderr,
      [
        'changed  Provisioner/ops-provisioner spec.provider.amiFamily: no amiFamily meant AL2, whose images ended on 2025-11-26 and do not exist for Kubernetes 1.33: written as al2023@v20261102  CAPT_CONVERT_AMI',
        'changed  Provisioner/ops-provisioner spec.provider.metadataOptions: the default hop limit went from 2 to 1  CAPT_CONVERT_METADATA',
        '         pods that read instance metadata need httpPutResponseHopLimit: 2',
        'changed  Provisioner/ops-provisioner spec.requirements: defaults that v1 no longer adds were written out: kubernetes.io/os In [linux]; kubernetes.io/arch In [amd64]  CAPT_CONVERT_DEFAULTS',
        'changed  Provisioner/ops-provisioner spec.ttlSecondsUntilExpired: expiry is forceful in v1: the node is drained when its time is up, without a replacement first  CAPT_CONVERT_EXPIRY',
        '         set terminationGracePeriod if pods need a bound',
        "note     Provisioner/ops-provisioner spec.provider.blockDeviceMappings[0].ebs.encrypted: is not set: mappings of one's own replace Karpenter's encrypted default  CAPT_CONVERT_STORAGE",
        '         add encrypted: true',
        'note     Provisioner/ops-provisioner spec.provider.tags.Name: keeps every instance under one name; without it each is named after its node  CAPT_CONVERT_TAGS',
        '',
      ].join('\n'),
    )
  })

  it('reads standard input and fills variables', async () => {
    const stdin = readFileSync(join(data, 'default-provisioner.yaml'), 'utf8')
    const { code, stdout } = await convert(['--role', 'KarpenterNodeRole-demo', '--set', 'CLUSTER_NAME=demo', ...PIN], {
      stdin,
    })
    assert.deepEqual([code, stdout], [0, golden('default-provisioner')])
  })

  it('exits with 3 when something is left for a person, and marks it', async () => {
    const { code, stdout, stderr } = await convert(['default-provisioner.yaml'])
    assert.equal(code, 3)
    assert.match(stdout, /role: CHANGE-ME-node-role/)
    assert.match(stdout, /karpenter.sh\/discovery: CHANGE-ME-CLUSTER_NAME/)
    assert.match(stderr, /^to do .*nothing was given for \$\{CLUSTER_NAME\}/m)
    assert.match(stdout, /alias: al2023@CHANGE-ME-version/)
    assert.match(stderr, /no version of AL2023 was chosen instead[^\n]*\n +give --ami, for example --ami al2023@v2/)
    assert.match(stderr, /4 of these need a person/)
  })

  it('reads folders, in a stable order, and leaves other projects out on request', async () => {
    const nested = join(folder, 'manifests/deep')
    mkdirSync(nested, { recursive: true })
    cpSync(join(data, 'ops-provisioner.yaml'), join(nested, 'b.yaml'))
    cpSync(join(data, 'default-provisioner.yaml'), join(folder, 'manifests/a.yml'))
    writeFileSync(join(folder, 'manifests/notes.txt'), 'not a manifest')
    writeFileSync(
      join(folder, 'manifests/c.json'),
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }),
    )
    const options = ['--role', 'r', '--set', 'CLUSTER_NAME=demo', ...PIN]
    const refused = await convert(['manifests', ...options], { cwd: folder })
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(
      refused.stderr,
      /v1 ConfigMap is not something capt converts.*\n.*--ignore-other\n[\s\S]*nothing was written\n$/,
    )
    const { code, stdout } = await convert(['manifests', '--ignore-other', ...options], { cwd: folder })
    const names = parseAllDocuments(stdout).map(
      (document) => `${document.get('kind')}/${document.getIn(['metadata', 'name'])}`,
    )
    assert.deepEqual(
      [code, names],
      [0, ['EC2NodeClass/default', 'EC2NodeClass/ops-provisioner', 'NodePool/default', 'NodePool/ops-provisioner']],
    )
  })

  it('gives objects and findings together as JSON', async () => {
    const { code, stdout } = await convert(['beta.yaml', '-o', 'json', ...PIN])
    const { objects, findings } = JSON.parse(stdout) as { objects: { kind: string }[]; findings: { level: string }[] }
    assert.deepEqual(
      [code, objects.map(({ kind }) => kind), new Set(findings.map(({ level }) => level))],
      [0, ['EC2NodeClass', 'NodePool'], new Set(['changed'])],
    )
  })

  it('migrates the values of an old chart', async () => {
    writeFileSync(
      join(folder, 'values.yaml'),
      'settings:\n  aws:\n    clusterName: demo\n    defaultInstanceProfile: p\n    tags: {team: a}\nreplicas: 2\n',
    )
    const { code, stdout, stderr } = await convert(['--values', 'values.yaml'], { cwd: folder })
    assert.deepEqual([code, parse(stdout)], [0, { replicas: 2, settings: { clusterName: 'demo' } }])
    assert.match(stderr, /settings.aws.clusterName: is settings.clusterName now/)
    cpSync(join(data, 'default-provisioner.yaml'), join(folder, 'pools.yaml'))
    const argv = ['pools.yaml', '--values', 'values.yaml', '--set', 'CLUSTER_NAME=demo', ...PIN]
    const both = await convert(argv, { cwd: folder })
    assert.equal(both.code, 0)
    assert.match(both.stdout, /instanceProfile: p/)
    assert.match(both.stdout, /team: a/)
  })

  for (const [what, argv, stdin, code, message] of [
    ['a file that does not exist', ['nowhere.yaml'], '', 1, /nowhere.yaml cannot be read.*CAPT_FILE_UNREADABLE/],
    [
      'YAML that is not a manifest',
      [],
      'hello: world',
      1,
      /has no apiVersion.*CAPT_MANIFEST_INVALID\n {2}at {3}standard input, document 1, line 1/,
    ],
    ['nothing at all', [], '', 1, /there is no manifest/],
    ['a --set without a value', ['--set', 'X'], '', 2, /--set X is not NAME=VALUE/],
    ['a role and a profile', ['--role', 'a', '--instance-profile', 'b'], '', 2, /exclude each other/],
    ['an output nobody knows', ['-o', 'wide'], '', 2, /--output cannot be "wide"/],
    ['an option nobody knows', ['--rol', 'x'], '', 2, /--rol/],
    [
      'a chart version that is none',
      ['--values', 'beta.yaml', '--karpenter-version', 'latest'],
      '',
      1,
      /is not a version/,
    ],
    [
      'a contradiction',
      [],
      'apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {}\n',
      1,
      /neither provider nor providerRef is set/,
    ],
  ] as const) {
    it(`refuses ${what} and writes nothing`, async () => {
      const printed = await convert(argv, { stdin })
      assert.deepEqual([printed.code, printed.stdout], [code, ''])
      assert.match(printed.stderr, message)
    })
  }
})
