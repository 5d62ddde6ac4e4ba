// Packs the built program as one archive that npm installs and tar unpacks, and adds its checksum to SHA256SUMS beside it.
// It needs Node 24 and nothing else: everything the program imports is bundled.
//   [VERSION=1.2.3] [DIST=folder] node scripts/package.ts [--dry-run]      (after make build; or DRY_RUN=1: writes nothing)
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { sha256 } from '#lib'
import { checkVersion } from './release/versions.ts'

const root = join(import.meta.dirname, '..')
const { VERSION, DIST, DRY_RUN } = process.env
const isDry = process.argv.includes('--dry-run') || Boolean(DRY_RUN)
const target = join(DIST ? resolve(DIST) : join(root, 'dist'), 'installer')

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly engines: object
  readonly bin: object
}

/** What is in the archive: the program, and the files that people apply by hand. */
const CONTENTS = ['bin/capt', 'dist/program', 'templates', 'examples', 'config/iam', 'LICENSE', 'THIRD-PARTY.md']

const source = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

function pack(version: string): string {
  if (!existsSync(join(root, 'dist/program/capt.mjs'))) throw new Error('capt is not built yet; run make build')
  const { name, description, license, engines, bin } = source
  const folder = mkdtempSync(join(tmpdir(), 'capt-package-'))
  try {
    for (const path of CONTENTS) cpSync(join(root, path), join(folder, path), { recursive: true })
    const manifest = {
      name,
      version,
      private: true,
      description,
      license,
      type: 'module',
      engines,
      bin,
      files: CONTENTS,
    }
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    mkdirSync(target, { recursive: true })
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', target]
    const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`npm pack failed: ${stderr || 'npm is not on the PATH'}`)
    return stdout.trim().split('\n').at(-1)!
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Archives of other versions stay in neither the folder nor the list. */
function listChecksum(archive: string): void {
  for (const name of readdirSync(target))
    if (/^capt-.*\.tgz$/.test(name) && name !== archive) rmSync(join(target, name))
  const path = join(target, 'SHA256SUMS')
  const others = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const kept = others.filter((line) => line !== '' && !/ {2}capt-\S+\.tgz$/.test(line))
  const line = `${sha256(readFileSync(join(target, archive)))}  ${archive}`
  writeFileSync(path, `${[...kept, line].join('\n')}\n`)
}

try {
  const version = checkVersion(VERSION || source.version)
  const archive = isDry ? `${source.name}-${version}.tgz` : pack(version)
  if (!isDry) listChecksum(archive)
  const where = join(relative(process.cwd(), target) || '.', archive)
  console.log(`${isDry ? 'would write' : 'Wrote'} ${where}, and its checksum to SHA256SUMS`)
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
