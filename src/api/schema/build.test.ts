import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineKind, type KindOf } from '../define-kind.ts'
import * as s from './build.ts'

const Sample = defineKind({
  group: 'example.org',
  version: 'v1',
  kind: 'Sample',
  about: 'A sample.',
  spec: s.object(
    {
      name: s.string({ about: 'Name.' }),
      mode: s.string({ enum: ['Auto', 'Manual'], default: 'Auto', about: 'Mode.' }),
      tags: s.map(s.string(), { about: 'Tags.' }),
      ports: s.list(s.integer({ minimum: 1 }), { default: [] }),
    },
    { required: ['name'] },
  ),
})
type Sample = KindOf<typeof Sample>

describe('a kind definition', () => {
  it('gives the type that a reader of the object may rely on', () => {
    const sample: Sample = {
      apiVersion: Sample.apiVersion,
      kind: Sample.kind,
      metadata: { name: 'a' },
      spec: { name: 'x', mode: 'Auto', ports: [80] },
    }
    const mode: 'Auto' | 'Manual' = sample.spec.mode
    // @ts-expect-error: a field without default may be absent
    const tags: Record<string, string> = sample.spec.tags
    assert.deepEqual([mode, tags], ['Auto', undefined])
  })

  it('writes exactly the schema that was given', () => {
    assert.deepEqual(Sample.spec.schema, {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'Name.' },
        mode: { type: 'string', enum: ['Auto', 'Manual'], description: 'Mode.', default: 'Auto' },
        tags: { type: 'object', additionalProperties: { type: 'string' }, description: 'Tags.' },
        ports: { type: 'array', items: { type: 'integer', format: 'int32', minimum: 1 }, default: [] },
      },
      required: ['name'],
    })
  })
})
