// make demo, as a newcomer runs it: the built program, from manifest to a node for a pending pod, and nothing left behind.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { findTool } from '../support/tools.ts'

const bin = join(import.meta.dirname, '../../bin/capt')

function demo(...args: string[]): {
  readonly code: number | null
  readonly lines: readonly string[]
  readonly text: string
} {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, NO_COLOR: '1' }
  const { status, stdout, stderr } = spawnSync(bin, ['demo', '--timeout', '5m', ...args], {
    env,
    encoding: 'utf8',
    timeout: 400_000,
  })
  return { code: status, lines: stdout.split('\n'), text: `${stdout}\n${stderr}` }
}

function assertStory({ code, lines, text }: ReturnType<typeof demo>): void {
  assert.equal(code, 0, text)
  const order = [
    /VPC +\S+ apply +9 of 9/,
    /control plane +\S+ apply +24 of 24/,
    /flux +delivered/,
    /flux +healthy/,
    /gate +opened +karpenter\.sh\/enabled=true/,
    /karpenter +delivered/,
    /karpenter +healthy/,
    /pod web-0 was pending → node \S+ .*simulated/,
  ]
  const places = order.map((pattern) => lines.findIndex((line) => pattern.test(line)))
  assert.ok(
    places.every((place) => place >= 0),
    text,
  )
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
    text,
  )
  assert.match(text, /^Cluster\/demo +ready/m)
  assert.match(text, /Left behind: 0 files, 0 processes\./)
}

describe('capt demo', () => {
  it('shows a cluster from manifest to node without Terraform, and says that the runs are simulated', () => {
    const result = demo('--engine', 'simulated')
    assertStory(result)
    assert.match(result.lines[0]!, /Terraform runs are simulated/)
  })

  if (findTool('terraform')) {
    it('does the same with real Terraform runs', () => {
      const result = demo()
      assertStory(result)
      assert.match(result.lines[0]!, /terraform \d+\.\d+\.\d+ is real/)
    })
  }
})
