// What is made for a run in a Job, and how the end of its pod is read: pure, as tables.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leaseName, recordName, slotName, stateName, suffixOf } from '../names.ts'
import { newRecord } from '../record/record.ts'
import { explainPod, hasEnded, type JobEvent, type PodFacts } from './explain-pod.ts'
import { renderIdentity } from './render-identity.ts'
import { jobName, renderJob, runResources } from './render-job.ts'

const owner = { namespace: 'team-a', name: 'demo-vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const run = { id: '0b9457d2-0000-4000-8000-000000000000', resumed: 0 }
const job = { namespace: 'capt-system', name: jobName(owner, run) }
const rendered = () =>
  renderJob({ owner, run, job, image: 'i', serviceAccount: 'capt-run', settings: 'capt-run', graceSeconds: 120 })
/** `~` stands for a slash within a key. */
const at = (value: unknown, path: string): unknown =>
  path.split('/').reduce((inner, key) => (inner as Record<string, unknown> | undefined)?.[key.replace('~', '/')], value)

describe('the Job of a run', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['spec/backoffLimit', 0],
    ['spec/podReplacementPolicy', 'Failed'],
    ['spec/activeDeadlineSeconds', undefined],
    ['spec/template/spec/restartPolicy', 'Never'],
    ['spec/template/spec/automountServiceAccountToken', false],
    ['spec/template/spec/serviceAccountName', 'capt-run'],
    ['spec/template/spec/terminationGracePeriodSeconds', 180],
    ['spec/template/spec/securityContext/runAsNonRoot', true],
    ['spec/template/spec/securityContext/seccompProfile/type', 'RuntimeDefault'],
    ['spec/template/spec/containers/0/securityContext/readOnlyRootFilesystem', true],
    ['spec/template/spec/containers/0/securityContext/capabilities/drop/0', 'ALL'],
    ['spec/template/spec/containers/0/resources/limits/ephemeral-storage', '8Gi'],
    ['spec/template/metadata/annotations/karpenter.sh~do-not-disrupt', 'true'],
    ['spec/template/metadata/annotations/cluster-autoscaler.kubernetes.io~safe-to-evict', 'false'],
    ['spec/template/metadata/annotations/capt.appthrust.com~apply', 'team-a/demo-vpc'],
  ]
  for (const [path, wanted] of cases) {
    it(`has ${JSON.stringify(wanted)} at ${path}`, () => {
      assert.equal(at(rendered(), path), wanted)
    })
  }

  it('has another name for each runner of a run, short enough for the name of a pod', () => {
    const names = [
      jobName(owner, run),
      jobName(owner, { ...run, resumed: 1 }),
      jobName({ ...owner, namespace: 'b' }, run),
    ]
    assert.equal(new Set(names).size, 3)
    assert.ok(jobName({ ...owner, name: 'x.'.repeat(120) }, run).length <= 57)
  })

  it('asks for no more than a limit that was lowered', () => {
    assert.deepEqual(runResources({ memory: '256Mi' }), {
      requests: { cpu: '100m', memory: '256Mi', 'ephemeral-storage': '1Gi' },
      limits: { memory: '256Mi', 'ephemeral-storage': '8Gi' },
    })
  })
})

describe('the identity of a workspace', () => {
  const rulesOf = (role: object) =>
    (role as { rules: { resources: string[]; resourceNames: string[]; verbs: string[] }[] }).rules
  const suffix = suffixOf(owner)
  it('names every object of the workspace, and can list nothing', () => {
    const record = { ...newRecord('w'), bundle: { id: 'b', parts: 2, bytes: 1, hash: '', tool: '' } }
    const connectionSecret = { namespace: 'team-a', name: 'out' }
    const { grants } = renderIdentity({
      owner: { ...owner, cluster: 'demo' },
      runNamespace: 'capt-system',
      record,
      connectionSecret,
    })
    assert.equal(grants.length, 1)
    const rules = rulesOf(grants[0]!.role)
    for (const { resourceNames, verbs } of rules) {
      assert.ok(resourceNames.length > 0)
      assert.deepEqual(
        verbs.filter((verb) => ['list', 'watch', 'deletecollection', '*'].includes(verb)),
        [],
      )
    }
    const names = rules.flatMap(({ resourceNames }) => resourceNames)
    for (const name of [
      recordName(suffix),
      stateName(suffix),
      slotName(suffix, 0),
      slotName(suffix, 63),
      leaseName(suffix),
      'out',
      'demo',
      `capt-bundle-${suffix}-b-1`,
    ])
      assert.ok(names.includes(name), name)
  })

  it('lets a speculative run read the record, the state and the inputs of its target, and write none of it', () => {
    const { grants } = renderIdentity({ owner, runNamespace: 'x', record: newRecord('w'), speculativeFor: 'target' })
    const target = suffixOf({ namespace: owner.namespace, name: 'target' })
    const its = rulesOf(grants[0]!.role).filter(({ resourceNames }) =>
      resourceNames.some((name) => name.includes(target)),
    )
    assert.deepEqual(
      its.map(({ verbs }) => verbs),
      [['get']],
    )
    assert.ok(its[0]!.resourceNames.includes(stateName(target)) && its[0]!.resourceNames.includes(recordName(target)))
  })

  it('has a role of its own for a connection Secret of another namespace, which it cannot make or delete', () => {
    const connectionSecret = { namespace: 'shared', name: 'out' }
    const { grants, account } = renderIdentity({
      owner,
      runNamespace: 'capt-system',
      record: newRecord('w'),
      connectionSecret,
    })
    const { role, binding } = grants[1]!
    assert.equal(role.metadata.namespace, 'shared')
    assert.deepEqual(rulesOf(role), [
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['out'], verbs: ['get', 'patch'] },
    ])
    assert.deepEqual((binding as unknown as { subjects: unknown }).subjects, [
      { kind: 'ServiceAccount', name: account.metadata.name, namespace: 'capt-system' },
    ])
  })
})

describe('the pod of a run', () => {
  const pod = (status: PodFacts['status']): PodFacts => ({
    metadata: { name: 'p' },
    spec: { nodeName: 'n1' },
    ...(status ? { status } : {}),
  })
  const container = (state: object) => ({ containerStatuses: [{ name: 'runner', state }] })
  const ended = (reason: string, exitCode = 137) => ({
    phase: 'Failed',
    ...container({ terminated: { reason, exitCode } }),
  })
  const disrupted = (reason: string) => ({
    ...ended('Error'),
    conditions: [{ type: 'DisruptionTarget', status: 'True', reason, message: 'm' }],
  })
  const refused = (message: string): readonly JobEvent[] => [{ reason: 'FailedCreate', message }]
  const cases: readonly (readonly [string, PodFacts | undefined, readonly JobEvent[], string | undefined, boolean])[] =
    [
      ['out of memory', pod(ended('OOMKilled')), [], 'CAPT_RUN_OUT_OF_MEMORY', false],
      [
        'evicted by its node',
        pod({ phase: 'Failed', reason: 'Evicted', message: 'low on disk' }),
        [],
        'CAPT_RUN_EVICTED',
        false,
      ],
      ['evicted by a drain', pod(disrupted('EvictionByEvictionAPI')), [], 'CAPT_RUN_EVICTED', false],
      ['preempted', pod(disrupted('PreemptionByScheduler')), [], 'CAPT_RUN_EVICTED', false],
      ['on a node that does not answer', pod(disrupted('DeletionByTaintManager')), [], 'CAPT_RUN_NODE_LOST', false],
      ['on a node that is gone', pod({ phase: 'Failed', reason: 'NodeLost' }), [], 'CAPT_RUN_NODE_LOST', false],
      ['ended with an error', pod(ended('Error', 1)), [], 'CAPT_RUN_POD_FAILED', false],
      ['ended well', pod({ phase: 'Succeeded', ...container({ terminated: { exitCode: 0 } }) }), [], undefined, false],
      [
        'without its image',
        pod({ phase: 'Pending', ...container({ waiting: { reason: 'ImagePullBackOff' } }) }),
        [],
        'CAPT_RUN_IMAGE_UNAVAILABLE',
        true,
      ],
      [
        'without a node',
        pod({
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3' }],
        }),
        [],
        'CAPT_RUN_UNSCHEDULABLE',
        true,
      ],
      [
        'with a setting that is missing',
        pod({ phase: 'Pending', ...container({ waiting: { reason: 'CreateContainerConfigError' } }) }),
        [],
        'CAPT_RUN_REFUSED',
        true,
      ],
      [
        'refused by the quota',
        undefined,
        refused('pods "x" is forbidden: exceeded quota: q'),
        'CAPT_RUN_QUOTA_EXCEEDED',
        true,
      ],
      [
        'refused by a webhook',
        undefined,
        refused('admission webhook "w" denied the request'),
        'CAPT_RUN_REFUSED',
        true,
      ],
      ['at work', pod({ phase: 'Running', ...container({ running: {} }) }), [], undefined, false],
      ['not made yet', undefined, [], undefined, false],
    ]
  for (const [what, found, events, code, waits] of cases) {
    it(`${what} is ${code ?? 'nothing to explain'}`, () => {
      const explanation = explainPod(found, events)
      assert.equal(explanation?.fault.code, code)
      assert.equal(explanation?.patienceSeconds !== undefined, waits)
    })
  }

  it('has ended only when its container has a terminal status', () => {
    assert.deepEqual(
      [
        pod(undefined),
        pod({ phase: 'Running', ...container({ running: {} }) }),
        pod({ phase: 'Running', ...container({ terminated: { exitCode: 1 } }) }),
        pod({ phase: 'Failed' }),
      ].map(hasEnded),
      [false, false, true, true],
    )
  })
})
