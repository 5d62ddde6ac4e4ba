// The settings of runs in Jobs, as docs/install.md names them, in a network that nothing reaches without them: a proxy, a private
// authority, a mirror of provider packages and a Git server that asks for a password.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type AnyObject, type ConfigMap, ConfigMapKind, type Secret, SecretKind } from '#api'
import { hasProgram, type JobWorld, jobWorld } from '../support/engine/job-world.ts'
import { type NoteProvider, startNoteProvider } from '../support/engine/note-provider.ts'
import { GIT_HOST, MIRROR_HOST, type PrivateNetwork, startPrivateNetwork } from '../support/engine/private-network.ts'
import { hasTerraform, isReady, isStalled } from '../support/engine/world.ts'
import { planted } from '../support/secrets/planted.ts'

const PASSWORD = planted('git-hush-4711')
const SOURCE = 'registry.internal.example/local/note'
const PRIVATE = `terraform {
  required_providers {
    note = { source = "${SOURCE}" }
  }
}
resource "note_page" "greeting" {
  name = "greeting"
  text = "hello"
}
output "text" { value = note_page.greeting.text }`
const MODULE = `module "greeting" {
  source = "git::https://${GIT_HOST}/greeting.git"
}
output "text" { value = module.greeting.text }`

describe('the settings of runs in Jobs', { skip: !hasProgram || !hasTerraform }, () => {
  let world: JobWorld
  let network: PrivateNetwork
  let provider: NoteProvider
  before(async () => {
    provider = await startNoteProvider()
    const program = { source: SOURCE, program: provider.program }
    network = await startPrivateNetwork({ user: 'reader', password: PASSWORD, module: PRIVATE, provider: program })
    world = await jobWorld()
    await world.jobManager()
  })
  after(async () => {
    await world?.close()
    await network?.close()
    await provider?.close()
  })
  // The provider of this test has no certificate of its own.
  const env = [{ name: 'TF_DISABLE_PLUGIN_TLS', value: '1' }]
  const metadata = (name: string) => ({ namespace: 'default', name })

  it('are needed here: without them a run fails, and says what it could not reach', async () => {
    await world.make('without', MODULE, { env }, { retry: { limit: 0 } })
    const { status } = await world.until('without', isStalled)
    assert.match(JSON.stringify(status?.lastError), new RegExp(GIT_HOST))
  })

  it('reach Terraform and Git: proxy, authority, provider mirror and credentials', async () => {
    const data = {
      HTTPS_PROXY: network.proxy,
      SSL_CERT_FILE: '/etc/capt-run/ca.crt',
      TF_CLI_CONFIG_FILE: '/etc/capt-run/terraformrc',
      GIT_CONFIG_GLOBAL: '/etc/capt-run/gitconfig',
    }
    const files = {
      'ca.crt': network.ca,
      terraformrc: `provider_installation {\n  network_mirror { url = "https://${MIRROR_HOST}/providers/" }\n}\n`,
      gitconfig:
        '[credential]\n  helper = store --file /etc/capt-run/git-credentials\n[http]\n  sslCAInfo = /etc/capt-run/ca.crt\n',
      'git-credentials': `https://reader:${PASSWORD}@${GIT_HOST}\n`,
    }
    const packed = Object.fromEntries(
      Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
    )
    const kind = { apiVersion: 'v1', kind: 'ConfigMap' }
    await world.create(ConfigMapKind, { ...kind, metadata: metadata('capt-run-env'), data } as ConfigMap)
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: metadata('capt-run-files'), data: packed }
    await world.create(SecretKind, secret as Secret)
    await world.make('with', MODULE, { env }, { retry: { limit: 0 } })
    const { status } = await world.until('with', (apply) => isReady(apply) || isStalled(apply))
    assert.equal(status?.outputs?.['text'], 'hello', JSON.stringify(status?.lastError))
    assert.ok(network.served.some((path) => path.startsWith(`${GIT_HOST}/greeting.git/objects/`)))
    assert.ok(network.served.includes(`${MIRROR_HOST}/providers/${SOURCE}/package.zip`), network.served.join())
    assert.ok(network.refused.length > 0, 'Git was asked for the password')
  })

  it('leave no password in what is stored or reported', async () => {
    for (const kind of [SecretKind, ConfigMapKind])
      for await (const object of world.connection.objects.list<AnyObject & { data?: Record<string, string> }>(kind, {
        namespace: 'default',
      })) {
        if (object.metadata.name === 'capt-run-files') continue
        const texts = Object.values(object.data ?? {}).map(unpacked)
        for (const text of [JSON.stringify(object), ...texts]) assert.ok(!text.includes(PASSWORD), object.metadata.name)
      }
    assert.ok(!JSON.stringify(await world.until('with', () => true)).includes(PASSWORD))
  })
})

function unpacked(data: string): string {
  const bytes = Buffer.from(data, 'base64')
  return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('latin1')
}
