// What the doctor concludes from what it sees: sentences about one workspace, without a cluster and without a cloud.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ObservedLock, RunRecord, WorkspaceExam } from '#engine'
import { anApply } from '#testing'
import { examineObject } from './objects.ts'
import { type CloudState, examineApply, isInAws, type ObservedWorkspace } from './workspace.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const RUN = '1a2b3c4d-0000-4000-8000-000000000000'
const here = { pid: 7, start: '1', host: 'node-1', machine: 'm', boot: 'b', space: 's' }
const at = (minutesAgo: number) => new Date(NOW - minutesAgo * 60_000).toISOString()

const record = (over: Partial<RunRecord> = {}): RunRecord => ({
  version: 1,
  workspaceId: 'w-1',
  suspects: [],
  kept: [],
  backups: [],
  history: [],
  state: { serial: 14, lineage: 'line', savedAt: at(6), resources: 1 },
  ...over,
})
const run = (over: Partial<NonNullable<RunRecord['run']>> = {}): NonNullable<RunRecord['run']> => ({
  id: RUN,
  verb: 'apply',
  hash: 'h',
  attempt: 1,
  phase: 'Succeeded',
  startedAt: at(9),
  holder: here,
  resumed: 0,
  folder: 'f',
  timeoutSeconds: 60,
  ...over,
})
const state = (over: Partial<WorkspaceExam['state'] & { is: 'whole' }> = {}): WorkspaceExam['state'] => ({
  is: 'whole',
  serial: 14,
  lineage: 'line',
  addresses: ['aws_vpc.this'],
  identities: {
    ids: new Set([
      'vpc-0aaa',
      'arn:aws:eks:eu-west-1:1:cluster/demo',
      'arn:aws:ec2:eu-west-1:1:key-pair/key-0ccc',
      'arn:aws:logs:eu-west-1:1:log-group:/eks:*',
    ]),
    regions: ['eu-west-1'],
    providers: ['registry.terraform.io/hashicorp/aws'],
  },
  ...over,
})
const exam = (over: Partial<WorkspaceExam> = {}): WorkspaceExam => ({
  record: record(),
  lock: { is: 'free' },
  state: state(),
  runner: undefined,
  ...over,
})
const asked = (...arns: string[]): CloudState => ({
  is: 'asked',
  regions: ['eu-west-1'],
  tagged: arns.map((arn) => ({ arn })),
  silent: [],
})
const findings = (over: Partial<ObservedWorkspace> = {}) =>
  examineApply({ apply: anApply(), exam: exam(), cloud: { is: 'elsewhere' }, nowMs: NOW, ...over }).findings
const only = (over: Partial<ObservedWorkspace>) => {
  const found = findings(over)
  assert.equal(found.length, 1, JSON.stringify(found))
  return found[0]!
}
const lock = (over: Partial<ObservedLock & { is: 'ours' }>): ObservedLock => ({
  is: 'ours',
  runId: RUN,
  holder: here,
  liveness: 'alive',
  command: 'kubectl patch',
  ...over,
})

describe('the doctor', () => {
  it('finds nothing where all is well', () => {
    assert.deepEqual(findings(), [])
    assert.deepEqual(findings({ cloud: asked('arn:aws:ec2:eu-west-1:1:vpc/vpc-0aaa') }), [])
  })

  describe('about suspects', () => {
    const suspects = [{ address: 'aws_subnet.a', action: 'create', run: RUN }]
    const history = [
      { id: RUN, verb: 'apply', phase: 'Lost', attempt: 1, startedAt: at(9), finishedAt: at(6) },
    ] as const

    it('names the resource, the run and when it was killed, and how to put it right', () => {
      const [found] = findings({ exam: exam({ record: record({ suspects, history }) }) })
      assert.equal(found?.weight, 'person')
      assert.equal(found?.what, 'aws_subnet.a was being created when run 1a2b3c4d was killed; it is not in the state')
      assert.equal(found?.since, at(6))
      assert.equal(found?.command, 'capt retry demo --clear-suspects')
    })

    it('says of one that was only planned that nobody knows whether it had begun', () => {
      const [unconfirmed] = suspects.map((one) => ({ ...one, unconfirmed: true as const }))
      const [found] = findings({ exam: exam({ record: record({ suspects: [unconfirmed!], history }) }) })
      assert.equal(
        found?.what,
        'aws_subnet.a was to be created by run 1a2b3c4d, which was lost before it reported whether it had begun; it is not in the state',
      )
    })

    it('says when a later run took the resource into the state', () => {
      const found = only({
        exam: exam({ record: record({ suspects: [{ address: 'aws_vpc.this', action: 'create', run: RUN }] }) }),
      })
      assert.match(found.what, /it is in the state now$/)
    })
  })

  describe('about locks', () => {
    it('never advises to break one whose holder is alive', () => {
      const found = only({ exam: exam({ lock: lock({ liveness: 'alive' }) }) })
      assert.equal(found.weight, 'know')
      assert.equal(found.what, 'held by run 1a2b3c4d, process 7 on node-1, which is alive')
      assert.equal(found.todo, '')
    })

    it('knows that one of a dead process is taken by the next run', () => {
      const found = only({ exam: exam({ lock: lock({ liveness: 'dead' }) }) })
      assert.equal(found.weight, 'know')
      assert.equal(found.command, 'capt retry demo')
    })

    for (const [what, renewedAt, weight] of [
      ['leaves one alone that another machine renews', at(1), 'know'],
      ['asks a person about one that another machine stopped renewing', at(5), 'person'],
      ['asks a person about one that was never renewed', undefined, 'person'],
    ] as const)
      it(what, () => {
        const renewed = renewedAt === undefined ? {} : { renewedAt }
        const found = only({ exam: exam({ lock: lock({ liveness: 'unknown', ...renewed }) }) })
        assert.equal(found.weight, weight)
        assert.equal(found.command, weight === 'person' ? 'capt retry demo --holder-is-gone' : undefined)
      })

    it('shows the command for one that a person holds, and leaves it to people', () => {
      const found = only({
        exam: exam({ lock: { is: 'foreign', who: 'ann@laptop', id: 'x', command: 'kubectl patch …' } }),
      })
      assert.equal(found.weight, 'person')
      assert.match(found.what, /ann@laptop/)
      assert.match(found.todo, /nobody works there any more/)
      assert.equal(found.command, 'kubectl patch …')
    })
  })

  describe('about state', () => {
    for (const [what, seen, weight] of [
      ['gone: the record knows serial 14 with 1 resources', { is: 'none' } as const, 'person'],
      ['stale: serial 12 lies there, the last run saved serial 14', state({ serial: 12 }), 'person'],
      ['in conflict: its lineage is other, the last run saved line', state({ lineage: 'other' }), 'person'],
      [
        'ahead of the record: serial 15 lies there, the last run that ended saved serial 14',
        state({ serial: 15 }),
        'know',
      ],
    ] as const)
      it(`reports that it is ${what.split(':')[0]}`, () => {
        const found = only({ exam: exam({ state: seen }) })
        assert.equal(found.word, 'state')
        assert.equal(found.weight, weight)
        assert.ok(found.what.startsWith(what), found.what)
      })

    it('does not mind a state that is ahead of the record while a run is on', () => {
      const running = exam({
        record: record({ run: run({ phase: 'Apply' }) }),
        runner: 'alive',
        state: state({ serial: 15 }),
      })
      assert.deepEqual(findings({ exam: running }), [])
    })

    it('shows damage with its way out', () => {
      const broken = { is: 'unreadable', message: 'cut', hint: 'capt state restore' } as const
      assert.deepEqual(only({ exam: exam({ state: broken }) }), {
        word: 'state',
        weight: 'person',
        what: 'cut',
        todo: 'capt state restore',
      })
      assert.equal(only({ exam: exam({ record: broken, state: { is: 'none' } }) }).word, 'record')
    })
  })

  describe('about runs', () => {
    it('reports an open run whose process is gone', () => {
      const found = only({ exam: exam({ record: record({ run: run({ phase: 'Apply' }) }), runner: 'dead' }) })
      assert.match(found.what, /the process of run 1a2b3c4d \(apply\) is gone/)
      assert.equal(found.weight, 'person')
    })

    it('distinguishes a lost run that is the last from one that others followed', () => {
      const past = { id: RUN, verb: 'apply', phase: 'Lost', attempt: 1, startedAt: at(9), finishedAt: at(6) } as const
      const last = only({ exam: exam({ record: record({ run: run({ phase: 'Lost' }), history: [past] }) }) })
      assert.equal(last.weight, 'person')
      const followed = only({ exam: exam({ record: record({ run: run({ id: 'later' }), history: [past] }) }) })
      assert.equal(followed.weight, 'know')
    })
  })

  describe('about stops', () => {
    const stalled = (reason = 'ApplyRejected') => ({
      type: 'Stalled',
      status: 'True' as const,
      reason,
      message: 'AccessDenied: eks:CreateCluster. Allow it; token=abc',
      lastTransitionTime: at(6),
    })
    const fault = (code: string) => ({ kind: 'user', code, message: 'm', hint: 'h' }) as const

    it('repeats the message with its hint, without secrets, and names the next command', () => {
      const apply = { ...anApply(), status: { conditions: [stalled()] } } as ReturnType<typeof anApply>
      const found = only({
        apply,
        exam: exam({ record: record({ run: run({ phase: 'Failed', fault: fault('CAPT_TF_ACCESS_DENIED') }) }) }),
      })
      assert.equal(found.word, 'stalled')
      assert.match(found.what, /eks:CreateCluster/)
      assert.ok(!found.what.includes('abc'))
      assert.match(found.todo, /^capt explain CAPT_TF_ACCESS_DENIED says more/)
      assert.equal(found.command, 'capt retry demo')
      const conflict = exam({ record: record({ run: run({ phase: 'Failed', fault: fault('CAPT_STATE_CONFLICT') }) }) })
      assert.equal(only({ apply, exam: conflict }).word, 'state')
    })

    it('reports other objects that stopped, and what a teardown left', () => {
      const delivery = {
        apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
        kind: 'AddonDelivery',
        metadata: { name: 'demo' },
        status: { conditions: [stalled('RemovalStuck')], teardown: { leftovers: ['instance i-1'] } },
      }
      const { findings: found } = examineObject(delivery as never, NOW)
      assert.deepEqual(
        found.map(({ word, weight }) => [word, weight]),
        [
          ['stalled', 'person'],
          ['left', 'person'],
        ],
      )
      assert.equal(found[0]?.command, 'capt describe addondelivery demo')
      assert.deepEqual(examineObject({ ...delivery, status: {} } as never, NOW).findings, [])
    })
  })

  describe('about AWS', () => {
    it('names what carries the tag and is in no state, and nothing that is in it by id or ARN', () => {
      const found = only({
        cloud: asked(
          'arn:aws:ec2:eu-west-1:1:vpc/vpc-0aaa',
          'arn:aws:eks:eu-west-1:1:cluster/demo',
          'arn:aws:ec2:eu-west-1:1:key-pair/key-0ccc',
          'arn:aws:logs:eu-west-1:1:log-group:/eks',
          'arn:aws:ec2:eu-west-1:1:subnet/subnet-0bbb',
        ),
      })
      assert.equal(found.word, 'untracked')
      assert.equal(found.weight, 'person')
      assert.equal(found.what, 'arn:aws:ec2:eu-west-1:1:subnet/subnet-0bbb found by tag, in no state')
      assert.match(found.todo, /import block with id = "subnet-0bbb" in WorkspaceTemplate/)
    })

    it('does not take a name for an id: two services may use the same name', () => {
      const ids = new Set(['demo'])
      const named = exam({ state: state({ identities: { ids, regions: [], providers: [] } }) })
      assert.equal(only({ exam: named, cloud: asked('arn:aws:sqs:eu-west-1:1:demo') }).word, 'untracked')
    })

    it('decides nothing during a run', () => {
      const running = exam({ record: record({ run: run({ phase: 'Apply' }) }), runner: 'alive' })
      assert.equal(only({ exam: running, cloud: asked('arn:aws:ec2:eu-west-1:1:vpc/vpc-0bbb') }).weight, 'know')
    })

    it('lists everything with the tag when there is no state at all', () => {
      const lost = exam({ state: { is: 'none' }, record: record({ state: undefined as never }) })
      assert.equal(findings({ exam: lost, cloud: asked('arn:aws:ec2:eu-west-1:1:vpc/vpc-0aaa') }).length, 1)
    })

    it('does not compare with a state that it cannot read', () => {
      const backend = exam({ state: { is: 'elsewhere', backend: 's3' } })
      const found = only({ exam: backend, cloud: asked('arn:aws:ec2:eu-west-1:1:vpc/vpc-0aaa') })
      assert.equal(found.word, 'unknown')
      assert.match(found.what, /backend of its own \(s3\)/)
    })

    it('says that it could not ask: silence is not health', () => {
      const found = only({ cloud: { is: 'unknown', message: 'No AWS credentials were found', hint: 'log in' } })
      assert.deepEqual([found.word, found.weight, found.todo], ['unknown', 'person', 'log in'])
      const silent = [{ region: 'us-east-1', message: 'refused', hint: 'allow tag:GetResources' }]
      assert.match(only({ cloud: { is: 'asked', regions: ['eu-west-1'], tagged: [], silent } }).what, /us-east-1/)
    })

    for (const [what, seen, region, answer] of [
      ['a state of the aws provider', exam(), undefined, true],
      [
        'suspects of the aws provider',
        exam({
          state: { is: 'none' },
          record: record({ suspects: [{ address: 'module.vpc.aws_vpc.this[0]', action: 'create', run: RUN }] }),
        }),
        undefined,
        true,
      ],
      ['no state but a region', exam({ state: { is: 'none' } }), 'eu-west-1', true],
      ['no state and no region', exam({ state: { is: 'none' } }), undefined, false],
      [
        'a state of other providers',
        exam({
          state: state({ identities: { ids: new Set(), regions: [], providers: ['terraform.io/builtin/terraform'] } }),
        }),
        'eu-west-1',
        false,
      ],
    ] as const)
      it(`${answer ? 'is asked' : 'is not asked'} about a workspace with ${what}`, () => {
        assert.equal(isInAws(seen, region), answer)
      })
  })
})
