// A Karpenter that modules/karpenter made, as the survey finds it: compared and kept, never changed, and refused where it
// is not what the module makes.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { karpenterNames } from '#catalog'
import { examine } from '../doctor/examine.ts'
import { exampleJournal } from '../survey/example.ts'
import type { Survey } from '../survey/survey.ts'
import { madeByModule, VERSION } from './example.ts'
import { isNothingToDo, planInstall } from './plan.ts'

const NAMES = karpenterNames('demo')

const changedIn = (survey: Survey, kubernetes: Partial<Survey['kubernetes']>): Survey => ({
  ...survey,
  kubernetes: { ...survey.kubernetes, ...kubernetes },
})

describe('An installation by modules/karpenter', () => {
  for (const [says, survey] of [
    ['with IRSA', madeByModule('irsa')],
    ['with Pod Identity', madeByModule('pod-identity')],
    ['with zonal_shift', madeByModule('irsa', { zonalShift: true })],
    [
      'beside which capt stopped the Cluster Autoscaler',
      changedIn(madeByModule('irsa'), { journal: exampleJournal({ version: VERSION, namespace: 'karpenter' }) }),
    ],
  ] as const)
    it(`${says} leaves nothing to do: all of it is found and stays, and no pool is added`, () => {
      const plan = planInstall(survey)
      assert.deepEqual(plan.refusals, [])
      assert.ok(isNothingToDo(plan), JSON.stringify(plan.steps.filter((step) => step.do !== 'keep')))
      assert.ok(plan.steps.every(({ isOurs }) => !isOurs))
      assert.deepEqual(
        plan.steps.filter(({ resource }) => resource.type.startsWith('node-')).map(({ resource }) => resource.type),
        ['node-role'],
      )
      assert.match(plan.choices.notes.join(), /installed by modules\/karpenter/)
      assert.deepEqual(
        examine(survey).filter(({ word }) => word === 'changed' || word === 'refused'),
        [],
      )
    })

  it('without its chart gets the chart from capt, for the service account that its role trusts', () => {
    for (const identity of ['irsa', 'pod-identity'] as const) {
      const survey: Survey = { ...madeByModule(identity, { hasChart: false }), helm: '/usr/bin/helm' }
      const plan = planInstall(survey, { version: VERSION })
      assert.deepEqual(plan.refusals, [])
      assert.deepEqual([plan.choices.namespace.value, plan.choices.identity.value], ['karpenter', identity])
      assert.deepEqual(
        plan.steps.filter((step) => step.do !== 'keep').map(({ resource }) => resource.type),
        ['namespace', 'release', 'node-class', 'node-pool'],
      )
    }
  })

  it('is changed by Terraform alone: an upgrade and a missing part are refused with that as the next step', () => {
    const survey = madeByModule('irsa')
    const upgrade = planInstall(survey, { isUpgrade: true })
    assert.deepEqual(
      upgrade.refusals.map(({ field }) => field),
      ['definition capacitybuffers.autoscaling.x-k8s.io', 'release karpenter'],
    )
    const partial = { ...survey, queue: undefined }
    const { refusals } = planInstall(partial)
    assert.deepEqual(
      refusals.map(({ field }) => field),
      ['queue Karpenter-demo'],
    )
    for (const { hint } of [...upgrade.refusals, ...refusals]) assert.match(hint, /terraform apply/)
    const [trap] = examine(partial).filter(({ word }) => word === 'changed')
    assert.match(JSON.stringify(trap), /queue Karpenter-demo is missing.*terraform apply/)
  })

  it('with Pod Identity is refused without the agent, which is named', () => {
    const { refusals } = planInstall({ ...madeByModule('pod-identity'), addons: ['vpc-cni'] })
    assert.deepEqual(
      refusals.map(({ code, message }) => [code, message]),
      [['CAPT_KARPENTER_NO_IDENTITY', 'the add-on eks-pod-identity-agent is not installed']],
    )
  })

  it('is not recognised in a Karpenter with another policy, version, name or service account', () => {
    const survey = madeByModule('irsa')
    const role = survey.controllerRole!
    const [running] = survey.kubernetes.karpenter
    const runs = (more: object) => changedIn(survey, { karpenter: [{ ...running!, ...more }] })
    for (const other of [
      { ...survey, controllerRole: { ...role, inline: { [NAMES.controllerPolicy]: { Statement: [] } } } },
      { ...survey, controllerRole: undefined },
      runs({ version: '1.0.8' }),
      runs({ version: '0.31.0' }),
      runs({ version: undefined }),
      runs({ name: 'own' }),
      runs({ namespace: 'other' }),
      changedIn(survey, { karpenter: [running!, { ...running!, namespace: 'other' }] }),
    ])
      assert.ok(planInstall(other).refusals.some(({ code }) => code === 'CAPT_KARPENTER_PRESENT'))
  })
})
