import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseTemplate } from './jsonpath.ts'

const DATA = {
  items: [
    { metadata: { name: 'a', labels: { 'x/y': '1' } }, status: { ready: true } },
    { metadata: { name: 'b' }, status: { ready: false } },
  ],
}

describe('A JSONPath template', () => {
  for (const [template, expected] of [
    ['{.items[*].metadata.name}', 'a b'],
    ['.items[0].metadata.name', 'a'],
    ['{range .items[*]}{.metadata.name}{"\\t"}{.status.ready}{"\\n"}{end}', 'a\ttrue\nb\tfalse\n'],
    ['name: {.items[1].metadata.name}!', 'name: b!'],
    ["{.items[?(@.metadata.name=='b')].status.ready}", 'false'],
    ["{.items[0].metadata.labels['x/y']}", '1'],
    ['{.items[0].status}', '{"ready":true}'],
    ['{.none}', ''],
  ] as const)
    it(`prints ${JSON.stringify(expected)} for ${template}`, () =>
      assert.equal(parseTemplate(template)(DATA), expected))

  for (const template of ['{range .items[*]}{.x}', '{.x}{end}', '{.x', '{.items[}'])
    it(`is refused when it is ${template}`, () => assert.throws(() => parseTemplate(template)(DATA), /JSONPath/))
})
