import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileFieldSelector } from './field-selector.ts'
import { parseLabelSelector } from './label-selector.ts'
import type { ApiObject } from './object.ts'

describe('a label selector', () => {
  const labels = { app: 'web', tier: 'front', 'example.com/zone': 'b', size: '4' }
  for (const [text, matches] of [
    ['app=web', true],
    ['app==web,tier=front', true],
    ['app=web,tier=back', false],
    ['app!=api', true],
    ['absent!=x', true],
    ['app in (web, api)', true],
    ['app in (api)', false],
    ['app notin (api)', true],
    ['absent notin (api)', true],
    ['app', true],
    ['!app', false],
    ['!absent', true],
    ['example.com/zone=b', true],
    ['size>3', true],
    ['size<3', false],
    ['absent=', false],
  ] as const) {
    it(`${matches ? 'matches' : 'does not match'} ${text}`, () =>
      assert.equal(parseLabelSelector(text)?.(labels), matches))
  }
  it('matches everything when it is empty', () => assert.equal(parseLabelSelector(' '), undefined))
  it('is refused when it makes no sense', () => {
    for (const text of ['a===b', 'a in web', '=x', 'a,,b'])
      assert.throws(() => parseLabelSelector(text), /unable to parse/)
  })
})

describe('a field selector', () => {
  const pod: ApiObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default' },
    status: { phase: 'Running' },
  }
  const test = (text: string) => compileFieldSelector(text, ['status.phase']).test?.(pod)
  it('finds by name, namespace and what the kind allows', () => {
    assert.equal(test('metadata.name=p,metadata.namespace=default'), true)
    assert.equal(test('metadata.name=q'), false)
    assert.equal(test('status.phase!=Running'), false)
    assert.equal(test('status.phase==Running'), true)
    assert.equal(test(''), undefined)
  })
  it('reads escaped commas and equal signs as part of the value', () => {
    const odd = { ...pod, status: { phase: 'a,b=c\\' } }
    assert.equal(compileFieldSelector('status.phase=a\\,b\\=c\\\\', ['status.phase']).test?.(odd), true)
  })
  it('is refused for a field that cannot be selected by', () => {
    assert.throws(() => test('spec.secret=x'), /field label not supported: spec.secret/)
  })
})
