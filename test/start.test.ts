// Starting is cheap: `capt version` costs little more than Node itself.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '..')
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
    const least = (command: string) => Math.min(...Array.from({ length: 20 }, () => cpuMs(command)))
    const bare = least(`${process.execPath} -e 0`)
    const ours = least(`${bin} version`)
    assert.ok(ours <= bare * 1.3, `capt version took ${ours.toFixed(0)} ms of CPU, a bare node ${bare.toFixed(0)} ms`)
  })

  it('costs at most twice the CPU of a bare node to load what a runner needs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'capt-compiled-'))
    try {
      const least = (command: string) => Math.min(...Array.from({ length: 20 }, () => cpuMs(command)))
      const bare = least(`${process.execPath} -e 0`)
      // A runner keeps what Node compiled once.
      const ours = least(`env NODE_COMPILE_CACHE=${folder} ${bin} runner --help`)
      assert.ok(ours <= bare * 2, `a runner took ${ours.toFixed(0)} ms of CPU, a bare node ${bare.toFixed(0)} ms`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
