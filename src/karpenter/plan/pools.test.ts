// Images and pools over the life of an installation: pinned once, changed by an upgrade alone, and pools of a file need no
// file to stay.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResourceRef } from '../journal.ts'
import { exampleJournal, exampleSurvey, pool } from '../survey/example.ts'
import type { Options } from './options.ts'
import { planInstall } from './plan.ts'

const PINNED = 'al2023@v20261001'
const RECOMMENDED = 'al2023@v20261102'
const OPS: readonly ResourceRef[] = [
  { type: 'node-class', name: 'ops' },
  { type: 'node-pool', name: 'ops' },
]

const installed = (made: readonly ResourceRef[]) => exampleJournal({ image: PINNED, made })
const found = (alias: string) => ({
  nodePools: [pool('ops')],
  nodeClasses: [{ name: 'ops', isReady: true, message: '', aliases: [alias] }],
})
const poolSteps = (kubernetes: object, options: Options = {}) =>
  planInstall(exampleSurvey({ kubernetes }), options)
    .steps.filter(({ resource }) => resource.type === 'node-class' || resource.type === 'node-pool')
    .map(({ resource, do: action }) => `${action} ${resource.type} ${resource.name}`)

describe('The image of the nodes', () => {
  for (const [says, options, journal, value] of [
    ['is what EKS recommends', {}, undefined, RECOMMENDED],
    ['is the chosen one', { image: 'al2023@v20260101' }, undefined, 'al2023@v20260101'],
    ['stays as it was pinned', {}, installed([]), PINNED],
    ['is chosen again by an upgrade', { isUpgrade: true }, installed([]), RECOMMENDED],
    [
      'is the one chosen for an upgrade',
      { isUpgrade: true, image: 'bottlerocket@v1.40.0' },
      installed([]),
      'bottlerocket@v1.40.0',
    ],
  ] as const)
    it(says, () => {
      const { choices, refusals } = planInstall(exampleSurvey({ kubernetes: { journal } }), options)
      assert.deepEqual([refusals, choices.image.value], [[], value])
    })

  for (const [says, options, journal, hint] of [
    ['the newest one whatever it is', { image: 'al2023@latest' }, undefined, /like al2023@v20261102/],
    ['an id', { image: 'ami-0123456789' }, undefined, /like al2023@v20261102/],
    [
      'another one than the pinned',
      { image: RECOMMENDED },
      installed([]),
      /capt karpenter upgrade demo --ami al2023@v20261102/,
    ],
  ] as const)
    it(`is never ${says}`, () => {
      const { refusals } = planInstall(exampleSurvey({ kubernetes: { journal } }), options)
      assert.deepEqual(
        refusals.map(({ code, field }) => [code, field]),
        [['CAPT_KARPENTER_IMAGE', '--ami']],
      )
      assert.match(refusals[0]!.hint, hint)
    })
})

describe('Pools of a file', () => {
  it('stay without it, and no default pool is added', () =>
    assert.deepEqual(poolSteps({ journal: installed(OPS), ...found(PINNED) }), [
      'keep node-class ops',
      'keep node-pool ops',
    ]))

  it('get the image of an upgrade where they boot the same family', () => {
    const options = { isUpgrade: true }
    assert.deepEqual(poolSteps({ journal: installed(OPS), ...found(PINNED) }, options), [
      'change node-class ops',
      'keep node-pool ops',
    ])
    assert.deepEqual(poolSteps({ journal: installed(OPS), ...found('bottlerocket@v1.40.0') }, options), [
      'keep node-class ops',
      'keep node-pool ops',
    ])
  })

  it('that a person has deleted do not come back', () => assert.deepEqual(poolSteps({ journal: installed(OPS) }), []))

  it('that an interrupted run has not made are asked for again', () => {
    const { refusals } = planInstall(
      exampleSurvey({ kubernetes: { journal: exampleJournal({ phase: 'installing', made: OPS }) } }),
    )
    assert.deepEqual(
      refusals.map(({ code, field, message }) => [code, field, message]),
      [
        [
          'CAPT_KARPENTER_JOURNAL',
          '--provisioner',
          'the installation was begun with a file of pools, and ops is not made yet',
        ],
      ],
    )
  })
})
