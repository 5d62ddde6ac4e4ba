// The hand-over from the Cluster Autoscaler as a table: what is stopped, what shrinks, and what the journal keeps.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addRefs } from '../journal.ts'
import { exampleSurvey, group, node } from '../survey/example.ts'
import { parseSize } from './hand-over.ts'
import { isNothingToDo, planInstall } from './plan.ts'

const autoscaler = (replicas: number) => ({
  namespace: 'kube-system',
  name: 'cluster-autoscaler',
  version: undefined,
  replicas,
  available: replicas,
})
const sized = (name: string, min: number, max: number, desired: number) => group(name, { size: { min, max, desired } })

interface Row {
  readonly says: string
  readonly replicas?: number
  readonly groups: readonly ReturnType<typeof group>[]
  readonly steps: readonly (readonly [name: string, action: string, before: string, desired?: object])[]
}

const ROWS: readonly Row[] = [
  {
    says: 'one group shrinks to a node for each replica, and may grow as before',
    groups: [sized('system', 3, 9, 5)],
    steps: [
      ['kube-system/cluster-autoscaler', 'change', '1'],
      ['system', 'change', '3/9/5', { min: 2, max: 9, desired: 2 }],
    ],
  },
  {
    says: 'several groups shrink to one node each',
    groups: [sized('system', 1, 3, 3), sized('zone-b', 0, 4, 2)],
    steps: [
      ['kube-system/cluster-autoscaler', 'change', '1'],
      ['system', 'change', '1/3/3', { min: 1, max: 3, desired: 1 }],
      ['zone-b', 'change', '0/4/2', { min: 0, max: 4, desired: 1 }],
    ],
  },
  {
    says: 'a group that is small enough stays',
    groups: [sized('system', 2, 2, 2)],
    steps: [
      ['kube-system/cluster-autoscaler', 'change', '1'],
      ['system', 'keep', '2/2/2', { min: 2, max: 2, desired: 2 }],
    ],
  },
  {
    says: 'a stopped autoscaler stays stopped',
    replicas: 0,
    groups: [sized('system', 2, 4, 2)],
    steps: [
      ['kube-system/cluster-autoscaler', 'keep', '0'],
      ['system', 'keep', '2/4/2', { min: 2, max: 4, desired: 2 }],
    ],
  },
  {
    says: 'a tainted group, where the controller does not run, stays as it is',
    groups: [sized('system', 2, 4, 2), group('gpu', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] })],
    steps: [
      ['kube-system/cluster-autoscaler', 'change', '1'],
      ['system', 'keep', '2/4/2', { min: 2, max: 4, desired: 2 }],
    ],
  },
]

describe('The hand-over from the Cluster Autoscaler', () => {
  for (const { says, replicas = 1, groups, steps } of ROWS)
    it(says, () => {
      const nodes = [node('one'), node('two'), node('three', 'zone-b')]
      const survey = exampleSurvey({ nodeGroups: groups, kubernetes: { autoscalers: [autoscaler(replicas)], nodes } })
      const { handOver, refusals } = planInstall(survey, { replaceAutoscaler: true })
      assert.deepEqual(refusals, [])
      assert.deepEqual(
        handOver.map(({ resource: { name, value, desired }, do: action }) => [
          name,
          action,
          value,
          ...(desired ? [desired] : []),
        ]),
        steps,
      )
    })

  it('is not planned without the flag', () => {
    const survey = exampleSurvey({ kubernetes: { autoscalers: [autoscaler(1)] } })
    const plan = planInstall(survey)
    assert.deepEqual(plan.handOver, [])
    assert.match(plan.choices.notes.join(), /--replace-cluster-autoscaler/)
  })

  it('counts as work to do', () => {
    const survey = exampleSurvey({ kubernetes: { autoscalers: [autoscaler(1)] } })
    const { handOver } = planInstall(survey, { replaceAutoscaler: true })
    const plan = { ...planInstall(survey), steps: [] }
    assert.equal(isNothingToDo(plan), true)
    assert.equal(isNothingToDo({ ...plan, handOver }), false)
  })

  it('remembers the first size alone', () => {
    const first = { type: 'node-group-size', name: 'system', value: '3/9/5' } as const
    assert.deepEqual(addRefs([first], [{ ...first, value: '2/9/2' }]), [first])
    assert.deepEqual(parseSize('3/9/5'), { min: 3, max: 9, desired: 5 })
  })
})
