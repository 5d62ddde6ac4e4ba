// Provider packages with a real provider, built from the Go module proxy: runs that begin together share one package and
// none breaks it, a machine without a registry needs the mirror alone, and an init that is killed leaves nothing broken.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { defaultLimits, folderOf, readRecord, stateName, suffixOf } from '#engine'
import { sha256 } from '#lib'
import { anApply, aTemplate } from '#testing'
import { type EngineWorld, engineWorld, isReady } from '../../support/engine/world.ts'
import { zip } from '../../support/engine/zip.ts'
import { prove } from '../support/proofs.ts'

const VERSION = '0.14.2'
const cache =
  process.env['CAPT_REAL_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'capt-real')
const unpacked = join(cache, `provider-time-v${VERSION}`, 'mirror')
const TYPE = 'registry.terraform.io/hashicorp/time'
const MODULE = `
terraform {
  required_providers {
    time = { source = "hashicorp/time", version = "${VERSION}" }
  }
}
resource "time_static" "now" {}
resource "time_sleep" "a" {
  create_duration = "100ms"
}
output "year" { value = time_static.now.year }
`

describe('a real provider', () => {
  let world: EngineWorld
  let packed: string

  before(async () => {
    const built = spawnSync(join(import.meta.dirname, '../build-provider.sh'), ['provider'], { stdio: 'inherit' })
    assert.equal(built.status, 0, 'the provider must be built')
    world = await engineWorld()
    packed = packMirror(join(world.folder, 'mirror'))
  })
  after(() => world?.close())

  const key = (name: string) => ({ namespace: 'default', name })
  const shared = (workDir: string) => join(workDir, 'providers', TYPE)
  const packageOf = (workDir: string, name: string) => {
    const version = join(
      folderOf(join(workDir, 'workspaces', suffixOf(key(name)))).work,
      '.terraform',
      'providers',
      TYPE,
      VERSION,
    )
    return join(version, readdirSync(version)[0]!)
  }
  const create = async (name: string) => {
    await world.create(WorkspaceTemplate, aTemplate(MODULE, {}, { name }))
    await world.create(WorkspaceTemplateApply, anApply({ templateRef: { name } }, { name }))
  }
  const remove = async (...names: readonly string[]) => {
    for (const name of names) await world.connection.objects.delete(WorkspaceTemplateApply, key(name))
    for (const name of names) await world.untilGone(name)
  }

  it('is shared whole by four runs that begin together with nothing there, and found by the next', async () => {
    const workDir = join(world.folder, 'together')
    const before = treeHash(packed)
    const manager = await world.manager({ workDir, providerMirror: packed, limits: defaultLimits('local', 4) })
    const names = ['one', 'two', 'three', 'four'].map((word) => `provider-${word}`)
    await Promise.all(names.map(create))
    for (const name of names) {
      const { status } = await world.until(name, isReady)
      assert.equal(status?.outputs?.['year'], new Date().getUTCFullYear())
      assert.equal(status?.attempts, 1, 'no run had to be repeated')
    }
    assert.equal(treeHash(shared(workDir)), treeHash(join(unpacked, TYPE)), 'the shared package is what was built')
    for (const name of names) assert.ok(lstatSync(packageOf(workDir, name)).isSymbolicLink(), `${name} keeps no copy`)

    await create('provider-five')
    await world.until('provider-five', isReady)
    assert.ok(readlinkSync(packageOf(workDir, 'provider-five')).startsWith(shared(workDir)))
    assert.equal(treeHash(packed), before, 'the mirror is only read')
    await remove(...names, 'provider-five')
    await manager.stop()
    prove(
      'terraform-provider-time',
      VERSION,
      'one package shared by runs that begin together, from a mirror alone',
      '5 runs',
    )
  })

  it('that was cleared away between two runs is fetched again', async () => {
    const workDir = join(world.folder, 'cleared')
    const manager = await world.manager({ workDir, providerMirror: unpacked })
    await create('provider-cleared')
    await world.until('provider-cleared', isReady)
    rmSync(packageOf(workDir, 'provider-cleared'), { recursive: true })
    await remove('provider-cleared')
    await manager.stop()
    const state = { namespace: 'default', name: stateName(suffixOf(key('provider-cleared'))) }
    assert.equal(await world.connection.objects.get(SecretKind, state), undefined)
  })

  it('whose init is killed leaves nothing broken: the next attempt makes it whole', async () => {
    const workDir = join(world.folder, 'killed')
    const binary = join(world.folder, 'killed-once')
    writeFileSync(binary, killedOnce(join(world.folder, 'was-killed')))
    chmodSync(binary, 0o755)
    const manager = await world.manager({ workDir, providerMirror: packed, terraform: { binary } })
    await create('provider-killed')
    await world.until('provider-killed', isReady)
    const { record } = (await readRecord(world.connection.objects, key('provider-killed')))!
    assert.deepEqual(
      record.history.map(({ phase }) => phase),
      ['Succeeded', 'Failed'],
      'one init was really killed',
    )
    assert.equal(treeHash(shared(workDir)), treeHash(join(unpacked, TYPE)))
    await remove('provider-killed')
    await manager.stop()
    prove('terraform-provider-time', VERSION, 'whole again after an init that was killed while it unpacked')
  })
})

/** The mirror as `terraform providers mirror` writes it: archives, which every init unpacks. */
function packMirror(folder: string): string {
  const target = join(folder, TYPE)
  mkdirSync(target, { recursive: true })
  const [platform = ''] = readdirSync(join(unpacked, TYPE, VERSION))
  const archive = join(target, `terraform-provider-time_${VERSION}_${platform}.zip`)
  const from = join(unpacked, TYPE, VERSION, platform)
  writeFileSync(archive, zip(readdirSync(from).map((name) => ({ name, data: readFileSync(join(from, name)) }))))
  return folder
}

/** Terraform whose first init dies as soon as something of the provider lies on the disk. */
function killedOnce(mark: string): string {
  return `#!/bin/sh
if [ "$1" = init ] && [ ! -e ${mark} ]; then
  touch ${mark}
  terraform "$@" &
  child=$!
  while kill -0 $child 2>/dev/null; do
    if [ -n "$(find .terraform/providers -type f 2>/dev/null)" ]; then kill -9 $child $$; fi
  done
fi
exec terraform "$@"
`
}

/** Names and contents below a folder, as one hash. */
function treeHash(folder: string): string {
  const files = (readdirSync(folder, { recursive: true }) as string[])
    .filter((path) => lstatSync(join(folder, path)).isFile())
    .sort()
  return sha256(
    files.map((path) => `${path} ${sha256(readFileSync(join(folder, path)).toString('latin1'))}`).join('\n'),
  )
}
