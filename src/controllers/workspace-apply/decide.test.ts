import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { APPLY_FINALIZER, type WorkspaceTemplateApply } from '#api'
import { type FaultKind, type Run, type RunRecord, renderWorkspace } from '#engine'
import { anApply, aTemplate } from '#testing'
import { decide } from './decide.ts'
import { type Observed, ownerOf } from './observe.ts'
import { statusOf } from './status.ts'

const template = aTemplate('output "x" { value = "${who}" }')
const HELD = { finalizers: [APPLY_FINALIZER] }
const apply = (spec = {}, metadata = {}) => anApply({ variables: { who: 'me' }, ...spec }, { ...HELD, ...metadata })
const rendering = renderWorkspace(template, apply())
assert.ok(rendering.ok)
const { hash } = rendering.workspace

const who = { pid: 1, start: '1', host: 'far', machine: '', boot: '', space: '' }
const aRun = (over: Partial<Run> = {}): Run => ({
  id: 'run-1',
  verb: 'apply',
  hash,
  attempt: 1,
  phase: 'Succeeded',
  startedAt: '2026-01-01T00:00:00Z',
  holder: who,
  resumed: 0,
  folder: '/tmp/x',
  timeoutSeconds: 60,
  ...over,
})
const failed = (kind: FaultKind, over: Partial<Run> = {}) =>
  aRun({ phase: 'Failed', fault: { kind, code: 'CAPT_TF_FAILED', message: 'it broke', hint: 'mend it' }, ...over })
const aRecord = (run: Run | undefined, over: Partial<RunRecord> = {}): RunRecord => ({
  version: 1,
  workspaceId: 'id',
  suspects: [],
  kept: [],
  backups: [],
  history: [],
  ...(run ? { run } : {}),
  ...over,
})

function seen(
  over: Partial<Observed> & { readonly run?: Run; readonly apply?: WorkspaceTemplateApply } = {},
): Observed {
  const { run, ...rest } = over
  const about = over.apply ?? apply()
  return {
    apply: about,
    owner: ownerOf(about),
    view: { record: run && aRecord(run), activity: 'idle', cancelling: false },
    paused: undefined,
    template,
    forbidden: undefined,
    rendering,
    lookAgainSeconds: undefined,
    missingSecrets: [],
    unready: [],
    cycle: undefined,
    dependents: [],
    turn: { is: 'now' },
    dueInSeconds: 0,
    deletionLeftSeconds: about.metadata.deletionTimestamp === undefined ? undefined : 3600,
    credentialsChanged: false,
    retryToken: undefined,
    ...rest,
  }
}
const expect = (observed: Observed, wanted: object) => assert.partialDeepStrictEqual(decide(observed), wanted)
const START = { is: 'act', actions: [{ do: 'start-run', verb: 'apply', hash }] }

describe('workspace apply', () => {
  it('holds itself before anything is made', () => {
    expect(seen({ apply: apply({}, { finalizers: [] }) }), { is: 'act', actions: [{ do: 'add-finalizer' }] })
  })

  it('starts the first run', () => expect(seen(), START))

  it('is done when these inputs were applied', () => expect(seen({ run: aRun() }), { is: 'done' }))

  it('looks again at ConfigMaps and Secrets it read, and is woken for nothing else', () => {
    assert.deepEqual(decide(seen({ run: aRun() })), { is: 'done' })
    expect(seen({ run: aRun(), lookAgainSeconds: 300 }), { is: 'done', retryAfterSeconds: 300 })
    expect(seen({ run: failed('user'), lookAgainSeconds: 300 }), { is: 'stalled', retryAfterSeconds: 300 })
  })

  it('runs again when the inputs changed after a success', () => expect(seen({ run: aRun({ hash: 'older' }) }), START))

  it('runs again when the inputs went back to what was applied before a failure', () => {
    const run = failed('user', { hash: 'newer' })
    const record = aRecord(run, { applied: { hash, at: '', runId: '', outputs: {}, omitted: [] } })
    expect(seen({ view: { record, activity: 'idle', cancelling: false } }), START)
  })

  it('waits for the VPC before it asks for the control plane', () => {
    expect(seen({ unready: ['default/demo-vpc'] }), {
      is: 'waiting',
      reason: 'DependencyNotReady',
      message: 'Waiting for default/demo-vpc',
    })
  })

  it('names a circle of waiting instead of waiting for ever', () => {
    expect(seen({ cycle: ['a', 'b', 'a'] }), {
      is: 'stalled',
      reason: 'DependencyCycle',
      message: 'These wait for each other: a → b → a',
    })
  })

  for (const [name, over, reason] of [
    ['waits for a missing template', { template: undefined, rendering: undefined }, 'TemplateMissing'],
    ['waits for missing Secrets', { missingSecrets: ['default/s'] }, 'SecretsMissing'],
    ['starts nothing while suspended', { apply: apply({ suspend: true }) }, 'Suspended'],
    ['does nothing while paused', { paused: 'Cluster spec.paused is set to true' }, 'Paused'],
    [
      'waits for its turn when a template changed',
      { run: aRun({ hash: 'older' }), turn: { is: 'later', ahead: 3 } },
      'WaitingForTurn',
    ],
    ['can be held back by the template', { run: aRun({ hash: 'older' }), turn: { is: 'stopped' } }, 'RolloutStopped'],
    ['stalls when the input is wrong', { run: failed('user') }, 'ApplyRejected'],
    ['stalls when a run took too long', { run: failed('deadline') }, 'TimedOut'],
    ['stalls when a run was cancelled', { run: failed('cancelled', { phase: 'Cancelled' }) }, 'Cancelled'],
    ['stalls on credentials', { run: failed('credentials'), dueInSeconds: 9 }, 'CredentialsRejected'],
    ['waits for a lock of somebody else', { run: failed('locked'), dueInSeconds: 9 }, 'StateLocked'],
    ['retries when the cloud is busy', { run: failed('throttling'), dueInSeconds: 30 }, 'RetryScheduled'],
    ['gives up after the last attempt', { run: failed('network', { attempt: 6 }) }, 'RetriesExhausted'],
  ] as const) {
    it(name, () => expect(seen(over as never), { reason }))
  }

  for (const kind of [
    'throttling',
    'capacity',
    'dependency',
    'network',
    'internal',
    'memory',
    'lost',
    'locked',
  ] as const) {
    it(`tries again by itself after a fault of kind ${kind}`, () => expect(seen({ run: failed(kind) }), START))
  }

  it('begins again after a pause that stopped it, however often and however long ago', () => {
    expect(seen({ run: failed('paused', { phase: 'Cancelled', attempt: 9 }), dueInSeconds: 600 }), START)
  })

  it('tries again at once when the credentials changed', () => {
    expect(seen({ run: failed('credentials'), credentialsChanged: true }), START)
  })

  it('tries again when a person asks, whatever it failed with', () => {
    expect(seen({ run: failed('user'), retryToken: 'now' }), START)
    expect(seen({ run: aRun({ retryToken: 'now' }), retryToken: 'now' }), { is: 'done' })
  })

  it('lets a run go on and only says so', () => {
    const view = { record: aRecord(aRun({ phase: 'Apply' })), activity: 'running', cancelling: false } as const
    expect(seen({ view }), { is: 'waiting', reason: 'RunInProgress' })
  })

  it('stops the run that a person wants to have stopped, once', () => {
    const about = apply({}, { annotations: { 'capt.appthrust.com/cancel': 'run-1' } })
    const record = aRecord(aRun({ phase: 'Apply' }))
    expect(seen({ apply: about, view: { record, activity: 'running', cancelling: false } }), {
      is: 'act',
      actions: [{ do: 'cancel-run', runId: 'run-1' }],
    })
    expect(seen({ apply: about, view: { record, activity: 'running', cancelling: true } }), { is: 'waiting' })
  })

  it('cancels with the run a retry that was requested while it was on, and announces that retry before', () => {
    const about = apply({}, { annotations: { 'capt.appthrust.com/cancel': 'run-1' } })
    const view = (over: Partial<Run>) =>
      ({ record: aRecord(aRun({ phase: 'Apply', ...over })), activity: 'running', cancelling: false }) as const
    const dropsRetry = (over: Partial<Run>) => {
      const decision = decide(seen({ apply: about, retryToken: 'second', view: view(over) }))
      return decision.is === 'act' && decision.actions[0]?.do === 'cancel-run' && decision.actions[0].dropsRetry
    }
    assert.equal(dropsRetry({}), true)
    assert.equal(dropsRetry({ retryToken: 'first' }), true)
    assert.equal(dropsRetry({ retryToken: 'second' }), false, 'the run itself answers that one')
    expect(seen({ retryToken: 'second', view: view({}) }), {
      is: 'waiting',
      reason: 'RunInProgress',
      message: 'Terraform apply is running; another run was requested and follows it (capt cancel ends both)',
    })
  })

  it('stays ready when a run is cancelled before it changed anything', () => {
    const past = { verb: 'apply', attempt: 1, startedAt: '', finishedAt: '' } as const
    const run = failed('cancelled', { phase: 'Cancelled', untouched: true, retryToken: 'now' })
    const record = aRecord(run, {
      applied: { hash, at: '', runId: 'run-0', outputs: {}, omitted: [] },
      history: [
        { ...past, id: 'run-1', phase: 'Cancelled', untouched: true },
        { ...past, id: 'run-0', phase: 'Succeeded' },
      ],
    })
    const observed = seen({ view: { record, activity: 'idle', cancelling: false }, retryToken: 'now' })
    expect(observed, { is: 'done' })
    const { fields, conditions } = statusOf(observed, decide(observed))
    assert.deepEqual([fields?.['phase'], fields?.['lastError']], ['Applied', undefined])
    assert.partialDeepStrictEqual(
      conditions?.find(({ type }) => type === 'Synced'),
      {
        status: 'True',
        message: 'The last run was cancelled before it changed anything: everything is as it was applied',
      },
    )
  })

  it('takes up a lost run, but not for ever', () => {
    const lost = (resumed: number) =>
      ({ record: aRecord(aRun({ phase: 'Apply', resumed })), activity: 'lost', cancelling: false }) as const
    expect(seen({ view: lost(0) }), START)
    expect(seen({ view: lost(3) }), { is: 'act', actions: [{ do: 'abandon-run' }] })
  })

  it('never starts a second run while the first cannot be proven dead', () => {
    const view = { record: aRecord(aRun({ phase: 'Apply' })), activity: 'unreachable', cancelling: false } as const
    expect(seen({ view }), { is: 'stalled', reason: 'RunnerUnreachable' })
  })

  it('lets a move go on only after the end of the run was told', () => {
    const annotations = { 'clusterctl.cluster.x-k8s.io/block-move': 'true' }
    const untold = apply({}, { annotations })
    expect(seen({ apply: untold, run: aRun() }), { is: 'done' })
    const told = { ...untold, status: { run: { id: 'run-1', phase: 'Succeeded' as const } } }
    expect(seen({ apply: told, run: aRun() }), { is: 'act', actions: [{ do: 'unblock-move' }] })
  })
})

describe('deletion of a workspace apply', () => {
  const going = (spec = {}, metadata = {}) => apply(spec, { deletionTimestamp: '2026-01-01T00:00:00Z', ...metadata })
  const made = (run: Run, over: Partial<RunRecord> = {}) =>
    aRecord(run, { bundle: { id: 'b', parts: 1, bytes: 1, hash, tool: '' }, ...over })
  const view = (record: RunRecord | undefined, activity = 'idle') =>
    ({ record, activity, cancelling: false }) as Observed['view']
  const GONE = { is: 'act', actions: [{ do: 'forget', keepState: false }, { do: 'remove-finalizer' }] }
  const DESTROY = { is: 'act', actions: [{ do: 'start-run', verb: 'destroy', hash }] }

  it('ends at once when nothing was ever started', () => expect(seen({ apply: going() }), GONE))

  it('ends at once when nothing was made', () => {
    expect(seen({ apply: going(), view: view(aRecord(failed('user'))) }), GONE)
  })

  it('destroys what was made', () => expect(seen({ apply: going(), view: view(made(aRun())) }), DESTROY))

  it('destroys without a template', () => {
    const over = { apply: going(), template: undefined, rendering: undefined, view: view(made(aRun())) }
    expect(seen(over), DESTROY)
  })

  it('ends after the destroy', () => {
    expect(seen({ apply: going(), view: view(made(aRun({ verb: 'destroy' }))) }), GONE)
  })

  it('stops an apply that is on before it destroys', () => {
    const over = { apply: going(), view: view(made(aRun({ phase: 'Apply' })), 'running') }
    expect(seen(over), { is: 'act', actions: [{ do: 'cancel-run' }] })
  })

  it('waits until those that depend on it are gone', () => {
    const over = { apply: going(), view: view(made(aRun())), dependents: ['default/house'] }
    expect(seen(over), { is: 'waiting', reason: 'DependentsExist' })
  })

  it('keeps infrastructure and state when told to', () => {
    const over = { apply: going({ retainWorkspaceOnDelete: true }), view: view(made(aRun())) }
    expect(seen(over), { is: 'act', actions: [{ do: 'forget', keepState: true }, { do: 'remove-finalizer' }] })
  })

  it('never destroys what was moved away', () => {
    const annotations = { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }
    const over = { apply: going({}, { annotations }), view: view(made(aRun())) }
    assert.deepEqual(decide(seen(over)), { is: 'act', actions: [{ do: 'remove-finalizer' }] })
  })

  it('never destroys while paused', () => {
    expect(seen({ apply: going(), view: view(made(aRun())), paused: 'Cluster spec.paused is set to true' }), {
      is: 'waiting',
    })
  })

  it('resumes a destroy whose runner died, but not without end', () => {
    const lost = (resumed: number) => view(made(aRun({ verb: 'destroy', phase: 'Apply', resumed })), 'lost')
    expect(seen({ apply: going(), view: lost(2) }), DESTROY)
    expect(seen({ apply: going(), view: lost(3) }), { is: 'act', actions: [{ do: 'abandon-run' }] })
  })

  it('is Stalled when others hold it back longer than spec.deletionTimeout, and goes on when they are gone', () => {
    const over = { apply: going(), view: view(made(aRun())), deletionLeftSeconds: 0 }
    const held = decide(seen({ ...over, dependents: ['default/house'] }))
    assert.partialDeepStrictEqual(held, { is: 'stalled', reason: 'DeletionOverdue' })
    assert.match(held.is === 'stalled' ? held.hint : '', /delete default\/house.*retainWorkspaceOnDelete":true/)
    expect(seen(over), DESTROY)
  })

  it('says what to do when the destroy was refused, and tries again later', () => {
    const run = failed('user', { verb: 'destroy' })
    expect(seen({ apply: going(), view: view(made(run)), dueInSeconds: 20 }), {
      is: 'stalled',
      reason: 'DestroyFailed',
      retryAfterSeconds: 20,
    })
    expect(seen({ apply: going(), view: view(made(run)), dueInSeconds: 0 }), DESTROY)
  })
})
