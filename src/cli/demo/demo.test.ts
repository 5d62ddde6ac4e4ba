// The pure parts of the demo: a fact in its columns, the outline of a plan, what went between two looks, the picture.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClusterObjects } from '#view'
import { goneSince } from './chapters/deletion.ts'
import { drawTranscript } from './picture.ts'
import { outlinePlan } from './plan-outline.ts'
import { renderCommand, renderFact, stampOf } from './screen.ts'

const fact = { subject: 'flux', word: 'healthy', evidence: 'four CRDs established, two Deployments available' }

describe('A fact of the demo', () => {
  it('is one line off a terminal, however long', () => {
    assert.equal(
      renderFact({ ...fact, evidence: 'x '.repeat(99).trim() }, 4_800, { columns: 80, wraps: false, colour: false }),
      `  04.8  flux            healthy          ${'x '.repeat(99).trim()}\n`,
    )
  })

  it('is wrapped below its evidence on a terminal', () => {
    assert.equal(
      renderFact(fact, 4_800, { columns: 70, wraps: true, colour: false }),
      `  04.8  flux            healthy          four CRDs established, two
                                         Deployments available
`,
    )
  })

  it('keeps its columns for hours', () => {
    for (const ms of [0, 99_900, 100_000, 59 * 60_000]) assert.equal(stampOf(ms).length, 8, `${ms}`)
  })
})

describe('A command of the demo', () => {
  const command = { run: 'kubectl patch captmachinedeployment web --type merge -p {}', about: 'why' }
  for (const [what, columns, wraps, expected] of [
    ['is one line where it fits', 90, true, `  $ ${command.run}   # why\n`],
    ['is one line off a terminal', 40, false, `  $ ${command.run}   # why\n`],
    [
      'is continued as a shell does on a narrow terminal',
      60,
      true,
      '  # why\n  $ kubectl patch captmachinedeployment web --type merge \\\n      -p {}\n',
    ],
  ] as const)
    it(what, () => assert.equal(renderCommand(command, { columns, wraps, colour: false }), expected))
})

describe('The outline of a plan', () => {
  it('shows values that are known and counts the rest', () => {
    const lines = ['      ~ version = "1.35" -> "1.36"', '      ~ output = {"a":1} -> (known after apply)']
    const update = { action: 'update', lines: ['  ~ cluster = "demo" -> (known after apply)'] }
    const changes = [
      { address: 'terraform_data.addon["a"]', ...update },
      { address: 'terraform_data.cluster', action: 'update', lines },
      { address: 'terraform_data.addon["b"]', ...update },
    ]
    assert.equal(
      outlinePlan({ changes }),
      `    # terraform_data.cluster will be updated in-place
      ~ version = "1.35" -> "1.36"
    # 2 more that refer to it
`,
    )
  })
})

describe('A deletion', () => {
  const apply = (name: string, kind: string) => ({
    metadata: { name, uid: name, ownerReferences: [{ kind }] },
  })
  const delivery = (isTornDown: boolean) => ({
    metadata: { name: 'demo', uid: 'delivery' },
    status: {
      stages: [{ name: 'flux' }, { name: 'karpenter' }],
      conditions: [{ type: 'TornDown', status: isTornDown ? 'True' : 'False' }],
    },
  })
  const objects = (applies: readonly object[], deliveries: readonly object[] = []) =>
    ({ applies, deliveries }) as unknown as ClusterObjects
  const vpc = apply('demo-vpc', 'CAPTCluster')
  const resources = new Map([['demo-vpc', 9]])
  const inShort = (before: ClusterObjects | undefined, now: ClusterObjects | undefined) =>
    goneSince(before, now, resources).map(({ subject, word, evidence }) => `${subject} ${word} ${evidence}`)

  for (const [what, before, now, facts] of [
    ['nothing while everything is there', objects([vpc]), objects([vpc]), []],
    ['what Terraform destroyed', objects([vpc]), objects([]), ['VPC destroyed demo-vpc, 9 resources']],
    ['the last part with its cluster', objects([vpc]), undefined, ['VPC destroyed demo-vpc, 9 resources']],
    [
      'the add-ons when they are torn down',
      objects([], [delivery(false)]),
      objects([], [delivery(true)]),
      ['add-ons removed in this order: karpenter, flux'],
    ],
    ['add-ons once', objects([], [delivery(true)]), undefined, []],
  ] as const)
    it(`reports ${what}`, () => assert.deepEqual(inShort(before, now), facts))
})

describe('The picture of a transcript', () => {
  const svg = drawTranscript('\n\u001b[1ma <b>\u001b[22m\n  \u001b[32mready\u001b[39m & "fine"\n', 'capt demo')

  it('has one text per line, with the colours of the terminal', () => {
    const rows = [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, row]) => row)
    assert.deepEqual(rows, [
      '<tspan font-weight="bold">a &lt;b&gt;</tspan>',
      '  <tspan fill="#7ee787">ready</tspan> &amp; &quot;fine&quot;',
    ])
  })

  it('is as wide as its longest line', () => assert.match(svg, /width="157" height="68"/))
})
