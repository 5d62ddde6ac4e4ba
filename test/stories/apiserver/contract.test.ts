// The embedded API keeps the promises of the Objects and Informers ports, exactly as a real kube-apiserver does.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { type ApiServer, startApiServer } from '#apiserver'
import { connect, readKubeconfigText } from '#kube'
import { objectsContract } from '../../../src/kube/contract.ts'

describe('the embedded API', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'capt-contract-'))
  let server: ApiServer
  before(async () => {
    server = await startApiServer({ dataDir })
  })
  after(async () => {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  for (const [name, kubeconfig] of [
    ['the embedded API', () => server.kubeconfig()],
    ['a realm of the embedded API', () => server.realm('/workloads/default/demo').kubeconfig()],
  ] as const) {
    objectsContract(name, async () => {
      const access = await readKubeconfigText(kubeconfig(), { origin: name })
      const other = connect(access)
      const { objects, informers, close } = connect(access)
      return {
        objects,
        informers,
        others: other.objects,
        close: async () => void (await Promise.all([close(), other.close()])),
      }
    })
  }
})
