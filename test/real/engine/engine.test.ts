// The engine's own suites on a real kube-apiserver: its case file for every program that is there, Terraform's kubernetes
// backend reading saved state and lock, and the ways in which deletion must end. Then plans and drift with OpenTofu.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { TOFU, tofuFolder, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

interface Ended {
  readonly code: number | null
  readonly said: string
  count(word: string): number
}

function runSuite(file: string, more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
  const child = spawn(process.execPath, ['--test', '--test-reporter=spec', join(import.meta.dirname, '../..', file)], {
    env: { ...env, ...more, PATH: `${env['PATH']}:${tofuFolder()}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const listen = (data: Buffer) => {
    said += data.toString()
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const count = (word: string) => Number(new RegExp(`^ℹ ${word} (\\d+)`, 'm').exec(said)?.[1] ?? 0)
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, said, count })))
}

describe('the engine on a real API server', () => {
  it('has one to speak to', () => assert.ok(process.env['CAPT_REAL_KUBECONFIG'], 'node test/real/run.ts starts one'))

  for (const [file, what] of [
    ['engine/contract.test.ts', "the engine's case file"],
    ['engine/backend.test.ts', "saved state and lock, read by Terraform's kubernetes backend"],
    ['engine/deletion.test.ts', 'deletion that ends, whatever is gone or wrong'],
    ['engine/plans.test.ts', 'plans that outlive the machine that made them'],
  ] as const) {
    it(`keeps ${what}`, async () => {
      const { code, said, count } = await runSuite(file)
      assert.equal(code, 0, said)
      assert.ok(count('pass') > 0, said)
      const programs = [...said.matchAll(/▶ ((?:terraform|tofu) [\d.]+) keeps/g)].map((match) => match[1])
      if (file === 'engine/contract.test.ts')
        assert.equal(programs.length, 2, 'terraform and tofu are held to the same cases')
      prove('kube-apiserver', VERSIONS.kube, what, [`${count('pass')} cases`, ...programs].join(', '))
    })
  }
})

describe('OpenTofu in place of Terraform', () => {
  for (const [file, what] of [
    ['shipped/runs/approval.test.ts', 'plans that are read, approved, denied, guarded and speculative'],
    ['shipped/runs/drift.test.ts', 'drift found, ignored, corrected, moved upstream and unknowable'],
    ['shipped/runs/drift-interrupted.test.ts', 'drift checks over restarts and a move'],
  ] as const) {
    it(`keeps ${what}`, async () => {
      const { code, said, count } = await runSuite(file, { CAPT_TEST_TOOL: 'tofu' })
      assert.equal(code, 0, said)
      assert.ok(count('pass') > 0 && count('skipped') === 0, said)
      prove('tofu', TOFU, what, `${count('pass')} cases`)
    })
  }
})
