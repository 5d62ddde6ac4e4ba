import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { APPLY_FINALIZER, type WorkspaceTemplateApply } from '#api'
import { type FaultKind, type Run, type RunRecord, renderWorkspace } from '#engine'
import { anApply, anObservedApply, aTemplate } from '#testing'
import { decide } from './decide.ts'
import type { Observed } from './observe.ts'
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

function anObservation(
  over: Partial<Observed> & { readonly run?: Run; readonly apply?: WorkspaceTemplateApply } = {},
): Observed {
  const { run, ...rest } = over
  const about = over.apply ?? apply()
  return anObservedApply(about, {
    view: { record: run && aRecord(run), activity: 'idle', cancelling: false },
    template,
    rendering,
    deletionLeftSeconds: about.metadata.deletionTimestamp === undefined ? undefined : 3600,
    ...rest,
  })
}
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const running = (verb: Run['verb']) =>
  ({ record: aRecord(aRun({ verb, phase: 'Apply' })), activity: 'running', cancelling: false }) as const
const expect = (observed: Observed, wanted: object) => assert.partialDeepStrictEqual(decide(observed), wanted)
const STATE = { serial: 1, lineage: 'l', savedAt: '', resources: 1 }
const START = { is: 'act', actions: [{ do: 'start-run', verb: 'apply', hash }] }

describe('workspace apply', () => {
  it('holds itself before anything is made', () => {
    expect(anObservation({ apply: apply({}, { finalizers: [] }) }), { is: 'act', actions: [{ do: 'add-finalizer' }] })
  })

  it('starts the first run', () => expect(anObservation(), START))

  it('waits after an import until its owner has asked for it, and never again after the first run', () => {
    const imported = { at: '2026-01-01T00:00:00Z', from: 'x', owner: 'CAPTCluster demo' }
    const view = (record: RunRecord) => ({ view: { record, activity: 'idle', cancelling: false } }) as const
    const record = aRecord(undefined, { imported })
    expect(anObservation(view(record)), { is: 'waiting', reason: 'OwnerMissing' })
    const owner = { apiVersion: 'x/v1', kind: 'CAPTCluster', name: 'demo', uid: 'u', controller: true }
    expect(anObservation({ ...view(record), apply: apply({}, { ownerReferences: [owner] }) }), START)
    expect(anObservation(view(aRecord(undefined, { imported: { at: '', from: 'x' } }))), START)
    const applied = { hash: 'other', at: '', runId: 'r', outputs: {}, omitted: [] }
    expect(anObservation(view(aRecord(undefined, { imported, applied }))), START)
  })

  for (const [what, phase, over] of [
    ['an apply that runs', 'Running', { view: running('apply') }],
    ['a destroy that runs', 'Destroying', { apply: apply({}, DELETED), view: running('destroy') }],
    ['a deletion between two runs', 'Deleting', { apply: apply({}, DELETED), run: aRun() }],
    ['inputs that were applied', 'Applied', { run: aRun() }],
    ['a failure that another attempt may end', 'Retrying', { run: failed('throttling'), dueInSeconds: 30 }],
    ['a suspension', 'Suspended', { apply: apply({ suspend: true }) }],
  ] as const)
    it(`has the phase ${phase} for ${what}`, () => {
      const observed = anObservation(over as Partial<Observed>)
      assert.equal((statusOf(observed, decide(observed)).fields as { phase: string }).phase, phase)
    })

  it('reports why a queued run waits, its position and since when', () => {
    const run = aRun({ phase: 'Queued' })
    const queue = { position: 2, reason: 'IdentityLimit' as const }
    const observed = anObservation({ view: { record: aRecord(run), activity: 'running', cancelling: false, queue } })
    expect(observed, { is: 'waiting', reason: 'RunQueued', retryAfterSeconds: 60 })
    const fields = statusOf(observed, decide(observed)).fields as { run: { queue?: unknown } }
    assert.deepEqual(fields.run.queue, { ...queue, since: run.startedAt })
    const begun = anObservation({
      view: { record: aRecord(aRun({ phase: 'Init' })), activity: 'running', cancelling: false },
    })
    assert.equal((statusOf(begun, decide(begun)).fields as typeof fields).run.queue, undefined)
  })

  it('stalls before anything runs when the program that the template asks for is not there', () => {
    const refusal = { code: 'CAPT_TOOL_VERSION', message: 'too old', hint: 'install it' } as const
    const tool = { ok: false, refusal } as const
    expect(anObservation({ tool }), { is: 'stalled', reason: 'ToolMismatch', message: 'too old', hint: 'install it' })
    expect(anObservation({ tool, run: aRun() }), { is: 'done' })
    const deleted = apply({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })
    const record = aRecord(aRun(), { state: { serial: 1, lineage: 'l', savedAt: '', resources: 1 } })
    const view = { record, activity: 'idle' as const, cancelling: false }
    expect(anObservation({ apply: deleted, tool, view }), { is: 'stalled', reason: 'ToolMismatch' })
  })

  it('is done when these inputs were applied', () => expect(anObservation({ run: aRun() }), { is: 'done' }))

  it('runs once after a restore although these inputs were applied, with approval Manual', () => {
    const policy = { mode: 'Manual', guard: [], expirySeconds: 3600 } as const
    const approval = { policy, answer: undefined, leftSeconds: 0, isUnconfirmed: true }
    const start = { is: 'act', actions: [{ do: 'start-run', verb: 'apply', hash, approval: { mode: 'Manual' } }] }
    expect(anObservation({ run: aRun(), approval }), start)
    expect(anObservation({ run: aRun(), approval, apply: apply({ suspend: true }) }), { reason: 'Suspended' })
  })

  it('looks again at ConfigMaps and Secrets it read, and is woken for nothing else', () => {
    assert.deepEqual(decide(anObservation({ run: aRun() })), { is: 'done' })
    expect(anObservation({ run: aRun(), recheckSeconds: 300 }), { is: 'done', retryAfterSeconds: 300 })
    expect(anObservation({ run: failed('user'), recheckSeconds: 300 }), { is: 'stalled', retryAfterSeconds: 300 })
  })

  it('runs again when the inputs changed after a success', () =>
    expect(anObservation({ run: aRun({ hash: 'older' }) }), START))

  it('runs again when the inputs went back to what was applied before a failure', () => {
    const run = failed('user', { hash: 'newer' })
    const record = aRecord(run, { applied: { hash, at: '', runId: '', outputs: {}, omitted: [] } })
    expect(anObservation({ view: { record, activity: 'idle', cancelling: false } }), START)
  })

  it('waits for the VPC before it asks for the control plane', () => {
    expect(anObservation({ unready: ['default/demo-vpc'] }), {
      is: 'waiting',
      reason: 'DependencyNotReady',
      message: 'Waiting for default/demo-vpc',
    })
  })

  it('names a circle of waiting instead of waiting for ever', () => {
    expect(anObservation({ cycle: ['a', 'b', 'a'] }), {
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
      'waits for a slot when a template changed',
      { run: aRun({ hash: 'older' }), slot: { is: 'later', ahead: 3 } },
      'WaitingForTurn',
    ],
    ['can be held back by the template', { run: aRun({ hash: 'older' }), slot: { is: 'stopped' } }, 'RolloutStopped'],
    ['stalls when the input is wrong', { run: failed('user') }, 'ApplyRejected'],
    ['stalls when a run took too long', { run: failed('deadline') }, 'TimedOut'],
    ['stalls when a run was cancelled', { run: failed('cancelled', { phase: 'Cancelled' }) }, 'Cancelled'],
    ['stalls on credentials', { run: failed('credentials'), dueInSeconds: 9 }, 'CredentialsRejected'],
    ['waits for a lock of somebody else', { run: failed('locked'), dueInSeconds: 9 }, 'StateLocked'],
    ['retries when the cloud is busy', { run: failed('throttling'), dueInSeconds: 30 }, 'RetryScheduled'],
    ['gives up after the last attempt', { run: failed('network', { attempt: 6 }) }, 'RetriesExhausted'],
  ] as const) {
    it(name, () => expect(anObservation(over as never), { reason }))
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
    it(`tries again by itself after a fault of kind ${kind}`, () => expect(anObservation({ run: failed(kind) }), START))
  }

  it('begins again after a pause that stopped it, however often and however long ago', () => {
    expect(anObservation({ run: failed('paused', { phase: 'Cancelled', attempt: 9 }), dueInSeconds: 600 }), START)
  })

  it('tries again at once when the credentials changed', () => {
    expect(anObservation({ run: failed('credentials'), credentialsChanged: true }), START)
  })

  it('tries again when a person asks, whatever it failed with', () => {
    expect(anObservation({ run: failed('user'), retryToken: 'now' }), START)
    expect(anObservation({ run: aRun({ retryToken: 'now' }), retryToken: 'now' }), { is: 'done' })
  })

  it('lets a run go on and only says so', () => {
    const view = { record: aRecord(aRun({ phase: 'Apply' })), activity: 'running', cancelling: false } as const
    expect(anObservation({ view }), { is: 'waiting', reason: 'RunInProgress' })
  })

  it('stops the run that a person wants to have stopped, once', () => {
    const about = apply({}, { annotations: { 'capt.appthrust.com/cancel': 'run-1' } })
    const record = aRecord(aRun({ phase: 'Apply' }))
    expect(anObservation({ apply: about, view: { record, activity: 'running', cancelling: false } }), {
      is: 'act',
      actions: [{ do: 'cancel-run', runId: 'run-1' }],
    })
    expect(anObservation({ apply: about, view: { record, activity: 'running', cancelling: true } }), { is: 'waiting' })
  })

  it('cancels with the run a retry that was requested while it was on, and announces that retry before', () => {
    const about = apply({}, { annotations: { 'capt.appthrust.com/cancel': 'run-1' } })
    const view = (over: Partial<Run>) =>
      ({ record: aRecord(aRun({ phase: 'Apply', ...over })), activity: 'running', cancelling: false }) as const
    const dropsRetry = (over: Partial<Run>) => {
      const decision = decide(anObservation({ apply: about, retryToken: 'second', view: view(over) }))
      return decision.is === 'act' && decision.actions[0]?.do === 'cancel-run' && decision.actions[0].dropsRetry
    }
    assert.equal(dropsRetry({}), true)
    assert.equal(dropsRetry({ retryToken: 'first' }), true)
    assert.equal(dropsRetry({ retryToken: 'second' }), false, 'the run itself answers that one')
    expect(anObservation({ retryToken: 'second', view: view({}) }), {
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
    const idle = anObservation({ view: { record, activity: 'idle', cancelling: false }, retryToken: 'now' })
    expect(idle, { is: 'done' })
    const { fields, conditions } = statusOf(idle, decide(idle))
    assert.deepEqual([fields?.['phase'], fields?.['lastError']], ['Applied', undefined])
    assert.partialDeepStrictEqual(
      conditions?.find(({ type }) => type === 'Synced'),
      {
        status: 'True',
        message: 'The last run was cancelled before it changed anything: everything is as it was applied',
      },
    )
  })

  it('resumes a lost run, but not for ever', () => {
    const lost = (resumed: number) =>
      ({ record: aRecord(aRun({ phase: 'Apply', resumed })), activity: 'lost', cancelling: false }) as const
    expect(anObservation({ view: lost(0) }), START)
    expect(anObservation({ view: lost(3) }), { is: 'act', actions: [{ do: 'abandon-run' }] })
  })

  it('never starts a second run while the first cannot be proven dead', () => {
    const view = { record: aRecord(aRun({ phase: 'Apply' })), activity: 'unreachable', cancelling: false } as const
    expect(anObservation({ view }), { is: 'stalled', reason: 'RunnerUnreachable' })
  })

  it('lets a move go on only after the end of the run was reported', () => {
    const annotations = { 'clusterctl.cluster.x-k8s.io/block-move': 'true' }
    const unreported = apply({}, { annotations })
    expect(anObservation({ apply: unreported, run: aRun() }), { is: 'done' })
    const reported = { ...unreported, status: { run: { id: 'run-1', phase: 'Succeeded' as const } } }
    expect(anObservation({ apply: reported, run: aRun() }), { is: 'act', actions: [{ do: 'unblock-move' }] })
  })
})

describe('a speculative apply', () => {
  const of = (leftSeconds: number, over: Parameters<typeof anObservation>[0] = {}, refusal?: string) =>
    anObservation({ speculation: { target: 'real', refusal, leftSeconds }, ...over })
  const rows: readonly (readonly [string, Observed, object])[] = [
    ['is planned', of(3600), START],
    ['goes after an hour', of(0), { is: 'act', actions: [{ do: 'delete-self' }] }],
    ['goes after an hour, refused or not', of(0, {}, 'no'), { is: 'act', actions: [{ do: 'delete-self' }] }],
    ['is refused until then', of(9, {}, 'no'), { reason: 'SpeculationRefused', retryAfterSeconds: 9 }],
    ['that failed is looked at again then', of(9, { run: failed('user') }), { is: 'stalled', retryAfterSeconds: 9 }],
    ['that waits is too', of(9, { template: undefined }), { reason: 'TemplateMissing', retryAfterSeconds: 9 }],
    ['is looked at sooner where that is due', of(999, { missingSecrets: ['default/x'] }), { retryAfterSeconds: 15 }],
    [
      'with resources of its own is never deleted',
      of(0, { view: { record: aRecord(undefined, { state: STATE }), activity: 'idle', cancelling: false } }),
      { is: 'stalled', reason: 'SpeculationRefused', message: 'It has resources of its own' },
    ],
  ]
  for (const [what, observed, wanted] of rows) it(what, () => expect(observed, wanted))
})

describe('deletion of a workspace apply', () => {
  const going = (spec = {}, metadata = {}) => apply(spec, { deletionTimestamp: '2026-01-01T00:00:00Z', ...metadata })
  const made = (run: Run, over: Partial<RunRecord> = {}) =>
    aRecord(run, { bundle: { id: 'b', parts: 1, bytes: 1, hash, tool: '' }, ...over })
  const view = (record: RunRecord | undefined, activity = 'idle') =>
    ({ record, activity, cancelling: false }) as Observed['view']
  const GONE = { is: 'act', actions: [{ do: 'forget', keepState: false }, { do: 'remove-finalizer' }] }
  const DESTROY = { is: 'act', actions: [{ do: 'start-run', verb: 'destroy', hash }] }

  it('ends at once when nothing was ever started', () => expect(anObservation({ apply: going() }), GONE))

  it('ends at once when nothing was made', () => {
    expect(anObservation({ apply: going(), view: view(aRecord(failed('user'))) }), GONE)
  })

  it('destroys what was made', () => expect(anObservation({ apply: going(), view: view(made(aRun())) }), DESTROY))

  it('destroys without a template', () => {
    const over = { apply: going(), template: undefined, rendering: undefined, view: view(made(aRun())) }
    expect(anObservation(over), DESTROY)
  })

  it('ends after the destroy', () => {
    expect(anObservation({ apply: going(), view: view(made(aRun({ verb: 'destroy' }))) }), GONE)
  })

  it('reports a destroy before the record that proves it is removed', () => {
    const state = { serial: 2, lineage: 'l', resources: 3 }
    const destroyed = view(made(aRun({ verb: 'destroy' })))
    const reported = (status: object) => ({ ...going(), status }) as WorkspaceTemplateApply
    expect(anObservation({ apply: reported({ state }), view: destroyed }), { is: 'waiting', reason: 'Destroyed' })
    const run = { id: 'r', verb: 'destroy', phase: 'Succeeded', attempt: 1, startedAt: '' }
    expect(anObservation({ apply: reported({ state, run }), view: destroyed }), GONE)
    // The finalizer was refused after the record had gone.
    const remains = { is: 'empty', notes: [] } as const
    expect(anObservation({ apply: reported({ state, run }), view: view(undefined), remains }), GONE)
  })

  it('stops an apply that is on before it destroys', () => {
    const over = { apply: going(), view: view(made(aRun({ phase: 'Apply' })), 'running') }
    expect(anObservation(over), { is: 'act', actions: [{ do: 'cancel-run' }] })
  })

  it('waits until those that depend on it are gone', () => {
    const over = { apply: going(), view: view(made(aRun())), dependents: ['default/house'] }
    expect(anObservation(over), { is: 'waiting', reason: 'DependentsExist' })
  })

  it('keeps infrastructure and state when asked to', () => {
    const over = { apply: going({ retainWorkspaceOnDelete: true }), view: view(made(aRun())) }
    expect(anObservation(over), { is: 'act', actions: [{ do: 'forget', keepState: true }, { do: 'remove-finalizer' }] })
  })

  it('never destroys what was moved away', () => {
    const annotations = { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }
    const over = { apply: going({}, { annotations }), view: view(made(aRun())) }
    assert.deepEqual(decide(anObservation(over)), { is: 'act', actions: [{ do: 'remove-finalizer' }] })
  })

  it('never destroys while paused', () => {
    expect(anObservation({ apply: going(), view: view(made(aRun())), paused: 'Cluster spec.paused is set to true' }), {
      is: 'waiting',
    })
  })

  it('resumes a destroy whose runner died, but not without end', () => {
    const lost = (resumed: number) => view(made(aRun({ verb: 'destroy', phase: 'Apply', resumed })), 'lost')
    expect(anObservation({ apply: going(), view: lost(2) }), DESTROY)
    expect(anObservation({ apply: going(), view: lost(3) }), { is: 'act', actions: [{ do: 'abandon-run' }] })
  })

  it('is Stalled when others hold it back longer than spec.deletionTimeout, and goes on when they are gone', () => {
    const over = { apply: going(), view: view(made(aRun())), deletionLeftSeconds: 0 }
    const held = decide(anObservation({ ...over, dependents: ['default/house'] }))
    assert.partialDeepStrictEqual(held, { is: 'stalled', reason: 'DeletionOverdue' })
    assert.match(held.is === 'stalled' ? held.hint : '', /delete default\/house.*retainWorkspaceOnDelete":true/)
    expect(anObservation(over), DESTROY)
  })

  it('says what to do when the destroy was refused, and tries again later', () => {
    const run = failed('user', { verb: 'destroy' })
    expect(anObservation({ apply: going(), view: view(made(run)), dueInSeconds: 20 }), {
      is: 'stalled',
      reason: 'DestroyFailed',
      retryAfterSeconds: 20,
    })
    expect(anObservation({ apply: going(), view: view(made(run)), dueInSeconds: 0 }), DESTROY)
  })
})
