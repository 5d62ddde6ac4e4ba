// What the doctor concludes from what objects report of themselves: objects in, findings out.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnyObject, Condition, WorkspaceTemplateApply } from '#api'
import { anApply } from '#testing'
import type { Finding } from '#view'
import { examineCluster, examineObject } from './objects.ts'
import { examineApply } from './workspace.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1000).toISOString()
const condition = (type: string, status: Condition['status'], reason: string, message: string, age: number) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: at(age),
  observedGeneration: 1,
})
const waits = (reason: string, message: string, age: number) => [condition('Ready', 'False', reason, message, age)]
const stalls = (reason: string, message: string) => [
  condition('Ready', 'False', reason, message, 5),
  condition('Stalled', 'True', reason, message, 5),
]
const ready = [condition('Ready', 'True', 'Ready', '', 3600)]

const object = (kind: string, conditions: readonly object[], status: object = {}, metadata: object = {}): AnyObject =>
  ({
    apiVersion: `${kind === 'CAPTControlPlane' ? 'controlplane' : 'infrastructure'}.cluster.x-k8s.io/v1beta1`,
    kind,
    metadata: { name: 'demo', generation: 1, creationTimestamp: at(7200), ...metadata },
    spec: { clusterName: 'demo', pipelineRef: { name: 'p' } },
    status: { conditions, ...status },
  }) as unknown as AnyObject
const delivery = (conditions: readonly object[], status: object = {}) => object('AddonDelivery', conditions, status)
const ofObject = (one: AnyObject) => examineObject(one, NOW).findings

const ERROR = {
  kind: 'credentials',
  code: 'CAPT_TF_CREDENTIALS',
  message: 'AccessDenied',
  hint: 'check the credentials',
}
const ofApply = (conditions: readonly object[], status: object = {}, metadata: object = {}) => {
  const apply = {
    ...anApply({}, { generation: 1, creationTimestamp: at(7200), ...metadata }),
    status: { conditions, ...status },
  } as unknown as WorkspaceTemplateApply
  const exam = { record: undefined, lock: { is: 'free' }, state: { is: 'none' }, runner: undefined } as never
  return examineApply({ apply, exam, cloud: { is: 'skipped' }, nowMs: NOW }).findings
}

interface Expected {
  readonly word: string
  readonly weight: Finding['weight']
  readonly what: RegExp
  readonly todo?: RegExp
}

const CASES: readonly (readonly [string, readonly Finding[], readonly Expected[]])[] = [
  ['a ready object', ofObject(object('CAPTCluster', ready)), []],
  ['an object that has waited for a moment', ofObject(object('CAPTCluster', waits('TemplateMissing', 'x', 10))), []],
  [
    'an object that has waited for more than a minute',
    ofObject(object('CAPTControlPlane', waits('SecretsMissing', 'Waiting for Secret a', 61))),
    [{ word: 'waiting', weight: 'person', what: /Waiting for Secret a/, todo: /make the Secret/ }],
  ],
  [
    'a long step of its own',
    ofObject(object('CAPTCluster', waits('VPCCreating', 'Waiting for demo-vpc', 300))),
    [{ word: 'waiting', weight: 'know', what: /Waiting for demo-vpc/ }],
  ],
  [
    'an object that no controller has reported on for more than a minute',
    ofObject(object('CAPTCluster', [])),
    [{ word: 'waiting', weight: 'person', what: /No controller has reported/, todo: /check that a manager runs/ }],
  ],
  [
    'an object that stopped, at once',
    ofObject(object('CAPTControlPlane', stalls('VersionDowngrade', 'It cannot go back. Set 1.33'))),
    [{ word: 'stalled', weight: 'person', what: /It cannot go back/ }],
  ],
  [
    'a deletion that has gone on for more than a minute',
    ofObject(
      object(
        'CAPTCluster',
        [
          ...waits('Deleting', 'Waiting', 90),
          condition('Deleting', 'True', 'VPCDeletionFailed', 'demo-vpc failed', 90),
        ],
        {},
        { deletionTimestamp: at(90) },
      ),
    ),
    [{ word: 'deleting', weight: 'person', what: /demo-vpc failed/ }],
  ],
  [
    'a template that does not exist',
    ofApply(waits('TemplateMissing', 'There is no WorkspaceTemplate vpc', 120), { phase: 'Waiting' }),
    [{ word: 'waiting', weight: 'person', what: /There is no WorkspaceTemplate vpc/, todo: /apply the manifest/ }],
  ],
  [
    'a retry loop, at once',
    ofApply(waits('RunInProgress', 'Terraform apply is running', 5), {
      phase: 'Running',
      attempts: 24,
      lastError: ERROR,
      run: { verb: 'apply' },
    }),
    [
      {
        word: 'failing',
        weight: 'person',
        what: /attempt 24 of terraform apply failed: AccessDenied/,
        todo: /check the credentials \(capt explain CAPT_TF_CREDENTIALS\)/,
      },
    ],
  ],
  [
    'a destroy that failed, at once',
    ofApply(
      waits('RetryScheduled', 'Attempt 7 to destroy failed', 5),
      { phase: 'Deleting', attempts: 7, lastError: ERROR, run: { verb: 'destroy' } },
      { deletionTimestamp: at(30) },
    ),
    [{ word: 'failing', weight: 'person', what: /attempt 7 of terraform destroy failed: AccessDenied/ }],
  ],
  [
    'a destroy that stopped',
    ofApply(
      stalls('RetriesExhausted', 'Attempt 7 to destroy failed: AccessDenied. Ways out: retainWorkspaceOnDelete'),
      { phase: 'Stalled', lastError: ERROR },
      { deletionTimestamp: at(30) },
    ),
    [{ word: 'stalled', weight: 'person', what: /Ways out/ }],
  ],
  ['an apply that failed once and is ready now', ofApply(ready, { lastError: ERROR }), []],
  [
    'an apply that has run for long',
    ofApply(waits('RunInProgress', 'Terraform apply is running', 900), { phase: 'Running', attempts: 1 }),
    [{ word: 'waiting', weight: 'know', what: /Terraform apply is running/ }],
  ],
  [
    'an add-on that crashes in a loop',
    ofObject(
      delivery(waits('NotHealthy', 'flux is not healthy', 240), {
        stages: [
          {
            name: 'flux',
            state: 'Checking',
            startedAt: at(300),
            healthy: { status: 'False', since: at(240), evidence: ['source-controller: CrashLoopBackOff'] },
          },
          { name: 'karpenter', state: 'Waiting', reason: 'NeedsNotReady', message: 'Waiting for flux' },
        ],
      }),
    ),
    [{ word: 'add-on', weight: 'person', what: /flux: source-controller: CrashLoopBackOff/, todo: /get pods -A/ }],
  ],
  [
    'an add-on that starts',
    ofObject(
      delivery(waits('Checking', 'flux is being checked', 20), {
        stages: [
          {
            name: 'flux',
            state: 'Checking',
            startedAt: at(20),
            healthy: { status: 'False', since: at(20), evidence: ['0 of 1'] },
          },
        ],
      }),
    ),
    [],
  ],
  [
    'what a teardown left',
    ofObject(delivery(ready, { teardown: { leftovers: ['volume vol-1'] } })),
    [{ word: 'left', weight: 'person', what: /volume vol-1/ }],
  ],
  [
    'a Cluster whose parts do not exist',
    examineCluster(
      {
        cluster: {
          apiVersion: 'cluster.x-k8s.io/v1beta2',
          kind: 'Cluster',
          metadata: { name: 'demo' },
          spec: {
            infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'CAPTCluster', name: 'gone' },
          },
        } as never,
        applies: [],
        deliveries: [],
        hasDelivery: false,
      },
      0,
    ).findings,
    [{ word: 'missing', weight: 'person', what: /refers to CAPTCluster gone, which does not exist/, todo: /apply/ }],
  ],
]

const asking = (hasDelivery: boolean, age: number, labels: object = { 'fluxcd.io/enabled': 'true' }) => {
  const cluster = object('Cluster', ready, {}, { labels, creationTimestamp: at(age) })
  return examineCluster({ cluster: { ...cluster, spec: {} } as never, applies: [], deliveries: [], hasDelivery }, NOW)
    .findings
}
const UNSERVED: readonly (typeof CASES)[number][] = [
  [
    'a Cluster that asks for add-ons, and that no pipeline serves',
    asking(false, 3600),
    [{ word: 'add-on', weight: 'person', what: /label fluxcd\.io\/enabled asks .* no AddonPipeline/, todo: /apply/ }],
  ],
  ['a Cluster whose add-ons a pipeline brings', asking(true, 3600), []],
  ['a Cluster that asks since a moment', asking(false, 5), []],
  ['a Cluster that asks for none', asking(false, 3600, { 'fluxcd.io/enabled': 'no' }), []],
]

describe('the doctor', () => {
  for (const [name, found, expected] of [...CASES, ...UNSERVED])
    it(`${expected.length === 0 ? 'finds nothing in' : 'reports'} ${name}`, () => {
      assert.deepEqual(
        found.map(({ word, weight }) => ({ word, weight })),
        expected.map(({ word, weight }) => ({ word, weight })),
        JSON.stringify(found),
      )
      for (const [i, { what, todo }] of expected.entries()) {
        assert.match(found[i]!.what, what)
        if (todo) assert.match(found[i]!.todo, todo)
      }
    })
})
