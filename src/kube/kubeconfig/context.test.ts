import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { toSingleContext } from './context.ts'

describe('one context of a kubeconfig', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'capt-context-'))
    const write = (name: string, config: object) => writeFileSync(join(folder, name), JSON.stringify(config))
    write('first', {
      clusters: [{ name: 'one', cluster: { server: 'https://one', 'certificate-authority': 'pki/ca.crt' } }],
      users: [{ name: 'key', user: { 'client-certificate': '/etc/key.crt', 'client-key': 'key.pem' } }],
      contexts: [{ name: 'a', context: { cluster: 'one', user: 'key', namespace: 'team' } }],
      'current-context': 'a',
    })
    write('second', {
      users: [{ name: 'program', user: { exec: { command: './bin/token', args: ['-v'] } } }],
      contexts: [{ name: 'b', context: { cluster: 'one', user: 'program' } }],
      'current-context': 'b',
    })
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const read = async (context?: string) => {
    const env = { KUBECONFIG: [join(folder, 'first'), join(folder, 'second')].join(':') }
    return JSON.parse(await toSingleContext({ env, ...(context === undefined ? {} : { context }) }))
  }

  it('is the current one of the first file, with absolute paths', async () =>
    assert.deepEqual(await read(), {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'one', cluster: { server: 'https://one', 'certificate-authority': join(folder, 'pki/ca.crt') } },
      ],
      users: [{ name: 'key', user: { 'client-certificate': '/etc/key.crt', 'client-key': join(folder, 'key.pem') } }],
      contexts: [{ name: 'a', context: { cluster: 'one', user: 'key', namespace: 'team' } }],
      'current-context': 'a',
    }))

  it('is the one that was named, with a program that is found from anywhere', async () => {
    const { users, 'current-context': current } = await read('b')
    assert.equal(current, 'b')
    assert.deepEqual(users[0].user, { exec: { command: join(folder, 'bin/token'), args: ['-v'] } })
  })

  it('is refused by name when there is no such context', async () =>
    await assert.rejects(read('c'), { code: 'CAPT_KUBECONFIG_INVALID', message: /there is no context c/ }))
})
