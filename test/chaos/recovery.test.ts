// The whole kill matrix: every victim at every moment, and the other ways to lose a run.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import {
  surviveAbsence,
  surviveFullDisk,
  surviveStubbornResource,
  surviveTwoManagers,
  surviveWithPlan,
} from '../support/engine/recovery-more.ts'
import { killAndRecover } from '../support/engine/recovery-story.ts'
import { PHASES, VICTIMS } from '../support/engine/recovery-world.ts'
import { hasTerraform } from '../support/engine/world.ts'

/** Everything in a case has a deadline of its own; one that hangs in spite of that must not keep the others from being reported. */
const HUNG_MS = 15 * 60_000
/** With the full disk. */
const ALL = VICTIMS.length * PHASES.length + 7

interface Case {
  readonly name: string
  survive(): Promise<void>
}

const CASES: readonly Case[] = [
  ...VICTIMS.flatMap((victim) =>
    PHASES.map(
      (moment): Case => ({
        name: `kill -9 of ${victim} at the moment ${moment}`,
        survive: () => killAndRecover(victim, moment),
      }),
    ),
  ),
  { name: 'an API server that is away for a minute', survive: () => surviveAbsence(60_000) },
  { name: 'two managers at once', survive: surviveTwoManagers },
  ...(['same-run', 'next-run', 'refused'] as const).map((successor) => ({
    name: `the loss of a machine between plan and apply: ${successor}`,
    survive: () => surviveWithPlan(successor),
  })),
  { name: 'a stop request while a resource ignores it', survive: surviveStubbornResource },
  ...(canMount() ? [{ name: 'a disk that becomes full', survive: () => surviveFullDisk({ mount, unmount }) }] : []),
]

// Without Terraform there is nothing to kill, and a matrix that was not run must not look like one that was survived.
it('the kill matrix has its Terraform', () => assert.ok(hasTerraform, 'terraform or tofu must be on the PATH'))

if (hasTerraform) {
  describe('a run survives', { concurrency: 2 }, () => {
    const survived: (readonly [string, number])[] = []
    for (const { name, survive } of CASES) {
      it(name, { timeout: HUNG_MS }, async () => {
        const began = performance.now()
        await survive()
        survived.push([name, (performance.now() - began) / 1000])
      })
    }
    after(() => report(survived))
  })
}

/** One line that can be believed: how many of how many, and the names of the others. */
function report(survived: readonly (readonly [string, number])[]): void {
  const [slowest, seconds] = [...survived].sort(([, a], [, b]) => b - a)[0] ?? ['none', 0]
  const missing = CASES.filter(({ name }) => !survived.some(([one]) => one === name))
  const line = `chaos: ${survived.length} of ${CASES.length} cases survived; the slowest took ${seconds.toFixed(0)} s: ${slowest}`
  const lost = missing.map(({ name }) => `chaos: LOST ${name}`)
  const left = CASES.length === ALL ? [] : [`chaos: no right to mount, so the case of a full disk was left out`]
  process.stdout.write(`${[line, ...lost, ...left].join('\n')}\n`)
}

/** A small disk of its own needs the right to mount; without it this one case is not there. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'capt-mount-'))
  try {
    mount(folder)
    unmount(folder)
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
}

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder], { stdio: 'pipe' })
}

function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' })
}
