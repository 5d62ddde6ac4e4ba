import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { findHelm, helmAt } from './helm.ts'

const folder = mkdtempSync(join(tmpdir(), 'capt-helm-test-'))
after(() => rmSync(folder, { recursive: true }))

/** The flags of helm 3.8, the oldest that pulls charts of OCI registries, without those that helm 4 has lost. */
const FLAGS = {
  upgrade: ['install', 'version', 'namespace', 'create-namespace', 'skip-crds', 'values', 'wait', 'timeout'],
  list: ['short', 'filter', 'namespace', 'deployed', 'failed', 'pending', 'uninstalling'],
  uninstall: ['namespace', 'wait', 'timeout'],
}

/** A helm that knows these flags alone, notes what it was asked, and lists the releases of a file. */
function fakeHelm(releases: readonly string[], timeoutMs = 60_000) {
  const home = mkdtempSync(join(folder, 'home-'))
  const at = (name: string) => join(home, name)
  const cases = Object.entries(FLAGS).map(([verb, flags]) => `${verb}) known=' ${flags.join(' ')} ' ;;`)
  const script = `#!/bin/sh
case "$1" in ${cases.join(' ')} esac
for one; do
  case "$one" in --*) case "$known" in *" \${one#--} "*) ;; *) echo "unknown flag: $one" >&2; exit 1 ;; esac ;; esac
done
echo "$*" >>'${at('asked')}'
cat "$KUBECONFIG" >'${at('kubeconfig')}'
[ "$1" != list ] || cat '${at('releases')}'
`
  writeFileSync(at('helm'), script, { mode: 0o755 })
  writeFileSync(at('releases'), releases.map((name) => `${name}\n`).join(''))
  const { signal } = new AbortController()
  const env = { PATH: `${home}:/usr/bin:/bin` }
  const path = findHelm(env)!
  const helm = helmAt({ path, env, timeoutMs, signal, kubeconfig: async () => ({ users: [] }) })
  const asked = () => (existsSync(at('asked')) ? readFileSync(at('asked'), 'utf8').trim().split('\n') : [])
  return { helm, path, home, asked, kubeconfig: () => readFileSync(at('kubeconfig'), 'utf8') }
}

const RELEASE = { name: 'karpenter', chart: 'oci://registry/karpenter', version: '1.14.1', namespace: 'kube-system' }

describe('The helm of the person', () => {
  it('is the one on the PATH', () => {
    const { path, home } = fakeHelm([])
    assert.equal(path, join(home, 'helm'))
    assert.equal(findHelm({ PATH: tmpdir() }), undefined)
  })

  it('installs with flags that helm 3.8 has, and a kubeconfig of its own', async () => {
    const { helm, asked, kubeconfig } = fakeHelm([])
    await helm.upgrade(RELEASE)
    assert.match(asked()[0]!, /^upgrade --install karpenter oci:\/\/registry\/karpenter --version 1\.14\.1 /)
    assert.equal(kubeconfig(), '{"users":[]}')
  })

  it('gets no more time than its token lives', async () => {
    for (const [timeoutMs, expected] of [
      [75_000, '75s'],
      [3_600_000, '840s'],
    ] as const) {
      const { helm, asked } = fakeHelm(['karpenter'], timeoutMs)
      await helm.upgrade(RELEASE)
      await helm.uninstall('karpenter', 'kube-system')
      for (const line of asked().filter((one) => !one.startsWith('list')))
        assert.match(line, new RegExp(`--wait --timeout ${expected}$`))
    }
  })

  it('uninstalls a release with flags that helm 3.8 has', async () => {
    const { helm, asked } = fakeHelm(['karpenter'])
    await helm.uninstall('karpenter', 'kube-system')
    assert.match(asked().at(-1)!, /^uninstall karpenter --namespace kube-system /)
  })

  it('has nothing to uninstall where there is no release', async () => {
    const { helm, asked } = fakeHelm([])
    await helm.uninstall('karpenter', 'kube-system')
    assert.deepEqual(
      asked().map((line) => line.split(' ')[0]),
      ['list'],
    )
  })

  it('says what it complained about', async () => {
    const { helm } = fakeHelm([])
    await assert.rejects(helm.upgrade({ ...RELEASE, name: '--bad' }), {
      code: 'CAPT_KARPENTER_HELM',
      message: /unknown flag: --bad/,
    })
  })
})
