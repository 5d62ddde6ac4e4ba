import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AddonDelivery, AnyObject, CAPTCluster, CAPTControlPlane, Condition, WorkspaceTemplateApply } from '#api'
import { anApply } from '#testing'
import { applyBranch } from './apply-branch.ts'
import type { Branch } from './branch.ts'
import { clusterTree } from './cluster-tree.ts'
import { nameCauses, plain, renderStops, renderTree, stopsIn } from './render.ts'
import { stopOf } from './stops.ts'

const AT = '2026-01-01T00:00:00Z'
const NOW = Date.parse('2026-01-01T00:10:00Z')
const condition = (type: string, status: Condition['status'], reason: string, message: string): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: AT,
  observedGeneration: 1,
})
const waits = (reason: string, message: string) => [condition('Ready', 'False', reason, message)]
const stalls = (reason: string, message: string) => [
  condition('Ready', 'False', reason, message),
  condition('Stalled', 'True', reason, message),
]
const ready = [condition('Ready', 'True', 'Ready', '')]

const ours = (kind: string, conditions: readonly Condition[], more: object = {}): never =>
  ({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind,
    metadata: { name: 'demo', uid: `uid-${kind}`, generation: 1, ...(more as { metadata?: object }).metadata },
    spec: { version: 'v1.32.0', region: 'eu-west-1', clusterName: 'demo', pipelineRef: { name: 'p' } },
    status: { conditions, ...(more as { status?: object }).status },
  }) as never
const infrastructure = (conditions: readonly Condition[]): CAPTCluster => ours('CAPTCluster', conditions)
const controlPlane = (conditions: readonly Condition[]): CAPTControlPlane => ours('CAPTControlPlane', conditions)
const delivery = (conditions: readonly Condition[], stages: readonly object[] = []): AddonDelivery =>
  ours('AddonDelivery', conditions, { status: { stages } })
const apply = (
  conditions: readonly Condition[],
  status: object = {},
  metadata: object = {},
): WorkspaceTemplateApply => {
  const made = anApply()
  return {
    ...made,
    metadata: {
      ...made.metadata,
      name: 'demo-vpc',
      ownerReferences: [{ apiVersion: 'x/v1', kind: 'CAPTCluster', name: 'demo', uid: 'uid-CAPTCluster' }],
      ...metadata,
    },
    status: { conditions, ...status } as never,
  }
}

const cluster = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default' },
  spec: {
    infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'CAPTCluster', name: 'demo' },
    controlPlaneRef: { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'CAPTControlPlane', name: 'demo' },
  },
} as unknown as AnyObject

interface Case {
  readonly infrastructure?: CAPTCluster
  readonly controlPlane?: CAPTControlPlane
  readonly applies?: readonly WorkspaceTemplateApply[]
  readonly deliveries?: readonly AddonDelivery[]
}
const tree = (found: Case): Branch =>
  clusterTree({
    cluster,
    infrastructure: infrastructure(ready),
    controlPlane: controlPlane(ready),
    applies: [],
    deliveries: [],
    ...found,
  })

const ERROR = {
  kind: 'capacity',
  code: 'CAPT_TF_CAPACITY',
  address: 'aws_vpc.this',
  message: 'Limit reached',
  hint: 'ask for a higher quota',
}

/** Each: what the objects say, and what the one block must contain. */
const BLOCKS: readonly (readonly [string, Case, readonly RegExp[]])[] = [
  [
    'a downgrade that is refused',
    {
      controlPlane: controlPlane(
        stalls('VersionDowngrade', 'Kubernetes cannot go back from 1.33 to 1.32. set spec.version to 1.33'),
      ),
    },
    [
      /^What happened {4}Kubernetes cannot go back from 1\.33 to 1\.32$/m,
      /^Why {14}it is stalled and needs a person \(VersionDowngrade\)$/m,
      /^What to do {7}set spec\.version to 1\.33$/m,
    ],
  ],
  [
    'a template that does not exist',
    {
      infrastructure: infrastructure(waits('VPCCreating', 'Waiting for demo-vpc')),
      applies: [apply(waits('TemplateMissing', 'There is no WorkspaceTemplate nowhere'), { phase: 'Waiting' })],
    },
    [
      /^What happened {4}There is no WorkspaceTemplate nowhere$/m,
      /starts by itself/,
      /apply the manifest of the template/,
    ],
  ],
  [
    'an apply that is tried again',
    {
      infrastructure: infrastructure(waits('VPCCreating', 'Waiting for demo-vpc')),
      applies: [
        apply(waits('RetryScheduled', 'Attempt 2 failed and is tried again'), {
          phase: 'Retrying',
          attempts: 2,
          lastError: ERROR,
          state: { serial: 3, resources: 1 },
        }),
      ],
    },
    [
      /^What happened {4}aws_vpc\.this: Limit reached$/m,
      /attempt 2 failed; another one follows by itself/,
      /ask for a higher quota \(capt explain CAPT_TF_CAPACITY\); capt retry demo-vpc starts/,
      /^Nothing is lost {2}1 resource in state \(serial 3\)$/m,
    ],
  ],
  [
    'an apply that runs again after a failure',
    {
      infrastructure: infrastructure(waits('VPCCreating', 'Waiting for demo-vpc')),
      applies: [
        apply(waits('RunInProgress', 'Terraform apply is running'), {
          phase: 'Running',
          attempts: 3,
          lastError: ERROR,
        }),
      ],
    },
    [/aws_vpc\.this: Limit reached/, /attempt 3 is running now/, /nothing was made yet/],
  ],
  [
    'a destroy that stopped',
    {
      infrastructure: infrastructure(stalls('VPCDeletionFailed', 'demo-vpc: Limit reached. see below')),
      applies: [
        apply(
          stalls(
            'RetriesExhausted',
            'Attempt 4 to destroy failed: aws_vpc.this: Limit reached. Ways out: remove the cause, then capt retry demo-vpc -n default; or set retainWorkspaceOnDelete',
          ),
          { phase: 'Stalled', attempts: 4, lastError: ERROR, run: { verb: 'destroy' } },
          { deletionTimestamp: AT },
        ),
      ],
    },
    [
      /aws_vpc\.this: Limit reached/,
      /no further attempt follows after attempt 4 \(RetriesExhausted\)/,
      /Ways out: remove the cause, then capt retry demo-vpc -n default; or set retainWorkspaceOnDelete/,
    ],
  ],
  [
    'a destroy that was refused and is repeated',
    {
      applies: [
        apply(
          stalls('DestroyFailed', 'aws_vpc.this: Limit reached. ask for a higher quota'),
          { phase: 'Stalled', attempts: 2, run: { verb: 'destroy' }, lastError: { ...ERROR, kind: 'user' } },
          { deletionTimestamp: AT },
        ),
      ],
    },
    [/Limit reached/, /attempt 2 to destroy failed; another one follows by itself/],
  ],
  [
    'an apply with a template that is wrong',
    {
      applies: [
        apply(stalls('ApplyRejected', 'aws_vpc.this: Limit reached. correct it'), {
          phase: 'Stalled',
          attempts: 1,
          lastError: { ...ERROR, kind: 'user' },
        }),
      ],
    },
    [/the template or its variables are wrong; no attempt follows until they change/],
  ],
  [
    'a destroy that fails and is tried again',
    {
      applies: [
        apply(
          waits('RetryScheduled', 'Attempt 1 to destroy failed'),
          { phase: 'Deleting', attempts: 1, run: { verb: 'destroy' }, lastError: ERROR },
          { deletionTimestamp: AT },
        ),
      ],
    },
    [/Limit reached/, /another one follows by itself/, /set spec\.retainWorkspaceOnDelete to true/],
  ],
  [
    'an add-on that failed',
    {
      deliveries: [
        delivery(stalls('Failed', 'flux failed. see its message'), [
          {
            name: 'flux',
            state: 'Failed',
            message: 'gave up',
            attempts: 3,
            lastError: {
              code: 'CAPT_ADDON_UNHEALTHY',
              message: 'source-controller: CrashLoopBackOff',
              hint: 'look at its log',
            },
          },
        ]),
      ],
    },
    [
      /flux: source-controller: CrashLoopBackOff/,
      /no further attempt follows after 3 retries: gave up/,
      /look at its log \(capt explain CAPT_ADDON_UNHEALTHY\); capt retry adeliv demo/,
    ],
  ],
  [
    'an add-on that was delivered and does not work',
    {
      deliveries: [
        delivery(waits('NotHealthy', 'flux is not healthy'), [
          {
            name: 'flux',
            state: 'Checking',
            message: 'Deployment source-controller: 0 of 1 available',
            healthy: { status: 'False', evidence: ['source-controller-0: CrashLoopBackOff'] },
          },
        ]),
      ],
    },
    [/flux: source-controller-0: CrashLoopBackOff/, /kubectl --kubeconfig kubeconfig get pods -A/],
  ],
  [
    'a pipeline that does not exist',
    { deliveries: [delivery(waits('PipelineMissing', 'There is no AddonPipeline x'))] },
    [/There is no AddonPipeline x/, /capt get addonpipelines -A/],
  ],
  [
    'a delivery that nobody works on',
    { deliveries: [delivery([])] },
    [/No controller has reported on it yet/, /check that a manager runs/],
  ],
  [
    'an apply that is suspended',
    { applies: [apply(waits('Suspended', 'spec.suspend is set: no run is started'), { phase: 'Suspended' })] },
    [/spec\.suspend is set/, /set spec\.suspend to false/],
  ],
  [
    'an object that is paused',
    { controlPlane: controlPlane([condition('Paused', 'True', 'Paused', 'Cluster spec.paused is set to true')]) },
    [/Cluster spec\.paused is set to true/, /set spec\.paused of the Cluster to false/],
  ],
  [
    'a reason that nobody knows',
    { controlPlane: controlPlane(waits('toString', 'Something new')) },
    [/Something new/, /goes on by itself/, /capt doctor/],
  ],
]

describe('what is not ready', () => {
  for (const [name, found, texts] of BLOCKS)
    it(`has one block for ${name}`, () => {
      const root = tree(found)
      assert.equal(stopsIn(root).length, 1, JSON.stringify(stopsIn(root)))
      const text = renderStops(root, { width: 80, wraps: false, now: NOW })
      for (const expected of texts) assert.match(text, expected)
    })

  it('has a block for parts that a Cluster refers to and that do not exist', () => {
    const root = clusterTree({ cluster, applies: [], deliveries: [] })
    assert.match(
      renderStops(root, { width: 80, wraps: false, now: NOW }),
      /Cluster demo refers to CAPTCluster demo and CAPTControlPlane demo, which do not exist/,
    )
  })

  it('has no block while everything is under way or ready', () => {
    const underWay: readonly Case[] = [
      {},
      {
        infrastructure: infrastructure(waits('VPCCreating', 'Waiting for demo-vpc')),
        controlPlane: controlPlane(waits('WaitingForClusterInfrastructureReady', 'Waiting for the network')),
        applies: [apply(waits('RunInProgress', 'Terraform apply is running'), { phase: 'Running', attempts: 1 })],
        deliveries: [
          delivery(waits('WaitingForControlPlane', 'x'), [
            { name: 'flux', state: 'Waiting', reason: 'ControlPlaneNotReady' },
          ]),
        ],
      },
    ]
    for (const found of underWay) assert.equal(renderStops(tree(found), { width: 80, wraps: false, now: NOW }), '')
  })
})

describe('the tree', () => {
  const long = `Terraform failed: ${'a long story '.repeat(20)}END`
  const working = waits('RunInProgress', long)
  const root = tree({ controlPlane: controlPlane(working) })
  const stopped = tree({ controlPlane: controlPlane(stalls('Broken', `${long}. repair it`)) })

  it('has a Cluster that is as ready as its parts since they are, whatever its own condition says', () => {
    const available = { ...cluster, status: { conditions: [condition('Available', 'True', 'Available', '')] } }
    const at = (minute: number, conditions: readonly Condition[]) =>
      conditions.map((one) => ({ ...one, lastTransitionTime: `2026-01-01T00:0${minute}:00Z` }))
    const sinceWith = (plane: readonly Condition[], addons: readonly Condition[]) =>
      clusterTree({
        ...{ cluster: available as unknown as AnyObject, infrastructure: infrastructure(ready), applies: [] },
        ...{ controlPlane: controlPlane(plane), deliveries: [delivery(addons)] },
      }).since
    const broken = waits('Troubled', 'x')
    assert.equal(sinceWith(at(2, ready), at(5, ready)), '2026-01-01T00:05:00Z')
    assert.equal(sinceWith(at(2, ready), at(5, broken)), '2026-01-01T00:05:00Z')
    assert.equal(sinceWith(at(2, broken), at(5, broken)), '2026-01-01T00:02:00Z')
  })

  it('is never cut off a terminal', () => {
    const text = renderTree(root, { ...plain, width: 100, wraps: false, now: NOW })
    assert.doesNotMatch(text, /…/)
    assert.match(text, /CAPTControlPlane\/demo .*END {2}10m/)
  })

  it('is wrapped on a terminal, beside the lines of the tree', () => {
    const text = renderTree(root, { ...plain, width: 100, wraps: true, now: NOW })
    assert.doesNotMatch(text, /…/)
    for (const line of text.split('\n')) assert.ok(line.length <= 100, line)
    assert.match(text, /END/)
  })

  it('has a sentence once where it is shown as an object', () => {
    const { fact, children } = nameCauses(stopped)
    assert.equal(fact, 'because of CAPTControlPlane/demo')
    assert.match(JSON.stringify(children), /END/)
    assert.equal(nameCauses({ ...stopped, state: 'ready', fact: 'v1.35.0' }).fact, 'v1.35.0')
  })

  it('names what stopped, and leaves its sentence to the block', () => {
    const options = { ...plain, width: 100, wraps: false, now: NOW }
    const text = `${renderTree(stopped, options)}${renderStops(stopped, options)}`
    assert.equal(text.split('END').length, 2, text)
    assert.match(text, /^Cluster\/demo .* because of CAPTControlPlane\/demo +10m$/m)
    assert.match(text, /CAPTControlPlane\/demo +stalled +Broken +10m$/m)
    assert.match(text, /^Since +10m ago \(2026-01-01T00:00:00Z\)$/m)
    assert.match(text, /^Nothing is lost +\S/m)
  })
})

describe('a deletion that something in use holds', () => {
  it('shows who uses it as the cause, and what the message says to do as the next step', () => {
    const pipeline = ours('AddonPipeline', waits('StillUsed', 'AddonDeliveries follow it: demo. Delete them'))
    assert.partialDeepStrictEqual(stopOf(pipeline, 'waiting'), {
      what: 'AddonDeliveries follow it: demo',
      todo: 'Delete them',
    })
  })
})

describe('an apply that is tried again', () => {
  const error = { kind: 'network' as const, code: 'CAPT_TF_NETWORK', message: 'var.vpc_cidr is wrong', hint: 'wait' }
  const run = (verb: 'apply' | 'destroy') => ({
    verb,
    phase: 'Failed' as const,
    startedAt: '2026-01-01T00:09:00Z',
    finishedAt: '2026-01-01T00:09:50Z',
  })
  const textOf = (one: WorkspaceTemplateApply) =>
    renderStops(tree({ applies: [one] }), { width: 100, wraps: false, now: NOW })

  it('shows since when, the next attempt and how many follow', () => {
    const one = apply(waits('RetryScheduled', 'x'), { lastError: error, attempts: 2, run: run('apply') })
    const spec = { ...one.spec, retry: { limit: 5 } }
    const text = textOf({ ...one, spec })
    assert.match(text, /^Since +10s ago \(2026-01-01T00:09:50Z\)$/m)
    assert.match(text, /^Next attempt +in 10s \(2026-01-01T00:10:10Z\)$/m)
    assert.match(text, /^Deadline +attempt 2 of 6 \(spec\.retry\.limit\)$/m)
  })

  it('says each command once, also where the hint has it', () => {
    const todoOf = (hint: string) => {
      const one = apply(waits('RetryScheduled', 'x'), { lastError: { ...error, hint }, attempts: 1, run: run('apply') })
      return applyBranch(one).stop?.todo ?? ''
    }
    const { name } = apply([]).metadata
    for (const hint of ['wait', `make room, then: capt retry ${name}`, `capt logs ${name} shows the whole output`])
      for (const command of ['capt retry', 'capt logs'])
        assert.equal(todoOf(hint).split(`${command} ${name}`).length, 2, todoOf(hint))
  })

  it('names the field that a variable comes from', () => {
    const one = apply(waits('RetryScheduled', 'x'), { lastError: error, attempts: 1, run: run('apply') })
    const owner = { apiVersion: 'x/v1', kind: 'CAPTCluster', name: 'demo', uid: 'uid-CAPTCluster' }
    const owned = { ...one, metadata: { ...one.metadata, ownerReferences: [owner] } }
    assert.equal(applyBranch(owned).stop?.what, 'spec.vpcConfig.cidr of CAPTCluster demo is wrong')
    const alone = { ...one, metadata: { ...one.metadata, ownerReferences: [] } }
    const given = { ...alone, spec: { ...one.spec, variables: { vpc_cidr: 'x' } } }
    assert.equal(applyBranch(given).stop?.what, 'spec.variables.vpc_cidr is wrong')
    assert.equal(applyBranch(alone).stop?.what, 'var.vpc_cidr is wrong')
  })
})
