// make demo on a machine without Terraform: the story with simulated runs, and nothing left behind.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { assertStory } from '../support/demo-story.ts'

const bin = join(import.meta.dirname, '../../bin/capt')

describe('capt demo', () => {
  it('shows the story without Terraform, and says what is simulated and left out', () => {
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, NO_COLOR: '1' }
    const { status, stdout, stderr } = spawnSync(bin, ['demo', '--engine', 'simulated'], {
      env,
      encoding: 'utf8',
      timeout: 400_000,
    })
    assertStory(status, stdout, stderr, true)
    assert.match(stdout, /^capt demo: .* Terraform runs are simulated[\s\S]*need Terraform and are left out/)
  })

  it('refuses to record into a folder that does not exist, before it starts anything', () => {
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
    const { status, stdout, stderr } = spawnSync(bin, ['demo', '--record', 'no/such/folder.svg'], {
      env,
      encoding: 'utf8',
    })
    assert.equal(status, 2, stderr)
    assert.equal(stdout, '')
    assert.match(stderr, /--record no\/such\/folder\.svg: its folder does not exist/)
  })
})
