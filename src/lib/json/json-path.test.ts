import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseJsonPath } from './json-path.ts'

const object = {
  metadata: { name: 'x', labels: { 'a.b/c': 'dotted' } },
  spec: {
    replicas: 3,
    list: [
      { name: 'one', weight: 1 },
      { name: 'two', weight: 5 },
    ],
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Paused', status: 'False' },
    ],
  },
}

describe('a JSONPath of a column', () => {
  for (const [path, expected] of [
    ['.spec.replicas', [3]],
    ['{.spec.replicas}', [3]],
    ['$.spec.replicas', [3]],
    ['spec.replicas', [3]],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type=='Ready')].status", ['True']],
    ['.status.conditions[?(@.type!="Ready")].type', ['Paused']],
    ['.spec.list[?(@.weight>=2)].name', ['two']],
    ['.spec.list[?(@.weight)].name', ['one', 'two']],
    ['.spec.list[*].name', ['one', 'two']],
    ['.spec.list[0].name', ['one']],
    ['.spec.list[-1].name', ['two']],
    ['.spec.list[0:1].name', ['one']],
    ['..name', ['x', 'one', 'two']],
    [".metadata.labels['a.b/c']", ['dotted']],
    ['.metadata.labels.a\\.b/c', ['dotted']],
    ['.spec.absent.deeper', []],
    ['.spec.list[9].name', []],
  ] as const) {
    it(`reads ${path}`, () => assert.deepEqual(parseJsonPath(path)(object), expected))
  }

  it('refuses what is no path', () => {
    for (const path of ['.spec[', '.spec[?(x)]', '.spec[abc]']) assert.throws(() => parseJsonPath(path), /JSONPath/)
  })
})
