// The ledger of a campaign decides what is run when it is resumed, and what its last line says.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { record, seedsToRun, summarize } from '../../chaos/campaign.ts'
import { DISRUPTIONS } from '../../chaos/disruptions.ts'
import { JOB_SEEDS, JOB_VICTIMS, jobTrialOf } from '../../chaos/job-trial.ts'
import { SEEDS, trialOf } from '../../chaos/trial.ts'

const folder = mkdtempSync(join(tmpdir(), 'capt-campaign-'))
const { LEDGER: ledgerBefore, SEEDS: seedsBefore } = process.env
after(() => {
  rmSync(folder, { recursive: true, force: true })
  for (const [name, value] of Object.entries({ LEDGER: ledgerBefore, SEEDS: seedsBefore }))
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})

it('a campaign that is resumed runs what failed and what has not run, and counts each seed once', async () => {
  process.env['LEDGER'] = join(folder, 'ledger')
  process.env['SEEDS'] = '4-5,1-3,2'
  await record('faults', 1, async () => ({ end: 'went on' }))
  for (const seed of [2, 3])
    await assert.rejects(record('faults', seed, () => Promise.reject(new Error('a resource was made twice'))))
  await record('faults', 3, async () => ({ end: 'went on' }))
  await record('restarts', 4, async () => ({}))
  assert.deepEqual(seedsToRun('faults', 4), [4, 2])
  assert.equal(summarize('faults', 4), 'faults: 3 of 4 trials have run, 1 failed: 2')
})

it('the campaign of faults has every victim and every moment', () => {
  const trials = Array.from({ length: SEEDS }, (_, i) => trialOf(i + 1).fault)
  const damaged = trials.flatMap((fault) => (fault.damages ?? []).map(([victim, how]) => `${how} ${victim}`))
  const stored = ['record', 'state', 'part', 'bundle', 'plan', 'backup']
  const expected = [...stored.flatMap((victim) => [`delete ${victim}`, `corrupt ${victim}`]), 'delete folder'].sort()
  assert.deepEqual([...new Set(damaged)].sort(), expected)
  const moments = trials.flatMap((fault) => {
    if (fault.is === 'stop') return `stop ${fault.victim} until ${fault.until} a takeover`
    if (fault.is === 'partition') return `partition until ${fault.until} a takeover`
    if (fault.is === 'clock') return fault.skews.filter((hours) => hours !== 0).map((hours) => `clock ${hours} h`)
    return fault.is === 'pod' ? `pod ${fault.death}` : []
  })
  assert.deepEqual([...new Set(moments)].sort(), [
    'clock -1 h',
    'clock 1 h',
    'partition until after a takeover',
    'partition until before a takeover',
    'pod declared',
    'pod silence',
    'pod status',
    'stop manager until after a takeover',
    'stop manager until before a takeover',
    'stop runner until after a takeover',
    'stop runner until before a takeover',
    'stop terraform until after a takeover',
    'stop terraform until before a takeover',
  ])
  for (const is of [...DISRUPTIONS, 'kill', 'damage'] as const)
    assert.ok(trials.filter((fault) => fault.is === is).length >= 20, `${is} is tried too rarely`)
})

it('the campaign of Jobs has two hundred kills: every victim when a run starts, works and destroys', () => {
  const strikes = Array.from({ length: JOB_SEEDS }, (_, i) => jobTrialOf(i + 1).strikes).flat()
  assert.equal(strikes.length, 200)
  const matrix = JOB_VICTIMS.flatMap((victim) => ['start', 'work', 'destroy'].map((phase) => `${victim} at ${phase}`))
  assert.deepEqual([...new Set(strikes.map(({ victim, phase }) => `${victim} at ${phase}`))].sort(), matrix.sort())
})
