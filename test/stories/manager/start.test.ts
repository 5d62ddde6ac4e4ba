// Starting is cheap: `capt version` costs little more than Node itself.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '../../..')
const bin = join(root, 'bin', 'capt')
const isBuilt = existsSync(join(root, 'dist', 'program', 'capt.mjs'))
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }

/** CPU milliseconds of a command and its children, as the kernel counted them for the shell that ran it. */
function cpuMs(command: string): number {
  const { stderr } = spawnSync('bash', ['-c', `TIMEFORMAT='%3U %3S'; time ${command} >/dev/null`], {
    env,
    encoding: 'utf8',
  })
  const [user = 'NaN', system = 'NaN'] = stderr.trim().split('\n').at(-1)!.split(' ')
  return (Number(user) + Number(system)) * 1000
}

/**
 * Compares the least CPU of a command with the least of a bare node. The two alternate, so that both see the same
 * machine, and the rounds go on until the bound holds: beside other work the least needs more of them to show.
 */
function assertCpuRatio(command: string, limit: number): void {
  let bare = Number.POSITIVE_INFINITY
  let ours = Number.POSITIVE_INFINITY
  for (let round = 1; round <= 60; round++) {
    bare = Math.min(bare, cpuMs(`${process.execPath} -e 0`))
    ours = Math.min(ours, cpuMs(command))
    if (round >= 10 && ours <= bare * limit) return
  }
  assert.fail(`${command} took ${ours.toFixed(0)} ms of CPU, a bare node ${bare.toFixed(0)} ms`)
}

describe('bin/capt', () => {
  it('is built', () => assert.ok(isBuilt, 'run make build first'))

  it('prints the version of the package from any folder, also through a link', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    const folder = mkdtempSync(join(tmpdir(), 'capt-link-'))
    try {
      symlinkSync(bin, join(folder, 'linked'))
      for (const command of [bin, join(folder, 'linked')]) {
        const { stdout, status } = spawnSync(command, ['version'], { cwd: folder, env, encoding: 'utf8' })
        assert.deepEqual([status, stdout], [0, `capt ${version}\n`])
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('costs at most 1.3 times the CPU of a bare node for version', () => {
    assertCpuRatio(`${bin} version`, 1.3)
  })

  it('costs at most twice the CPU of a bare node to load what a runner needs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'capt-compiled-'))
    try {
      // A runner keeps what Node compiled once.
      assertCpuRatio(`env NODE_COMPILE_CACHE=${folder} ${bin} runner --help`, 2)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
