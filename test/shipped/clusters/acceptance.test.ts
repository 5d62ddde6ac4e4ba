// `capt acceptance` from the shipped files: the whole story in simulation, a run whose budget is used up, one that is
// interrupted, and what it refuses before anything is made in AWS. No test makes a cluster in AWS by it.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readAccount } from '../../support/aws/ledger.ts'
import { findMoto, type Moto, startMoto } from '../../support/aws/moto.ts'
import { assertGolden } from '../../support/golden/file.ts'
import { planted } from '../../support/secrets/planted.ts'
import { findTool } from '../../support/tools.ts'
import { type Shipped, shippedProgram } from '../support.ts'

interface Report {
  readonly result: string
  readonly kubernetes: string
  readonly cost: { readonly paid: number; readonly anHour: number }
  readonly steps: readonly { readonly step: string; readonly outcome: string; readonly detail: string }[]
  readonly leftovers: readonly string[]
}

describe('capt acceptance', { skip: findTool('terraform') ? false : 'terraform is not installed' }, () => {
  let shipped: Shipped
  before(() => {
    shipped = shippedProgram()
  })
  after(() => shipped.end())
  const fileOf = (data: string, name: string) => readFileSync(join(shipped.folder, data, name), 'utf8')
  const reportOf = (data: string) => JSON.parse(fileOf(data, 'report.json')) as Report
  /** Without what differs from machine to machine and from day to day. */
  const steady = (text: string) =>
    text
      .replaceAll(shipped.folder, 'FOLDER')
      .replaceAll(/\bterraform \d\S*/g, 'terraform VERSION')
      .replaceAll(/\$\d+\.\d\d/g, '$N')
      .replaceAll(/\bip-[\d-]+ \(\S+\)/g, 'NODE')
      .replaceAll(/\b\d+[ms](?:\d+s)?\b/g, 'TIME')
  const outcomesOf = ({ steps }: Report) => steps.map(({ step, outcome }) => `${step} ${outcome}`)

  describe('simulation', { concurrency: true }, () => {
    it('makes a cluster with Flux and Karpenter, gets a node for a pod, deletes and searches', async () => {
      const run = shipped.start(['acceptance', 'simulation', '--data', 'whole', '--timeout', '4m'])
      assert.equal(await run.ended, 0, run.err())
      const report = reportOf('whole')
      assert.deepEqual(outcomesOf(report), [
        'create passed',
        'pod gets a node passed',
        'delete passed',
        'search for leftovers passed',
      ])
      assert.partialDeepStrictEqual(report, { result: 'passed', kubernetes: '1.35', cost: { paid: 0 }, leftovers: [] })
      assertGolden('acceptance-simulation', steady(run.out()))
      const transcript = fileOf('whole', 'transcript.txt')
      assert.match(transcript, /karpenter +healthy/)
      for (const line of run.out().split('\n')) assert.ok(transcript.includes(line), line)
      assert.ok(!existsSync(join(shipped.folder, 'whole', 'home')), 'nothing is left, so nothing is kept')
    })

    it('deletes what it made when the budget is used, and ends with 3', async () => {
      const run = shipped.start(['acceptance', 'simulation', '--data', 'poor', '--budget', '0.0008'])
      assert.equal(await run.ended, 3, run.err())
      const report = reportOf('poor')
      assert.deepEqual(outcomesOf(report), [
        'create failed',
        'pod gets a node skipped',
        'delete passed',
        'search for leftovers passed',
      ])
      assert.equal(report.steps[0]!.detail, 'not within the budget')
    })

    it('deletes what it made when it is interrupted', async () => {
      const run = shipped.start(['acceptance', 'simulation', '--data', 'cut'])
      await run.untilSaid(/VPC +ready/)
      process.kill(run.pid, 'SIGINT')
      assert.notEqual(await run.ended, 0)
      assert.deepEqual(outcomesOf(reportOf('cut')), [
        'create failed',
        'pod gets a node skipped',
        'delete passed',
        'search for leftovers passed',
      ])
      assert.equal(reportOf('cut').steps[0]!.detail, 'interrupted')
    })
  })

  it('leaves a folder alone that is not its own', async () => {
    mkdirSync(join(shipped.folder, 'mine'))
    const { code, err } = await shipped.capt(['acceptance', 'simulation', '--data', 'mine'])
    assert.equal(code, 2)
    assert.match(err, /mine is there and is not of an acceptance run/)
  })

  describe('aws, before anything is made', () => {
    const program = findMoto()
    const skip = program ? false : 'not installed: moto'
    const REGION = 'eu-west-1'
    let moto: Moto
    before(async () => {
      if (program) moto = await startMoto(program)
    })
    after(() => moto?.stop())
    const aws = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      shipped.capt(['acceptance', 'aws', '--data', 'aws', ...args], {
        env: { ...shipped.env, ...env },
        timeoutMs: 60_000,
      })
    const account = () => ({
      AWS_ENDPOINT_URL: moto.url,
      AWS_ACCESS_KEY_ID: 'key-of-a-reader',
      AWS_SECRET_ACCESS_KEY: planted('/of+a-reader'),
    })

    for (const [what, args, pattern] of [
      ['without a region', [], /acceptance aws needs a region/],
      [
        'with a budget that cannot pay for it',
        ['--region', REGION, '--budget', '0.2'],
        /a budget of \$0\.20 is too small/,
      ],
      ['with a budget that is no number', ['--region', REGION, '--budget', 'five'], /a number of dollars/],
    ] as const)
      it(`refuses ${what}`, async () => {
        const { code, err } = await aws(args)
        assert.equal(code, 2, err)
        assert.match(err, pattern)
        assert.ok(!existsSync(join(shipped.folder, 'aws', 'home')))
      })

    it('refuses without credentials, and says what to do', async () => {
      const { code, err } = await aws(['--region', REGION, '--yes'], { AWS_EC2_METADATA_DISABLED: 'true' })
      assert.equal(code, 1, err)
      assert.match(err, /Nothing was made: see above what needs a person first/)
      assert.ok(!existsSync(join(shipped.folder, 'aws', 'home')))
    })

    it('checks the account, shows what it may cost, and needs an answer', { skip }, async () => {
      const before = await readAccount(moto, REGION)
      const { code, err } = await aws(['--region', REGION], account())
      assert.equal(code, 2, err)
      assert.match(err, /It may cost \$1\.\d\d an hour, \$3\.\d\d at most/)
      assertGolden('acceptance-aws', steady(err))
      assert.deepEqual(await readAccount(moto, REGION), before)
      assert.match(fileOf('aws', 'transcript.txt'), /It may cost/)
    })
  })
})
