import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderKarpenterValues } from '#catalog'
import { migrateValues } from './migrate-values.ts'

const guide = {
  settings: {
    aws: {
      defaultInstanceProfile: 'KarpenterNodeInstanceProfile-demo',
      clusterName: 'demo',
      interruptionQueueName: 'q',
      tags: { team: 'a' },
    },
  },
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/KarpenterControllerRole-demo' } },
  controller: { resources: { requests: { cpu: 1 } }, logLevel: 'debug' },
  webhook: { logLevel: 'error' },
  replicas: 2,
}

describe('values of an old chart', () => {
  it('move to where the new chart reads them', () => {
    const { values, classes, findings } = migrateValues(guide, '1.14.1')
    assert.deepEqual(values, {
      serviceAccount: guide.serviceAccount,
      controller: { resources: { requests: { cpu: 1 } } },
      replicas: 2,
      logLevel: 'debug',
      settings: { clusterName: 'demo', interruptionQueue: 'q' },
    })
    assert.deepEqual(classes, { instanceProfile: 'KarpenterNodeInstanceProfile-demo', tags: { team: 'a' } })
    assert.deepEqual(
      findings.filter(({ level }) => level !== 'changed'),
      [],
    )
  })

  it('are accepted by the renderer afterwards, and were refused before', () => {
    const input = {
      version: '1.14.1',
      clusterName: 'demo',
      identity: 'irsa',
      roleArn: 'arn:aws:iam::1:role/KarpenterControllerRole-demo',
      namespace: 'karpenter',
      replicas: 2,
    } as const
    assert.throws(() => renderKarpenterValues({ ...input, values: guide }), { code: 'CAPT_KARPENTER_VALUES_REFUSED' })
    assert.partialDeepStrictEqual(renderKarpenterValues({ ...input, values: migrateValues(guide, '1.14.1').values }), {
      settings: { interruptionQueue: 'q' },
    })
  })

  it('keep the guard in every term of their own affinity', () => {
    const nodeSelectorTerms = [{ matchExpressions: [{ key: 'role', operator: 'In', values: ['ops'] }] }]
    const { values } = migrateValues(
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } },
      '1.14.1',
    )
    assert.match(JSON.stringify(values), /"role".*karpenter.sh\/nodepool.*karpenter.sh\/provisioner-name/)
  })

  it('lose nothing in silence', () => {
    const { values, findings } = migrateValues(
      {
        settings: { aws: { unheardOf: 1, enablePodENI: true } },
        logConfig: { logLevel: { global: 'info' } },
        logEncoding: 'json',
      },
      '1.14.1',
    )
    assert.deepEqual(values, { logLevel: 'info' })
    assert.deepEqual(
      findings.map(({ level, path }) => [level, path]),
      [
        ['person', 'settings.aws.unheardOf'],
        ['changed', 'settings.aws.enablePodENI'],
        ['changed', 'logEncoding'],
        ['changed', 'logConfig'],
      ],
    )
  })

  it('are refused when old and new settings contradict each other', () => {
    const { values, findings } = migrateValues({ settings: { clusterName: 'a', aws: { clusterName: 'b' } } }, '1.14.1')
    assert.deepEqual([values, findings.map(({ level }) => level)], [{}, ['refused']])
  })

  it('stay as they are when nothing has to move', () => {
    const values = { replicas: 1, settings: { clusterName: 'demo' } }
    assert.deepEqual(migrateValues(values, '1.14.1'), { values, findings: [], classes: {} })
  })
})
