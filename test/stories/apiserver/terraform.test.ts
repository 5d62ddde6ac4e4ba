// Terraform's own kubernetes backend keeps its state and its lock in the embedded API.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type ApiServer, startApiServer } from '#apiserver'
import { items, type RawApi, rawApi } from '#testing'
import { findTool, run } from '../../support/tools.ts'

const terraform = findTool('terraform')
const SECRETS = '/api/v1/namespaces/default/secrets'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

describe("Terraform's kubernetes backend and the embedded API", () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-terraform-'))
  let server: ApiServer
  let api: RawApi
  before(async () => {
    server = await startApiServer({ dataDir: join(folder, 'data') })
    api = rawApi(server)
  })
  after(async () => {
    api.close()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  if (!terraform) {
    it('makes the same requests over HTTP (terraform is not on the PATH: its story was not run)', async (test) => {
      test.diagnostic('terraform is not on the PATH; the requests of its backend were made over HTTP alone')
      const labels = { tfstate: 'true', tfstateSecretSuffix: 'state', tfstateWorkspace: 'default' }
      assert.deepEqual(items((await api.call('GET', `${SECRETS}?labelSelector=tfstate%3Dtrue`)).body), [])
      const lease = await api.call('POST', LEASES, {
        metadata: { name: 'lock', labels },
        spec: { holderIdentity: 'me' },
      })
      assert.equal(lease.code, 201)
      const data = { tfstate: gzipSync('{"serial":1}').toString('base64') }
      const secret = await api.call('POST', SECRETS, { metadata: { name: 'tfstate-default-state', labels }, data })
      assert.equal((await api.call('PUT', `${SECRETS}/tfstate-default-state`, secret.body)).code, 200)
      assert.equal(items((await api.call('GET', `${SECRETS}?labelSelector=tfstate%3Dtrue`)).body).length, 1)
      assert.equal((await api.call('PUT', `${LEASES}/lock`, { ...lease.body, spec: {} })).code, 200)
    })
    return
  }

  const work = join(folder, 'work')
  const config = (input: string) => `
    terraform {
      backend "kubernetes" {
        secret_suffix = "state"
        namespace     = "default"
        config_path   = "${join(folder, 'kubeconfig')}"
      }
    }
    resource "terraform_data" "thing" { input = "${input}" }
    output "thing" { value = terraform_data.thing.output }
  `
  const tf = (...args: string[]) =>
    run(terraform, args, {
      cwd: work,
      timeoutMs: 60_000,
      env: {
        HOME: folder,
        TF_IN_AUTOMATION: '1',
        CHECKPOINT_DISABLE: '1',
        TF_CLI_CONFIG_FILE: join(folder, 'terraformrc'),
      },
    })
  const ok = async (...args: string[]) => {
    const { code, out, err } = await tf(...args)
    assert.equal(code, 0, `terraform ${args.join(' ')}: ${err}`)
    return out
  }
  const state = async () => {
    const { body } = await api.call('GET', `${SECRETS}/tfstate-default-state`)
    const packed = Buffer.from(`${body['data']?.['tfstate']}`, 'base64')
    return JSON.parse(gunzipSync(packed).toString('utf8')) as {
      serial: number
      outputs: Record<string, { value: string }>
    }
  }

  it('keeps state in a Secret and the lock in a Lease, and lets both go', async () => {
    mkdirSync(work)
    writeFileSync(join(folder, 'terraformrc'), '')
    writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig(), { mode: 0o600 })
    writeFileSync(join(work, 'main.tf'), config('one'))
    await ok('init', '-input=false', '-no-color')
    await ok('apply', '-auto-approve', '-input=false', '-no-color')
    const first = await state()
    assert.equal(first.outputs['thing']?.value, 'one')
    const lease = await api.call('GET', `${LEASES}/lock-tfstate-default-state`)
    assert.equal(lease.body['spec']?.['holderIdentity'], undefined)

    writeFileSync(join(work, 'main.tf'), config('two'))
    await ok('apply', '-auto-approve', '-input=false', '-no-color')
    const second = await state()
    assert.equal(second.outputs['thing']?.value, 'two')
    assert.ok(second.serial > first.serial)
    assert.match(await ok('plan', '-input=false', '-no-color'), /No changes/)
  })

  it('respects a lock that somebody else holds', async () => {
    const path = `${LEASES}/lock-tfstate-default-state`
    const { body } = await api.call('GET', path)
    const info = {
      ID: 'somebody',
      Operation: 'OperationTypeApply',
      Who: 'a test',
      Version: '1',
      Created: '2026-01-01T00:00:00Z',
    }
    const metadata = { ...body['metadata'], annotations: { 'app.terraform.io/lock-info': JSON.stringify(info) } }
    const held = await api.call('PUT', path, { ...body, metadata, spec: { holderIdentity: 'somebody' } })
    assert.equal(held.code, 200)
    const { code, err } = await tf('plan', '-input=false', '-no-color', '-lock-timeout=0s')
    assert.equal(code, 1)
    assert.match(err, /Error acquiring the state lock/)
    await ok('force-unlock', '-force', '-no-color', 'somebody')
    assert.match(await ok('destroy', '-auto-approve', '-input=false', '-no-color'), /1 destroyed/)
  })
})
