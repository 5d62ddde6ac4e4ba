import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { applyNameOf, selectionsOf } from './resources.ts'

describe('Words that name objects', () => {
  for (const [line, expected] of [
    ['clusters', [{ word: 'clusters', names: [] }]],
    [
      'clusters,wtapply',
      [
        { word: 'clusters', names: [] },
        { word: 'wtapply', names: [] },
      ],
    ],
    ['cluster a b a', [{ word: 'cluster', names: ['a', 'b'] }]],
    [
      'cluster/a wtapply/x cluster/b',
      [
        { word: 'cluster', names: ['a', 'b'] },
        { word: 'wtapply', names: ['x'] },
      ],
    ],
  ] as const)
    it(`are read: ${line}`, () => assert.deepEqual(selectionsOf(line.split(' '), 'get'), expected))

  for (const line of ['cluster/a b', 'cluster a/b', 'cluster/', '/a', 'a/b/c'])
    it(`are refused: ${line}`, () => assert.throws(() => selectionsOf(line.split(' '), 'get'), { code: 'CAPT_USAGE' }))

  it('name an apply alone, with its kind, or with kind and group', () => {
    for (const word of ['x', 'wtapply/x', 'WorkspaceTemplateApply/x', 'applies/x'])
      assert.equal(applyNameOf(word, 'logs'), 'x')
    assert.equal(applyNameOf('workspacetemplateapply.infrastructure.cluster.x-k8s.io/x', 'logs'), 'x')
    assert.throws(() => applyNameOf('captcluster/x', 'logs'), /works on a WorkspaceTemplateApply/)
  })
})
