import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseJson } from './integers.ts'
import { createPacker, unpack } from './packing.ts'

const aCluster = (i: number) => ({
  metadata: { name: `cluster-${i}`, uid: `0000-${i * 7919}`, labels: { tier: 'gold', region: 'eu-west-1' } },
  spec: { variables: Object.fromEntries(Array.from({ length: 30 }, (_, v) => [`variable_${v}`, `the value ${v}`])) },
  status: { conditions: [{ type: 'Ready', status: 'True', message: `cluster-${i} is ready` }] },
})

describe('packing', () => {
  it('returns every value as it was, whatever was packed before it', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ stringUnit: 'binary' }), { maxLength: 30 }), (values) => {
        const packer = createPacker()
        const packed = values.map((value) => packer.pack(value))
        assert.deepEqual(packed.map(unpack), parseJson(JSON.stringify(values)))
      }),
    )
  })

  it('compresses a value that is like those before it', () => {
    const packer = createPacker()
    const packed = Array.from({ length: 100 }, (_, i) => packer.pack(aCluster(i)))
    const left = packed.reduce((sum, one) => sum + one.text.length, 0)
    const texts = packed.reduce((sum, _one, i) => sum + JSON.stringify(aCluster(i)).length, 0)
    assert.ok(left < texts / 8, `${left} of ${texts}`)
    assert.equal(new Set(packed.map(({ dictionary }) => dictionary)).size, 1, 'one value made the dictionary')
  })

  it('adds a long value to the dictionary although many short ones came before it', () => {
    const packer = createPacker()
    const aName = (i: number) => ({ id: createHash('sha256').update(`${i}`).digest('hex') })
    for (let i = 0; i < 50; i++) packer.pack(aName(i))
    packer.pack({ ...aCluster(1), ...aName(1) })
    const later = { ...aCluster(2), ...aName(2) }
    const { text } = packer.pack(later)
    assert.ok(text.length < JSON.stringify(later).length / 4, `${text.length} of ${JSON.stringify(later).length}`)
  })

  it('adds a few values to the dictionary only, however much they differ', () => {
    const packer = createPacker()
    let seed = 1
    const noise = () => {
      seed = (seed * 48_271) % 0x7fff_ffff
      return seed.toString(36)
    }
    const packed = Array.from({ length: 100 }, () => packer.pack(Array.from({ length: 500 }, noise)))
    const dictionaries = new Set(packed.map(({ dictionary }) => dictionary))
    assert.ok(dictionaries.size <= 8, `${dictionaries.size} dictionaries`)
    for (const { text } of dictionaries) assert.ok(text.length < 16_384, `${text.length} characters`)
  })

  it('packs a value that is larger than its dictionary', () => {
    const value = Array.from({ length: 20_000 }, (_, i) => `line ${i}`)
    const packer = createPacker()
    assert.deepEqual(unpack(packer.pack(value)), value)
    assert.deepEqual(unpack(packer.pack([...value, 'one more'])), [...value, 'one more'])
  })
})
