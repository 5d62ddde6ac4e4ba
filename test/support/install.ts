// Installs the Debian packages that tests need where they must not be skipped: in CI. test/run.ts calls it before the suites
// start, so that it is in the budget of none.
import { spawnSync } from 'node:child_process'
import { findOnPath } from './tools.ts'

/** Each package brings a program of its own name. */
const PACKAGES = ['chromium', 'zsh', 'fish', 'busybox']

export function installPackages(): void {
  const missing = PACKAGES.filter((name) => !findOnPath(name))
  if (missing.length === 0 || !findOnPath('apt-get') || process.getuid?.() !== 0) return
  console.log(`Installing ${missing.join(', ')} for the tests`)
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', ...missing]]) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const { status, stderr } = spawnSync('apt-get', ['--quiet', ...args], { env, encoding: 'utf8', timeout: 300_000 })
    // Without them the suites report skipped tests by name, which is a failure in CI.
    if (status !== 0) {
      console.error(`apt-get ${args[0]} failed: ${stderr.slice(-2000)}`)
      return
    }
  }
}
