// The embedded API and a real kube-apiserver get the same requests and must give the same answers, field by field, but for
// the differences that docs/compatibility-embedded.md explains; a difference that is gone must leave that page.
// CAPT_REAL_KUBECONFIG names the kubeconfig of the real one.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { type ApiServer, startApiServer } from '#apiserver'
import { rawApi } from '#testing'
import { widgetCrd } from '../../../src/apiserver/started.ts'
import { compareStep, SECTIONS } from '../../support/apiserver/parity.ts'
import type { Side } from '../../support/parity/compare.ts'
import { differencesIn } from '../../support/parity/differences.ts'
import { DEFINITIONS, NAMESPACE } from '../../support/parity/names.ts'
import { nameOf } from '../../support/parity/step.ts'
import { until } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

const kubeconfig = process.env['CAPT_REAL_KUBECONFIG']
if (!kubeconfig) throw new Error('set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }]
  readonly users: readonly [{ readonly user: { readonly token: string } }]
}

describe('the embedded API answers as a real one', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'capt-parity-'))
  let server: ApiServer
  let ours: Side
  let real: Side

  before(async () => {
    server = await startApiServer({ dataDir })
    ours = { api: rawApi(server), memory: {} }
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig
    const { cluster } = clusters[0]
    const caPem = Buffer.from(cluster['certificate-authority-data']!, 'base64').toString('utf8')
    real = { api: rawApi({ url: cluster['server']!, token: users[0].user.token, caPem }), memory: {} }
    // What an earlier run left on this server may still be going.
    for (const path of [`/api/v1/namespaces/${NAMESPACE}`, `${DEFINITIONS}/widgets.example.com`])
      await until(`nothing is left at ${path}`, async () => (await real.api.call('DELETE', path)).code === 404)
    for (const { api } of [ours, real]) await api.call('POST', DEFINITIONS, widgetCrd())
    const isServed = async () => (await real.api.call('GET', '/apis/example.com/v1/widgets')).code === 200
    await until('the real server serves the definition it was given', isServed)
  })
  after(async () => {
    for (const { api } of [ours, real]) {
      await api.call('DELETE', `${DEFINITIONS}/widgets.example.com`)
      await api.call('DELETE', `/api/v1/namespaces/${NAMESPACE}`)
      api.close()
    }
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  let compared = 0
  for (const section of SECTIONS) {
    describe(section.title, () => {
      for (const step of section.steps) {
        it(`${step.method} ${step.title}`, async () => {
          const { unexplained, outdated } = await compareStep(step, ours, real, differencesIn(nameOf(section, step)))
          compared++
          assert.deepEqual(unexplained, [], 'differs, and test/support/parity/seen.ts does not say so')
          assert.deepEqual(outdated, [], 'no longer differs: take the step out of test/support/parity/seen.ts')
        })
      }
    })
  }
  after(() => prove('embedded API', 'v1.33', 'answers equal to kube-apiserver, field by field', `${compared} requests`))
})
