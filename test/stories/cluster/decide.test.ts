// Decisions about CAPTCluster and CAPTControlPlane, one observation at a time.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { APPLY_FINALIZER, BLOCK_MOVE_ANNOTATION } from '#api'
import { decide as decideInfra } from '../../../src/controllers/cluster/decide.ts'
import { decide } from '../../../src/controllers/control-plane/decide.ts'
import { toEndpoint } from '../../../src/controllers/control-plane/outputs.ts'
import { statusOf } from '../../../src/controllers/control-plane/status.ts'
import { eksVersion, fullVersion, refuseStep, runningVersion } from '../../../src/controllers/control-plane/version.ts'
import { toApply } from '../../../src/controllers/shared/apply.ts'
import {
  anObservedInfra,
  anObservedPlane,
  applied,
  currentSecrets,
  NOW_MS,
  someFacts,
} from '../../support/cluster/observed.ts'

const MINUTE = 60_000

function stopped(reason: string, error: object, observedGeneration = 1) {
  const condition = {
    status: 'True' as const,
    reason,
    message: 'the condition',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration,
  }
  return {
    phase: 'Stalled' as const,
    lastError: error,
    conditions: [
      { ...condition, type: 'Ready', status: 'False' as const },
      { ...condition, type: 'Stalled' },
    ],
  }
}

describe('the control plane', () => {
  const waitingInfra = { observed: { cluster: someFacts({ infrastructureProvisioned: false }) }, isRequested: false }

  it('waits for the VPC without another request before its timeout', () => {
    assert.partialDeepStrictEqual(decide(anObservedPlane(waitingInfra)), {
      is: 'waiting',
      reason: 'WaitingForClusterInfrastructureReady',
      retryAfterSeconds: 14 * 60,
    })
  })

  it('stalls when the VPC takes longer than vpcReadyTimeout, and goes on when it is there after all', () => {
    const spec = {
      version: '1.34',
      workspaceTemplateRef: { name: 'eks' },
      controlPlaneConfig: { timeouts: { controlPlaneTimeout: 30, vpcReadyTimeout: 2 } },
    }
    const late = { spec, isRequested: false, observed: { ...waitingInfra.observed, nowMs: NOW_MS + MINUTE } }
    assert.partialDeepStrictEqual(decide(anObservedPlane(late)), { is: 'stalled', reason: 'VPCReadyTimeout' })
    const there = { spec, isRequested: false, observed: { nowMs: NOW_MS + MINUTE } }
    assert.partialDeepStrictEqual(decide(anObservedPlane(there)), { is: 'act' })
  })

  it('never begins without the network of its own CAPTCluster', () => {
    const infra = { ...anObservedInfra().object, status: {} }
    assert.partialDeepStrictEqual(decide(anObservedPlane({ infra, isRequested: false })), {
      reason: 'WaitingForClusterInfrastructureReady',
    })
  })

  it('says ControlPlaneTimeout when the run took longer than controlPlaneTimeout', () => {
    const apply = stopped('Deadline', {
      kind: 'deadline',
      message: 'The run took longer than 30m',
      hint: 'raise the timeout',
    })
    assert.partialDeepStrictEqual(decide(anObservedPlane({ apply })), {
      is: 'stalled',
      reason: 'ControlPlaneTimeout',
      hint: 'raise the timeout',
    })
  })

  it('does not take an old failure for one of what is asked now', () => {
    const apply = stopped('ApplyRejected', { kind: 'user', message: 'no' }, 1)
    assert.partialDeepStrictEqual(decide(anObservedPlane({ apply, applyMetadata: { generation: 2 } })), {
      is: 'waiting',
      reason: 'Creating',
    })
  })

  it('keeps its hands off an apply that belongs to somebody else', () => {
    const ownerReferences = [{ apiVersion: 'x/v1', kind: 'Other', name: 'o', uid: 'u9', controller: true }]
    assert.partialDeepStrictEqual(decide(anObservedPlane({ applyMetadata: { ownerReferences } })), {
      is: 'stalled',
      reason: 'WorkspaceNameTaken',
    })
    const deleting = decide(
      anObservedPlane({
        applyMetadata: { ownerReferences },
        metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
        observed: { cluster: undefined },
      }),
    )
    assert.deepEqual(deleting, { is: 'act', actions: [{ do: 'remove-finalizer' }] })
  })

  it('says what to set when no region is known', () => {
    const observed = { region: undefined, request: undefined }
    assert.partialDeepStrictEqual(decide(anObservedPlane({ observed, isRequested: false })), {
      is: 'stalled',
      reason: 'RegionMissing',
    })
  })

  it('is Available while a change fails, and says so in RollingOut', () => {
    const apply = stopped('ApplyRejected', { kind: 'user', address: 'aws_x.y', message: 'no', hint: 'fix it' })
    const status = { initialization: { controlPlaneInitialized: true } }
    const observed = anObservedPlane({ apply, status, observed: { secrets: currentSecrets() } })
    const { conditions = [] } = statusOf(observed, decide(observed))
    const by = (type: string) => conditions.find((condition) => condition.type === type)
    assert.equal(by('Available')?.status, 'True')
    assert.match(by('RollingOut')?.message ?? '', /aws_x\.y: no\. fix it/)
  })

  it('is Available in the moment between the end of a run and the Secrets made from it', () => {
    const status = { initialization: { controlPlaneInitialized: true } }
    const observed = anObservedPlane({
      status,
      observed: { secrets: currentSecrets(), source: 'of the run that just ended' },
    })
    const decision = decide(observed)
    assert.deepEqual(decision, { is: 'act', actions: [{ do: 'write-secrets' }] })
    const { conditions = [], fields } = statusOf(observed, decision)
    const by = (type: string) => conditions.find((condition) => condition.type === type)
    assert.deepEqual(
      [by('Available')?.status, by('KubeconfigAvailable')?.status, fields?.['ready']],
      ['True', 'True', true],
    )
  })

  it('shows the worst of its deliveries, and stays Available: add-ons are not the control plane', () => {
    const delivery = (name: string, status: 'True' | 'False' | 'Unknown', message: string) => ({
      name,
      pipeline: { namespace: 'capt-system', name: 'default' },
      tornDown: false,
      mayBeDelivered: true,
      message: '',
      components: [],
      health: { type: 'AddonsHealthy', status, reason: 'Test', message, lastTransitionTime: '' },
    })
    const conditionsWith = (...deliveries: readonly ReturnType<typeof delivery>[]) => {
      const status = { initialization: { controlPlaneInitialized: true } }
      const observed = anObservedPlane({ status, observed: { secrets: currentSecrets(), deliveries } })
      const { conditions = [] } = statusOf(observed, decide(observed))
      return conditions
    }
    const shown = conditionsWith(
      delivery('a', 'True', ''),
      delivery('b', 'False', 'karpenter: CrashLoopBackOff'),
      delivery('c', 'Unknown', 'flux: on its way'),
    )
    assert.partialDeepStrictEqual(
      shown.find(({ type }) => type === 'AddonsHealthy'),
      { status: 'False', message: 'AddonDelivery b: karpenter: CrashLoopBackOff' },
    )
    assert.equal(shown.find(({ type }) => type === 'Available')?.status, 'True')
    assert.ok(!conditionsWith().some(({ type }) => type === 'AddonsHealthy'))
  })
})

describe('the VPC', () => {
  it('asks for the owner before anything else', () => {
    const observed = anObservedInfra({ metadata: { finalizers: [] }, observed: { cluster: undefined } })
    assert.partialDeepStrictEqual(decideInfra(observed), { is: 'waiting', reason: 'WaitingForCluster' })
  })

  it('takes its finalizer before it asks for anything', () => {
    assert.deepEqual(decideInfra(anObservedInfra({ metadata: { finalizers: [] } })), {
      is: 'act',
      actions: [{ do: 'add-finalizer' }],
    })
  })

  it('is done when the run is through', () => {
    assert.deepEqual(decideInfra(anObservedInfra()), { is: 'done' })
  })

  it('asks for a run by an apply that is held, and blocks a move, from its first moment on', () => {
    const decision = decideInfra(anObservedInfra({ observed: { apply: undefined } }))
    assert.ok(decision.is === 'act')
    const [action] = decision.actions
    assert.ok(action?.do === 'write-apply')
    const { metadata } = toApply(action.request)
    assert.deepEqual(metadata.finalizers, [APPLY_FINALIZER])
    assert.equal(metadata.annotations?.[BLOCK_MOVE_ANNOTATION], 'true')
  })

  it('is not put together from an output that is no text', () => {
    assert.partialDeepStrictEqual(decideInfra(anObservedInfra({ apply: applied({ vpc_id: ['a'] }) })), {
      is: 'stalled',
      reason: 'OutputMissing',
    })
  })
})

describe('versions', () => {
  const minor = fc.integer({ min: 20, max: 60 })

  it('go one minor version up and never down', () => {
    fc.assert(
      fc.property(minor, minor, (from, to) => {
        const refused = refuseStep(`1.${from}`, `1.${to}`)
        assert.equal(refused === undefined, to === from || to === from + 1)
      }),
      { numRuns: 200 },
    )
  })

  it('are the same for EKS in every spelling, and full for Cluster API', () => {
    fc.assert(
      fc.property(minor, fc.nat(99), fc.boolean(), (line, patch, lead) => {
        const text = `${lead ? 'v' : ''}1.${line}`
        assert.equal(eksVersion(text), `1.${line}`)
        assert.equal(eksVersion(`${text}.${patch}`), `1.${line}`)
        assert.equal(fullVersion(`${text}.${patch}`), `v1.${line}.${patch}`)
        assert.equal(fullVersion(text), `v1.${line}.0`)
      }),
      { numRuns: 200 },
    )
  })

  it('are reported as the spec says them once they run, and as they were before', () => {
    assert.equal(runningVersion('1.34', 'v1.34.2', undefined), 'v1.34.2')
    assert.equal(runningVersion('1.34', 'v1.35.0', 'v1.34.2'), 'v1.34.2')
    assert.equal(runningVersion('1.34', 'v1.35.0', undefined), 'v1.34.0')
    assert.equal(runningVersion(undefined, 'v1.35.0', undefined), undefined)
  })
})

describe('the endpoint', () => {
  for (const [output, endpoint] of [
    ['https://ABC.gr7.eu-west-1.eks.amazonaws.com', { host: 'abc.gr7.eu-west-1.eks.amazonaws.com', port: 443 }],
    ['https://127.0.0.1:6443/workloads/a', { host: '127.0.0.1', port: 6443 }],
    ['demo.test:8443', { host: 'demo.test', port: 8443 }],
    ['', undefined],
    [7, undefined],
    ['https://', undefined],
  ] as const)
    it(`of ${JSON.stringify(output)} has no scheme`, () => assert.deepEqual(toEndpoint(output), endpoint))
})
