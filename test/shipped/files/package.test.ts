// The program as make package packs it, on a machine that has Node 24 and nothing else of capt: installed by npm, unpacked
// by tar, and refused by an older Node.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { sha256 } from '#lib'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const ARCHIVE = `capt-${version}.tgz`

describe('The packed program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-packed-'))
  const installer = join(folder, 'dist', 'installer')
  const env = {
    HOME: folder,
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    npm_config_cache: join(folder, 'npm-cache'),
  }
  const { VERSION: _version, ...ambient } = process.env
  const pack = () =>
    execFileSync(process.execPath, [join(ROOT, 'scripts/package.ts')], {
      cwd: folder,
      env: { ...ambient, DIST: join(folder, 'dist') },
      encoding: 'utf8',
    })

  before(() => {
    mkdirSync(installer, { recursive: true })
    const old = ['aaaa  install.yaml', 'bbbb  capt-0.0.1.tgz', ''].join('\n')
    writeFileSync(join(installer, 'SHA256SUMS'), old)
    writeFileSync(join(installer, 'capt-0.0.1.tgz'), 'old')
    pack()
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('has its checksum beside those of the other assets, and no archive of another version', () => {
    const sum = sha256(readFileSync(join(installer, ARCHIVE)))
    assert.equal(readFileSync(join(installer, 'SHA256SUMS'), 'utf8'), `aaaa  install.yaml\n${sum}  ${ARCHIVE}\n`)
  })

  it('is the same archive when it is packed again', () => {
    const first = sha256(readFileSync(join(installer, ARCHIVE)))
    pack()
    assert.equal(sha256(readFileSync(join(installer, ARCHIVE))), first)
  })

  it('is installed by npm without fetching anything', () => {
    const prefix = join(folder, 'prefix')
    const args = ['install', '--global', '--offline', '--no-audit', '--no-fund', '--prefix', prefix]
    execFileSync('npm', [...args, join(installer, ARCHIVE)], { env, cwd: folder, stdio: 'pipe' })
    const printed = execFileSync(join(prefix, 'bin', 'capt'), ['version'], { env, cwd: folder, encoding: 'utf8' })
    assert.match(printed, new RegExp(`\\b${version.replaceAll('.', '\\.')}\\b`))
  })

  it('is unpacked by tar, linked onto the PATH, and brings templates and policies along', () => {
    const opt = join(folder, 'opt')
    const bin = join(folder, 'bin')
    for (const path of [opt, bin]) mkdirSync(path)
    execFileSync('tar', ['-xzf', join(installer, ARCHIVE), '-C', opt, '--strip-components', '1'])
    symlinkSync('../opt/bin/capt', join(bin, 'capt'))
    const within = { env: { ...env, PATH: [bin, env.PATH].join(delimiter) }, cwd: folder, encoding: 'utf8' } as const
    assert.match(execFileSync('capt', ['version'], within), /capt/)
    const policy = JSON.parse(readFileSync(join(opt, 'config/iam/cluster.json'), 'utf8')) as { Version: string }
    assert.equal(policy.Version, '2012-10-17')
    assert.match(readFileSync(join(opt, 'templates/vpc.yaml'), 'utf8'), /kind: WorkspaceTemplate/)
  })

  it('says that an older Node is too old', () => {
    const tools = join(folder, 'older')
    mkdirSync(tools)
    writeFileSync(join(tools, 'node'), '#!/bin/sh\necho v20.11.0\n')
    chmodSync(join(tools, 'node'), 0o755)
    const { status, stderr } = spawnSync(join(folder, 'opt', 'bin', 'capt'), ['version'], {
      env: { PATH: `${tools}:/usr/bin:/bin` },
      encoding: 'utf8',
    })
    assert.equal(status, 1)
    assert.match(stderr, /capt needs Node 24 or newer/)
  })
})
