// A template that keeps its state in S3, with moto as S3: capt leaves backend and lock file to Terraform, reads outputs
// through it, and destroys through it. Credentials come from the apply's own Secret.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { SecretKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { readRecord, stateName, suffixOf } from '#engine'
import { anApply, aTemplate } from '#testing'
import { findMoto } from '../../support/aws/moto.ts'
import { type EngineWorld, engineWorld, isReady } from '../../support/engine/world.ts'
import { planted } from '../../support/secrets/planted.ts'
import { reportMissing } from '../../support/tools.ts'
import { type Daemon, freePort, startDaemon, until } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const moto = findMoto()
if (moto === undefined) reportMissing('moto')
const BUCKET = 'capt-state'
const STATE = 'demo/terraform.tfstate'
const KEY = { namespace: 'default', name: 'in-s3' }

if (moto)
  describe('state in S3', () => {
    const folder = mkdtempSync(join(tmpdir(), 'capt-s3-'))
    const go = join(folder, 'go')
    let daemon: Daemon
    let endpoint: string
    let world: EngineWorld

    const s3 = (method: string, path: string) =>
      fetch(`${endpoint}/${BUCKET}${path}`, {
        method,
        headers: {
          authorization:
            'AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0',
        },
      })

    before(async () => {
      const port = await freePort()
      daemon = startDaemon('moto', folder, moto.server, ['-H', '127.0.0.1', '-p', String(port)])
      endpoint = `http://127.0.0.1:${port}`
      await until('moto answers', async () => (await fetch(`${endpoint}/moto-api/data.json`)).ok, 180, daemon)
      assert.equal((await s3('PUT', '')).status, 200, 'the bucket is made')
      world = await engineWorld()
      await world.manager()
    })
    after(async () => {
      await world?.close()
      await daemon?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    const module = () => `
terraform {
  backend "s3" {
    bucket                      = "${BUCKET}"
    key                         = "${STATE}"
    region                      = "us-east-1"
    use_lockfile                = true
    use_path_style              = true
    skip_credentials_validation = true
    skip_requesting_account_id  = true
    skip_metadata_api_check     = true
    endpoints                   = { s3 = "${endpoint}" }
  }
}
resource "terraform_data" "x" {
  input = "kept in S3"
  provisioner "local-exec" {
    command = "until test -f ${go}; do sleep 0.1; done"
  }
}
output "where" { value = terraform_data.x.output }
`

    it('is kept and locked there by Terraform, and capt reports the outputs', async () => {
      const keys = { AWS_ACCESS_KEY_ID: 'testing', AWS_SECRET_ACCESS_KEY: planted('s3') }
      const data = Object.fromEntries(
        Object.entries(keys).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
      )
      await world.create(SecretKind, { apiVersion: 'v1', kind: 'Secret', metadata: { ...KEY, name: 's3-keys' }, data })
      await world.create(WorkspaceTemplate, aTemplate(module(), {}, { name: KEY.name }))
      const spec = { templateRef: { name: KEY.name }, credentialsRef: { name: 's3-keys' } }
      await world.create(WorkspaceTemplateApply, anApply(spec, { name: KEY.name }))
      await until(
        'the lock file is there while the run is on',
        async () => (await s3('GET', `/${STATE}.tflock`)).ok,
        180,
      )
      writeFileSync(go, '')
      const { status } = await world.until(KEY.name, isReady)
      assert.deepEqual(status?.outputs, { where: 'kept in S3' })
      const state = (await (await s3('GET', `/${STATE}`)).json()) as { resources: readonly { type: string }[] }
      assert.deepEqual(
        state.resources.map(({ type }) => type),
        ['terraform_data'],
      )
      assert.equal((await s3('GET', `/${STATE}.tflock`)).status, 404, 'the lock file is gone with the run')
      const { objects } = world.connection
      assert.equal((await readRecord(objects, KEY))?.record.backend, 's3')
      const ours = { namespace: 'default', name: stateName(suffixOf(KEY)) }
      assert.equal(await objects.get(SecretKind, ours), undefined, 'nothing is kept twice')
    })

    it('is emptied by the destroy, also when the template is gone', async () => {
      const { objects } = world.connection
      await objects.delete(WorkspaceTemplate, { namespace: 'default', name: KEY.name })
      const body = { metadata: { finalizers: null } }
      await objects.patch(WorkspaceTemplate, { namespace: 'default', name: KEY.name }, { type: 'merge', body })
      await objects.delete(WorkspaceTemplateApply, KEY)
      await world.untilGone(KEY.name)
      const state = (await (await s3('GET', `/${STATE}`)).json()) as { resources: readonly unknown[] }
      assert.deepEqual(state.resources, [])
      assert.equal((await s3('GET', `/${STATE}.tflock`)).status, 404)
      prove('moto', 'moto[server]', "state and lock file of Terraform's S3 backend, through apply and destroy")
    })
  })
