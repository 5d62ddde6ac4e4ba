// Each row is a text as Terraform, a provider or a shell may print it; the secret must not be in the result in any form.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createRedactor, stringsInVarFile } from './secrets.ts'

const SECRET = 'cA"n\\a ry&<${x}>/+é=42'
const redact = createRedactor([SECRET])
const base64 = (text: string) => Buffer.from(text).toString('base64')

const PRINTED: readonly (readonly [encoding: string, text: string])[] = [
  ['plain', `value ${SECRET} end`],
  ['quoted', `value ${JSON.stringify(SECRET)} end`],
  ['quoted as HCL', `value ${JSON.stringify(SECRET).replaceAll('${', '$${')} end`],
  ['JSON', JSON.stringify({ a: { b: SECRET } })],
  ['JSON inside a quoted string', JSON.stringify({ user_data: JSON.stringify({ b: SECRET }) })],
  [
    'JSON as Go writes it',
    JSON.stringify({ a: SECRET }).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  ],
  ['base64', base64(SECRET)],
  ['base64 for addresses', Buffer.from(SECRET).toString('base64url')],
  ['address', `https://x/?q=${encodeURIComponent(SECRET)}`],
  ['form', `q=${new URLSearchParams({ q: SECRET }).toString()}`],
]

describe('A secret value', () => {
  for (const [encoding, text] of PRINTED)
    it(`is masked as ${encoding}`, () => {
      const masked = redact(text)
      assert.ok(masked.includes('…redacted…'), masked)
      assert.ok(!masked.includes('ry&') && !masked.includes('ry%26') && !masked.includes('ry\\u0026'), masked)
      assert.ok(!masked.includes(base64(SECRET).slice(4, 16)), masked)
    })

  it('is masked in the base64 of a longer text, wherever it stands', () => {
    const value = 'hunter2-hunter2-hunter2'
    const mask = createRedactor([value])
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }), (before, after) => {
        const masked = mask(base64(`${before}${value}${after}`))
        const rest = masked.split('…redacted…').map((part) => Buffer.from(part, 'base64').toString('latin1'))
        assert.ok(masked.includes('…redacted…'))
        assert.ok(!rest.some((part) => part.includes('hunter')), masked)
      }),
    )
  })

  it('is masked line by line, also where the indentation is gone', () => {
    const mask = createRedactor(['-----BEGIN X-----\n    first-line-of-it\n    second-line-of-it\n'])
    assert.equal(mask('got first-line-of-it'), 'got …redacted…')
    assert.equal(mask('  second-line-of-it\n'), '  …redacted…\n')
  })

  it('of a variables file is masked whatever its type', () => {
    assert.deepEqual(stringsInVarFile('pin = 123456\nname = "one"'), ['one', '123456'])
    assert.deepEqual(stringsInVarFile('{"pin":123456,"list":["deep"]}'), ['123456', 'deep'])
  })

  it('is found in one pass, however many there are', () => {
    const lines = Array.from({ length: 5000 }, (_, i) => `line-${i}-of-a-large-secret`)
    const mask = createRedactor([lines.join('\n')])
    const text = 'nothing of it is in this line of the log, which is as long as others are'
    const started = performance.now()
    for (let i = 0; i < 2000; i++) assert.equal(mask(text), text)
    // Value by value this took minutes; a slow machine needs a fraction of a second.
    assert.ok(performance.now() - started < 20_000)
    assert.equal(mask('x line-4711-of-a-large-secret y'), 'x …redacted… y')
  })

  it('never masks ordinary words: short values and short encodings are left alone', () => {
    assert.equal(createRedactor(['abc'])('abc YWJj'), 'abc YWJj')
    assert.equal(createRedactor(['abcd'])('abc YWJjZA'), 'abc …redacted…')
  })
})
