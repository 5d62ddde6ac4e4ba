import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { loadKubeconfig } from '#kube'
import { isEmbedded } from './karpenter-site.ts'

const folder = mkdtempSync(join(tmpdir(), 'capt-site-'))
after(() => rmSync(folder, { recursive: true }))

const PROGRAM = `
const n = Date.now() + Math.random()
console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'k8s-aws-v1.' + n } }))
`
const exec = {
  apiVersion: 'client.authentication.k8s.io/v1',
  interactiveMode: 'Never',
  command: process.execPath,
  args: ['-e', PROGRAM],
}

describe('a token that nobody renews', () => {
  for (const [what, user, expected] of [
    ['is one of EKS in the kubeconfig itself', { token: 'k8s-aws-v1.abc' }, true],
    ['is not one that a program signs', { exec }, false],
    ['is not one of another kind', { token: 'abc' }, false],
  ] as const)
    it(what, async () => {
      const path = join(folder, 'kubeconfig')
      const file = {
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'a',
        contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
        clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
        users: [{ name: 'a', user }],
      }
      writeFileSync(path, JSON.stringify(file), { mode: 0o600 })
      assert.equal(await isEmbedded(await loadKubeconfig({ path })), expected)
    })
})
