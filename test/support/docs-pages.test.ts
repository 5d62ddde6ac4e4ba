// How a page of the documentation is read.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingParts, readSteps } from './docs-pages.ts'

describe('a page of the documentation', () => {
  const fence = '```'
  for (const [what, mark, expected] of [
    ['no comment', 'text', {}],
    ['a reason', '<!-- docs: not run: needs a daemon -->', { notRun: 'needs a daemon' }],
    ['a command that stays', '<!-- docs: keeps running -->', { mark: 'keeps running' }],
    ['manifests that become Ready', '<!-- docs: applied -->', { mark: 'applied' }],
    ['an AWS account', '<!-- docs: in AWS -->', { mark: 'in AWS' }],
    ['a cluster in it', '<!-- docs: in AWS, with the EKS cluster a -->', { mark: 'in AWS', eksCluster: 'a' }],
  ] as const)
    it(`has a step with ${what}`, () => {
      const text = ['# Page', mark, `${fence}sh`, 'capt get', fence, ''].join('\n')
      assert.deepEqual(readSteps('p.md', text), [
        { page: 'p.md', line: 3, language: 'sh', text: 'capt get', ...expected },
      ])
    })

  it('refuses a block without an end', () => {
    assert.throws(() => readSteps('p.md', `${fence}sh\ncapt get`), /p\.md:1/)
  })

  it('refuses a comment that is misspelt', () => {
    assert.throws(() => readSteps('p.md', `<!-- docs: in aws -->\n${fence}sh\n${fence}`), /p\.md:1: .*in aws/)
  })

  const part = (kind: string, name: string) => `kind: ${kind}\nmetadata:\n  name: ${name}\n`
  const whole = ['Cluster', 'CAPTCluster', 'CAPTControlPlane']
  for (const [shown, added] of [
    [[part('Secret', 'keys')], []],
    [whole.map((kind) => part(kind, 'shop')), []],
    [[part('CAPTCluster', 'shop')], ['Cluster/shop', 'CAPTControlPlane/shop']],
    [
      [part('Secret', 'keys'), part('CAPTControlPlane', 'a')],
      ['Cluster/a', 'CAPTCluster/a'],
    ],
  ] as const)
    it(`is completed by ${added.join(' and ') || 'nothing'} where it shows ${shown.length} objects`, () => {
      const found = missingParts(shown.join('---\n')) as { kind: string; metadata: { name: string } }[]
      assert.deepEqual(
        found.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
        added,
      )
    })
})
