// The embedded API and a real kube-apiserver get the same requests and must give the same answers, field by field.
// CAPT_REAL_KUBECONFIG names the kubeconfig of the real one.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { type ApiServer, startApiServer } from '#apiserver'
import { type RawApi, rawApi } from '#testing'
import { widgetCrd } from '../../src/apiserver/started.ts'
import { compareStep, STEPS } from '../apiserver-parity.ts'
import { prove } from './proofs.ts'

const kubeconfig = process.env['CAPT_REAL_KUBECONFIG']
if (!kubeconfig) throw new Error('set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }]
  readonly users: readonly [{ readonly user: { readonly token: string } }]
}

describe('the embedded API answers as a real one', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'capt-parity-'))
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  let server: ApiServer
  let ours: RawApi
  let real: RawApi

  before(async () => {
    server = await startApiServer({ dataDir })
    ours = rawApi(server)
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig
    const { cluster } = clusters[0]
    const caPem = Buffer.from(cluster['certificate-authority-data']!, 'base64').toString('utf8')
    real = rawApi({ url: cluster['server']!, token: users[0].user.token, caPem })
    for (const api of [ours, real]) await api.call('POST', definitions, widgetCrd())
    for (let tries = 0; tries < 100; tries++) {
      if ((await real.call('GET', '/apis/example.com/v1/widgets')).code === 200) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.fail('the real server does not serve the definition it was given')
  })
  after(async () => {
    for (const api of [ours, real]) {
      await api.call('DELETE', `${definitions}/widgets.example.com`)
      await api.call('DELETE', '/api/v1/namespaces/parity')
      api.close()
    }
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  for (const step of STEPS) {
    it(`${step.method} ${step.title}`, async () => assert.deepEqual(await compareStep(step, ours, real), []))
  }
  after(() =>
    prove('embedded API', 'v1.33', 'answers equal to kube-apiserver, field by field', `${STEPS.length} requests`),
  )
})
