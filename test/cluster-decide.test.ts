// Decisions about CAPTCluster and CAPTControlPlane, one observation at a time.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { APPLY_FINALIZER, BLOCK_MOVE_ANNOTATION } from '#api'
import { toApply } from '../src/controllers/cluster/apply.ts'
import { decide as decideInfra } from '../src/controllers/cluster/decide.ts'
import { decide } from '../src/controllers/control-plane/decide.ts'
import { toEndpoint } from '../src/controllers/control-plane/outputs.ts'
import { statusOf } from '../src/controllers/control-plane/status.ts'
import { eksVersion, fullVersion, refuseStep, runningVersion } from '../src/controllers/control-plane/version.ts'
import { anInfraSeen, aPlaneSeen, applied, currentSecrets, NOW_MS, someFacts } from './cluster-seen.ts'

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
  const waitingInfra = { seen: { cluster: someFacts({ infrastructureProvisioned: false }) }, isRequested: false }

  it('waits for the VPC without asking again before its patience ends', () => {
    assert.partialDeepStrictEqual(decide(aPlaneSeen(waitingInfra)), {
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
    const late = { spec, isRequested: false, seen: { ...waitingInfra.seen, nowMs: NOW_MS + MINUTE } }
    assert.partialDeepStrictEqual(decide(aPlaneSeen(late)), { is: 'stalled', reason: 'VPCReadyTimeout' })
    const there = { spec, isRequested: false, seen: { nowMs: NOW_MS + MINUTE } }
    assert.partialDeepStrictEqual(decide(aPlaneSeen(there)), { is: 'act' })
  })

  it('never begins without the network of its own CAPTCluster', () => {
    const infra = { ...anInfraSeen().object, status: {} }
    assert.partialDeepStrictEqual(decide(aPlaneSeen({ infra, isRequested: false })), {
      reason: 'WaitingForClusterInfrastructureReady',
    })
  })

  it('says ControlPlaneTimeout when the run took longer than controlPlaneTimeout', () => {
    const apply = stopped('Deadline', {
      kind: 'deadline',
      message: 'The run took longer than 30m',
      hint: 'raise the timeout',
    })
    assert.partialDeepStrictEqual(decide(aPlaneSeen({ apply })), {
      is: 'stalled',
      reason: 'ControlPlaneTimeout',
      hint: 'raise the timeout',
    })
  })

  it('does not take an old failure for one of what is asked now', () => {
    const apply = stopped('ApplyRejected', { kind: 'user', message: 'no' }, 1)
    assert.partialDeepStrictEqual(decide(aPlaneSeen({ apply, applyMetadata: { generation: 2 } })), {
      is: 'waiting',
      reason: 'Creating',
    })
  })

  it('keeps its hands off an apply that belongs to somebody else', () => {
    const ownerReferences = [{ apiVersion: 'x/v1', kind: 'Other', name: 'o', uid: 'u9', controller: true }]
    assert.partialDeepStrictEqual(decide(aPlaneSeen({ applyMetadata: { ownerReferences } })), {
      is: 'stalled',
      reason: 'WorkspaceNameTaken',
    })
    const deleting = decide(
      aPlaneSeen({
        applyMetadata: { ownerReferences },
        metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
        seen: { cluster: undefined },
      }),
    )
    assert.deepEqual(deleting, { is: 'act', actions: [{ do: 'remove-finalizer' }] })
  })

  it('says what to set when no region is known', () => {
    const seen = { region: undefined, request: undefined }
    assert.partialDeepStrictEqual(decide(aPlaneSeen({ seen, isRequested: false })), {
      is: 'stalled',
      reason: 'RegionMissing',
    })
  })

  it('is Available while a change fails, and says so in RollingOut', () => {
    const apply = stopped('ApplyRejected', { kind: 'user', address: 'aws_x.y', message: 'no', hint: 'fix it' })
    const status = { initialization: { controlPlaneInitialized: true } }
    const seen = aPlaneSeen({ apply, status, seen: { secrets: currentSecrets() } })
    const { conditions = [] } = statusOf(seen, decide(seen))
    const by = (type: string) => conditions.find((condition) => condition.type === type)
    assert.equal(by('Available')?.status, 'True')
    assert.match(by('RollingOut')?.message ?? '', /aws_x\.y: no\. fix it/)
  })

  it('is Available in the moment between the end of a run and the Secrets made from it', () => {
    const status = { initialization: { controlPlaneInitialized: true } }
    const seen = aPlaneSeen({ status, seen: { secrets: currentSecrets(), source: 'of the run that just ended' } })
    const decision = decide(seen)
    assert.deepEqual(decision, { is: 'act', actions: [{ do: 'write-secrets' }] })
    const { conditions = [], fields } = statusOf(seen, decision)
    const by = (type: string) => conditions.find((condition) => condition.type === type)
    assert.deepEqual(
      [by('Available')?.status, by('KubeconfigAvailable')?.status, fields?.['ready']],
      ['True', 'True', true],
    )
  })
})

describe('the VPC', () => {
  it('asks for the owner before anything else', () => {
    const seen = anInfraSeen({ metadata: { finalizers: [] }, seen: { cluster: undefined } })
    assert.partialDeepStrictEqual(decideInfra(seen), { is: 'waiting', reason: 'WaitingForCluster' })
  })

  it('takes its finalizer before it asks for anything', () => {
    assert.deepEqual(decideInfra(anInfraSeen({ metadata: { finalizers: [] } })), {
      is: 'act',
      actions: [{ do: 'add-finalizer' }],
    })
  })

  it('is done when the run is through', () => {
    assert.deepEqual(decideInfra(anInfraSeen()), { is: 'done' })
  })

  it('asks for a run by an apply that is held, and blocks a move, from its first moment on', () => {
    const decision = decideInfra(anInfraSeen({ seen: { apply: undefined } }))
    assert.ok(decision.is === 'act')
    const [action] = decision.actions
    assert.ok(action?.do === 'write-apply')
    const { metadata } = toApply(action.request)
    assert.deepEqual(metadata.finalizers, [APPLY_FINALIZER])
    assert.equal(metadata.annotations?.[BLOCK_MOVE_ANNOTATION], 'true')
  })

  it('is not put together from an output that is no text', () => {
    assert.partialDeepStrictEqual(decideInfra(anInfraSeen({ apply: applied({ vpc_id: ['a'] }) })), {
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
    it(`of ${JSON.stringify(output)} has no scheme (B11)`, () => assert.deepEqual(toEndpoint(output), endpoint))
})
