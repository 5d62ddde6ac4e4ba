import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkObject } from './check-object.ts'
import { defineKind } from './define-kind.ts'
import type { UnknownObject } from './object.ts'
import * as s from './schema/build.ts'

const Sample = defineKind({
  group: 'example.org',
  version: 'v1',
  kind: 'Sample',
  about: 'A sample.',
  spec: s.object(
    {
      name: s.string({ about: 'Name in the cloud.', maxLength: 5 }),
      mode: s.string({ enum: ['Auto', 'Manual'], default: 'Auto', about: 'Mode.' }),
      count: s.integer({
        minimum: 1,
        about: 'How many.',
        rules: [{ rule: 'self >= oldSelf', message: 'may only grow' }],
      }),
      ports: s.list(s.integer(), { about: 'Ports.', listType: 'set', maxItems: 2 }),
      either: s.intOrString({ about: 'Either.' }),
      keyed: s.list(
        s.object({ name: s.string({ about: 'Key.', maxLength: 9 }) }, { required: ['name'], about: 'One.' }),
        {
          about: 'Keyed.',
          maxItems: 3,
          listType: 'map',
          mapKeys: ['name'],
        },
      ),
    },
    { required: ['name'], rules: [{ rule: "self.name != 'x'", message: 'not x' }] },
  ),
})

const sample = (spec: object): UnknownObject => ({
  apiVersion: 'example.org/v1',
  kind: 'Sample',
  metadata: { name: 'a' },
  spec,
})
const faults = (spec: object, old?: object) =>
  checkObject(Sample, sample(spec), old && sample(old)).faults.map(({ path, message }) => `${path}: ${message}`)

describe('the runtime check', () => {
  it('gives back the object as a server would keep it', () => {
    const { object, faults: found } = checkObject(Sample, sample({ name: 'y' }))
    assert.deepEqual([object.spec.mode, found], ['Auto', []])
  })

  for (const [spec, sentence] of [
    [{}, 'spec.name: is required'],
    [{ name: 'toolong' }, 'spec.name: is too long: at most 5 characters'],
    [{ name: 'y', mode: 'auto' }, 'spec.mode: "auto" is not one of "Auto", "Manual"'],
    [{ name: 'y', count: 0 }, 'spec.count: 0 should be greater than or equal to 1'],
    [{ name: 'y', count: 'x' }, 'spec.count: must be of type integer, not string'],
    [{ name: 'y', ports: [1, 1] }, 'spec.ports[1]: 1 stands there twice'],
    [{ name: 'y', keyed: [{ name: 'a' }, { name: 'a' }] }, 'spec.keyed[1]: {"name":"a"} stands there twice'],
    [{ name: 'y', ports: [1, 2, 3] }, 'spec.ports: 3 are too many: must have at most 2 items'],
    [{ name: 'y', nmae: 1 }, 'spec.nmae: unknown field'],
    [{ name: 'x' }, 'spec: not x'],
  ] as const) {
    it(`says: ${sentence}`, () => assert.deepEqual(faults(spec), [sentence]))
  }

  it('holds a change against the old object', () => {
    assert.deepEqual(faults({ name: 'y', count: 1 }, { name: 'y', count: 2 }), ['spec.count: may only grow'])
    assert.deepEqual(faults({ name: 'y', count: 2 }, { name: 'y', count: 2 }), [])
  })

  it('explains a missing field by its description and an unknown one by what is known', () => {
    const hints = (spec: object) => checkObject(Sample, sample(spec)).faults.map(({ hint }) => hint)
    assert.deepEqual(hints({}), ['Name in the cloud.'])
    assert.deepEqual(hints({ name: 'y', zzzzzz: 1 }), ['known here: name, mode, count, ports, either, keyed'])
  })

  it('wants a name', () => {
    const nameless = { ...sample({ name: 'y' }), metadata: {} } as unknown as UnknownObject
    assert.deepEqual(checkObject(Sample, nameless).faults, [{ path: 'metadata.name', message: 'is required' }])
  })
})
