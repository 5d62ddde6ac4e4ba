// Small promises of the parts around a run: who is alive, who is next, what is frozen, what is hidden, what is shared.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { allowsNamespace, type Secret, SecretKind } from '#api'
import { manualClock, memoryCluster } from '#testing'
import { identityOf, isGroupAlive, livenessOf, ownIdentity } from '../lock/processes.ts'
import { readCredentials } from '../runner/inputs/credentials.ts'
import { folderOf } from '../runner/inputs/folder.ts'
import { cliConfigFile, hasPackages, packagesFolder, sharePackages } from '../runner/inputs/providers.ts'
import { backendFile, backendSecrets, sortArguments } from '../runner/process/arguments.ts'
import { terraformEnvironment } from '../runner/process/environment.ts'
import { RunLog } from '../runner/process/run-log.ts'
import { Tail } from '../runner/process/tail.ts'
import { type Outputs, publicOutputs } from '../runner/record/outputs.ts'
import { StateUploader } from '../runner/state/state-uploader.ts'
import { createRedactor, stringsInVarFile } from '../secrets.ts'
import { findTerraform } from '../tool/find-terraform.ts'
import type { Workspace } from '../workspace.ts'
import { bundleRef, loadBundle, MAX_BUNDLE_BYTES, packBundle, restoreFiles, saveBundle } from './bundle.ts'

const root = mkdtempSync(join(tmpdir(), 'capt-keeping-'))
after(() => rmSync(root, { recursive: true, force: true }))
const folder = (name: string) => {
  const path = join(root, name)
  mkdirSync(path, { recursive: true })
  return path
}
const owner = { namespace: 'default', name: 'demo', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const workspace = { name: 'demo', hash: 'h', env: {}, credentials: [], secretEnv: [] } as unknown as Workspace

describe('a process', () => {
  it('is known by pid and start time, and dead when either is another', async () => {
    assert.equal(livenessOf(ownIdentity()), 'alive')
    assert.equal(livenessOf({ ...ownIdentity(), start: '0' }), 'dead')
    assert.equal(livenessOf({ ...ownIdentity(), boot: 'earlier' }), 'dead')
    assert.equal(livenessOf({ ...ownIdentity(), host: 'other' }), 'unknown')
    assert.equal(livenessOf({ ...ownIdentity(), space: 'pid:[1]' }), 'unknown')
  })

  it('leaves a group that is alive as long as one of its members is', async () => {
    const child = spawn('sh', ['-c', 'sleep 5 & echo $!; exec sleep 0.1'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const leader = identityOf(child.pid!)!
    const member = await new Promise<number>((resolve) =>
      child.stdout.once('data', (data: Buffer) => resolve(Number(data))),
    )
    await new Promise((resolve) => child.once('exit', resolve))
    try {
      assert.equal(livenessOf(leader), 'dead')
      assert.ok(isGroupAlive(leader))
    } finally {
      process.kill(member, 'SIGKILL')
    }
    for (let i = 0; i < 100 && isGroupAlive(leader); i++) await new Promise((resolve) => setTimeout(resolve, 20))
    assert.ok(!isGroupAlive(leader))
  })
})

describe('frozen inputs', () => {
  it('come back with modules and lock file, without state, providers and credentials', async () => {
    const work = folder('work')
    const files: Record<string, string> = {
      'main.tf': 'a',
      '.terraform.lock.hcl': 'lock',
      '.terraform/modules/m/main.tf': 'm',
      '.terraform/providers/x/y': 'big',
      'terraform.tfstate': 'secret',
      '.git/HEAD': 'x',
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(work, path, '..'), { recursive: true })
      writeFileSync(join(work, path), text)
    }
    const { objects } = memoryCluster()
    const packed = packBundle(work, workspace, 'terraform 1.11.4')
    const ref = bundleRef(packed, 'h', 'terraform 1.11.4')
    await saveBundle(objects, owner, packed, ref)
    const bundle = await loadBundle(objects, owner, ref)
    const again = folder('again')
    await restoreFiles(again, bundle)
    assert.deepEqual(
      bundle.files.map(({ path }) => path),
      ['.terraform/modules/m/main.tf', '.terraform.lock.hcl', 'main.tf'],
    )
    assert.equal(readFileSync(join(again, '.terraform/modules/m/main.tf'), 'utf8'), 'm')
    assert.equal(bundleRef(packed, 'h', '').id, ref.id, 'the same inputs are frozen once')
  })

  it('have a limit that is reported', () => {
    const work = folder('large')
    writeFileSync(join(work, 'blob.bin'), Buffer.alloc(MAX_BUNDLE_BYTES * 17))
    assert.throws(() => packBundle(work, workspace, ''), { code: 'CAPT_BUNDLE_TOO_LARGE' })
  })
})

describe('secrets', () => {
  it('are masked in every form they take', () => {
    const redact = createRedactor(['pa"ss\nword', 'abc'])
    assert.equal(redact('x pa"ss y'), 'x …redacted… y')
    assert.equal(redact('{"a":"pa\\"ss"}'), '{"a":"…redacted…"}')
    assert.equal(redact('abc stays: it is too short to be a secret'), 'abc stays: it is too short to be a secret')
    assert.deepEqual(stringsInVarFile('a = "one"\nb = ["t\\"wo"]'), ['one', 't"wo'])
    assert.deepEqual(stringsInVarFile('{"a":{"b":["deep"]}}'), ['deep'])
  })

  it('reach Terraform by environment and files, and those used are held', async () => {
    const { objects, peek } = memoryCluster()
    const encode = (text: string) => Buffer.from(text).toString('base64')
    const data = {
      AWS_ACCESS_KEY_ID: encode('AK'),
      credentials: encode('[default]'),
    }
    await objects.create<Secret>(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'aws' },
      data,
    })
    const place = folderOf(folder('cred'))
    const needs = { credentials: [{ namespace: 'default', name: 'aws' }], secretEnv: [] }
    const found = await readCredentials(objects, 'default', needs, place)
    assert.equal(found.env['AWS_ACCESS_KEY_ID'], 'AK')
    assert.equal(readFileSync(found.env['AWS_SHARED_CREDENTIALS_FILE']!, 'utf8'), '[default]')
    assert.equal(lstatSync(found.env['AWS_SHARED_CREDENTIALS_FILE']!).mode & 0o777, 0o600)
    assert.equal(found.env['AWS_CONFIG_FILE'], '/dev/null', 'no profile of the manager is found')
    const held = () => peek<Secret>(SecretKind, { namespace: 'default', name: 'aws' })!.metadata
    assert.equal(held().finalizers?.length, 1)
    assert.equal(held().labels, undefined, 'nobody moves what belongs to no Cluster')
    await readCredentials(objects, 'default', needs, place, true)
    assert.deepEqual(held().labels, { 'clusterctl.cluster.x-k8s.io/move': '' })
    assert.equal(held().finalizers?.length, 1)
    await assert.rejects(
      readCredentials(
        objects,
        'default',
        { credentials: [{ namespace: 'default', name: 'none' }], secretEnv: [] },
        place,
      ),
      {
        code: 'CAPT_CREDENTIALS_MISSING',
      },
    )
    await assert.rejects(readCredentials(objects, 'other', needs, place), { code: 'CAPT_REFERENCE_FORBIDDEN' })
  })

  it('of another namespace need its consent', () => {
    const secret = (annotation?: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 's',
        namespace: 'a',
        ...(annotation ? { annotations: { 'capt.appthrust.com/allow-namespaces': annotation } } : {}),
      },
    })
    assert.ok(allowsNamespace(secret(), 'a'))
    assert.ok(!allowsNamespace(secret(), 'b'))
    assert.ok(allowsNamespace(secret('c, b'), 'b'))
    assert.ok(allowsNamespace(secret('*'), 'b'))
  })
})

describe('the environment of Terraform', () => {
  const parts = {
    workspace: { ...workspace, env: { A: '1' } },
    cliConfig: undefined,
    workspaceId: 'id-1',
    freeBytes: 1024 ** 3,
  }

  it('tags what it makes, asks nothing, and keeps our own secrets out', () => {
    const env = terraformEnvironment({
      ...parts,
      own: { PATH: '/bin', AWS_PROFILE: 'p', TOKEN_OF_OURS: 'x' },
      credentials: {},
    })
    assert.equal(env['TF_AWS_DEFAULT_TAGS_capt-workspace'], 'id-1')
    assert.equal(env['TF_INPUT'], '0')
    assert.equal(env['A'], '1')
    assert.equal(env['AWS_PROFILE'], 'p')
    assert.equal(env['TOKEN_OF_OURS'], undefined)
    const moved = { ...parts.workspace, env: { TF_WORKSPACE: 'x', TF_DATA_DIR: '/x', TF_CLI_ARGS_plan: '-state=x' } }
    const names = Object.keys(terraformEnvironment({ ...parts, workspace: moved, own: {}, credentials: {} }))
    assert.ok(!names.some((name) => /WORKSPACE$|DATA_DIR|CLI_ARGS/.test(name)), 'state stays where it is looked for')
  })

  it('tags nothing where resources were imported without a tag: the first plan would change all of them', () => {
    const env = terraformEnvironment({ ...parts, workspaceId: undefined, own: {}, credentials: {} })
    assert.ok(!Object.keys(env).some((name) => name.startsWith('TF_AWS_DEFAULT_TAGS_')))
  })

  it('does not mix credentials of the run with ours', () => {
    const env = terraformEnvironment({
      ...parts,
      own: { AWS_SESSION_TOKEN: 'ours' },
      credentials: { AWS_ACCESS_KEY_ID: 'theirs' },
    })
    assert.equal(env['AWS_SESSION_TOKEN'], undefined)
  })

  it('spends memory on speed where there is plenty, unless somebody decided otherwise', () => {
    const gogc = (freeBytes: number, own = {}, env = {}) =>
      terraformEnvironment({ ...parts, freeBytes, own, credentials: {}, workspace: { ...workspace, env } })['GOGC']
    const plenty = 8 * 1024 ** 3
    assert.equal(gogc(1024 ** 3), undefined)
    assert.equal(gogc(plenty), '200')
    assert.equal(gogc(plenty, { GOGC: '50' }), '50')
    assert.equal(gogc(plenty, { GOGC: '50' }, { GOGC: '75' }), '75')
  })

  it('takes values of -var out of argv, and puts what decides the plan to plan', () => {
    assert.deepEqual(
      sortArguments({
        init: ['-upgrade', '-backend-config=secret_key=s=1', '--backend-config', 'bucket=b', '-backend-config=x.hcl'],
        plan: ['-var', 'a=b=c', '-parallelism=3'],
        apply: ['-target=x', '-auto-approve', '-lock-timeout=5s', '-var=d=e'],
        destroy: ['-force', '-var', 'other=s', '--var=more=t', '-refresh=false'],
      }),
      {
        init: ['-upgrade', '-backend-config=x.hcl'],
        plan: ['-parallelism=3', '-target=x'],
        apply: ['-lock-timeout=5s'],
        destroy: ['-refresh=false'],
        variables: { a: 'b=c', d: 'e' },
        destroyVariables: { other: 's', more: 't' },
        initVariables: {},
        backend: { secret_key: 's=1', bucket: 'b' },
      },
    )
    assert.equal(backendFile({ a: 'x"${y}' }), 'a = "x\\"\\u0024{y}"\n')
    assert.deepEqual(backendSecrets({ secret_key: 's', bucket: 'b' }), ['s'])
  })
})

describe('provider packages', () => {
  it('are moved whole to where others find them, and stay reachable', () => {
    const shared = folder('shared')
    const module = folder('module')
    const path = 'registry.terraform.io/hashicorp/null/3.2.0/linux_amd64'
    mkdirSync(join(module, '.terraform/providers', path), { recursive: true })
    writeFileSync(join(module, '.terraform/providers', path, 'plugin'), 'binary')
    assert.deepEqual(sharePackages(module, shared), [path])
    assert.ok(lstatSync(join(module, '.terraform/providers', path)).isSymbolicLink())
    assert.equal(readFileSync(join(module, '.terraform/providers', path, 'plugin'), 'utf8'), 'binary')
    assert.deepEqual(sharePackages(module, shared), [], 'a second time nothing is left to do')
  })

  it('that were cleared away, or whose link was never made, are missed: the init is done again', () => {
    const [shared, module] = [folder('cleared'), folder('needy')]
    const path = 'registry.terraform.io/hashicorp/null/3.2.0/linux_amd64'
    const own = join(module, '.terraform/providers', path)
    assert.ok(hasPackages(module), 'a module without providers misses none')
    mkdirSync(own, { recursive: true })
    sharePackages(module, shared)
    assert.ok(hasPackages(module))
    rmSync(join(packagesFolder(shared), path), { recursive: true })
    assert.ok(!hasPackages(module), 'the link leads nowhere')
    rmSync(own)
    assert.ok(!hasPackages(module), 'there is not even a link')
  })

  it("leave a person's own settings alone, and a mirror alone is asked when there is one", () => {
    const shared = folder('config')
    const own = join(shared, 'own.tfrc')
    writeFileSync(own, '')
    assert.equal(cliConfigFile(shared, undefined, { TF_CLI_CONFIG_FILE: own }), undefined)
    const ours = cliConfigFile(shared, undefined, { HOME: shared })!
    assert.match(readFileSync(ours, 'utf8'), /filesystem_mirror[\s\S]*direct/)
    const air = cliConfigFile(shared, '/mirror', { HOME: shared })!
    assert.doesNotMatch(readFileSync(air, 'utf8'), /direct/)
    const [first, second] = [...readFileSync(air, 'utf8').matchAll(/path = "(.*)"/g)].map((match) => match[1])
    assert.deepEqual([first, second], [packagesFolder(shared), '/mirror'], 'what is unpacked already comes first')
  })
})

describe('what a run says', () => {
  it('is read line by line, however it arrives', () => {
    const path = join(folder('tail'), 'x')
    writeFileSync(path, 'one\ntw')
    const tail = new Tail(path)
    const lines: string[] = []
    tail.read((line) => lines.push(line))
    writeFileSync(path, 'o\nlast', { flag: 'a' })
    tail.read((line) => lines.push(line), true)
    assert.deepEqual(lines, ['one', 'two', 'last'])
    new Tail(path, 'end').read(() => assert.fail('nothing is new'))
  })

  it('keeps its beginning and its end when there is too much', () => {
    const log = new RunLog(join(folder('log'), 'x.log'), manualClock(), (text) => text)
    for (let i = 0; i < 30_000; i++) log.add(`line ${i} ${'x'.repeat(80)}`)
    const text = log.finish()
    assert.match(text, /line 0 /)
    assert.match(text, /line 29999 /)
    assert.match(text, /lines were left out/)
    assert.ok(text.length < 2 * 1024 * 1024)
  })

  it('shows small outputs and leaves out large and sensitive ones', () => {
    const open = (value: string) => ({ value, sensitive: false })
    const shown = publicOutputs({
      b: open('2'),
      a: open('1'),
      large: open('x'.repeat(5000)),
      hush: { value: 's', sensitive: true },
    })
    assert.deepEqual(shown, { outputs: { a: '1', b: '2' }, omitted: ['large'] })
  })

  it('shows outputs of any name', () => {
    const outputs = JSON.parse('{"__proto__":{"value":"p"},"constructor":{"value":"c"}}') as Outputs
    assert.equal(JSON.stringify(publicOutputs(outputs).outputs), '{"__proto__":"p","constructor":"c"}')
  })
})

describe('a changing state file', () => {
  const state = (serial: number) => JSON.stringify({ version: 4, serial, lineage: 'l', resources: [], outputs: {} })

  it('is saved at every change, newest first, and never when it is cut', async () => {
    const work = folder('uploader')
    const file = join(work, 'terraform.tfstate')
    const saved: string[] = []
    let release = () => {}
    const uploader = new StateUploader({
      root: work,
      copy: join(work, 'copy.json'),
      clock: manualClock(),
      log: { debug() {}, info() {}, warn() {}, error() {}, with: () => assert.fail() },
      async save(text) {
        saved.push(text)
        await new Promise<void>((resolve) => {
          release = resolve
        })
      },
    })
    for (const text of [state(1), '', state(2).slice(0, -3), state(2), state(3)]) {
      writeFileSync(file, text)
      uploader.check()
    }
    assert.deepEqual(saved, [state(1)], 'one write at a time')
    assert.equal(readFileSync(join(work, 'copy.json'), 'utf8'), state(3), 'a whole copy lies beside it')
    const flushed = uploader.flush()
    for (let i = 0; i < 5; i++) {
      release()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await flushed
    assert.deepEqual(saved, [state(1), state(3)], 'between two writes only the newest counts')
    assert.equal(uploader.saved?.serial, 3)
  })
})

describe('the program', () => {
  it('that is missing, too old or broken is named with what to do', async () => {
    const bin = folder('bin')
    const program = (name: string, text: string) =>
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    program('old', `echo '{"terraform_version":"1.5.7"}'`)
    program('odd', 'echo hello')
    await assert.rejects(findTerraform({ env: { PATH: folder('empty') } }), { code: 'CAPT_TERRAFORM_MISSING' })
    await assert.rejects(findTerraform({ binary: join(bin, 'old') }), { code: 'CAPT_TERRAFORM_TOO_OLD' })
    await assert.rejects(findTerraform({ binary: join(bin, 'odd') }), { code: 'CAPT_TERRAFORM_UNUSABLE' })
    program('tofu', `echo '{"terraform_version":"1.8.2"}'`)
    assert.deepEqual(await findTerraform({ env: { PATH: bin } }), {
      name: 'tofu',
      binary: join(bin, 'tofu'),
      version: '1.8.2',
    })
    assert.ok(existsSync(bin))
  })
})
