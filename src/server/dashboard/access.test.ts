import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isLoopback } from '../server-certificate.ts'
import { refuseHost, refuseOrigin, refuseToken } from './access.ts'

const local = { tokens: () => ['a-token', 'former'], port: 7000, isLocal: true }
const asked = (headers: Readonly<Record<string, string>>) => ({ headers, method: 'POST' })

describe('The page', () => {
  for (const [host, isAnswered] of [
    ['127.0.0.1:7000', true],
    ['localhost:7000', true],
    ['[::1]:7000', true],
    ['evil.example:7000', false],
    ['127.0.0.1.evil.example:7000', false],
    ['127.0.0.1:7001', false],
    ['', false],
  ] as const)
    it(`${isAnswered ? 'answers' : 'refuses'} the name "${host}" on loopback`, () =>
      assert.equal(refuseHost(asked({ host }), local) === undefined, isAnswered))

  it('answers any name over TLS', () =>
    assert.equal(refuseHost(asked({ host: 'capt.example' }), { ...local, isLocal: false }), undefined))

  for (const [authorization, isAllowed] of [
    ['Bearer a-token', true],
    ['Bearer former', true],
    ['Bearer a-toke', false],
    ['Bearer a-tokens', false],
    ['Basic a-token', false],
    ['', false],
  ] as const)
    it(`${isAllowed ? 'allows' : 'refuses'} "${authorization}"`, () =>
      assert.equal(refuseToken(asked({ authorization }), local)?.status, isAllowed ? undefined : 401))

  const own = { host: '127.0.0.1:7000', origin: 'http://127.0.0.1:7000', 'content-type': 'application/json' }
  for (const [what, headers, status] of [
    ['its own page', own, undefined],
    ['another site', { ...own, origin: 'http://evil.example' }, 403],
    ['another port of this machine', { ...own, origin: 'http://127.0.0.1:7001' }, 403],
    ['no origin at all', { host: own.host, 'content-type': own['content-type'] }, 403],
    ['a form', { ...own, 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a same-site page', { ...own, 'sec-fetch-site': 'same-site' }, 403],
  ] as const)
    it(`${status === undefined ? 'accepts' : 'refuses'} a write of ${what}`, () =>
      assert.equal(refuseOrigin(asked(headers), local)?.status, status))
})

describe('Loopback', () => {
  for (const [host, is] of [
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['127.0.0.1.example', false],
    ['10.0.0.1', false],
  ] as const)
    it(`${is ? 'is' : 'is not'} ${host}`, () => assert.equal(isLoopback(host), is))
})
