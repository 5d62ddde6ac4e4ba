import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { NodeKind, type Secret, SecretKind } from '#api'
import type { Objects } from '#kube'
import { systemClock } from '#lib'
import { manualClock } from '#testing'
import { openWorkloads } from './workloads.ts'

const CLUSTER = { namespace: 'default', name: 'demo' }
const kubeconfig = (token: string, server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'demo',
    clusters: [{ name: 'demo', cluster: { server } }],
    users: [{ name: 'demo', user: { token } }],
    contexts: [{ name: 'demo', context: { cluster: 'demo', user: 'demo' } }],
  })

function secrets(server = 'https://127.0.0.1:1'): {
  readonly objects: Objects
  reads: number
  token: string | undefined
} {
  const state = {
    reads: 0,
    token: 'a' as string | undefined,
    objects: {
      async get(): Promise<Secret | undefined> {
        state.reads++
        if (state.token === undefined) return undefined
        const data = { value: Buffer.from(kubeconfig(state.token, server)).toString('base64') }
        return { apiVersion: 'v1', kind: SecretKind.kind, metadata: { ...CLUSTER, name: 'demo-kubeconfig' }, data }
      },
    } as unknown as Objects,
  }
  return state
}

describe('A connection to a workload cluster', () => {
  it('is used without reading the kubeconfig again, as long as the caller allows', async () => {
    const clock = manualClock()
    const state = secrets()
    const workloads = openWorkloads(state.objects, clock)
    try {
      const first = await workloads.open(CLUSTER, 60)
      state.token = 'b'
      assert.equal((await workloads.open(CLUSTER, 60))?.objects, first?.objects)
      assert.equal(state.reads, 1)
      await clock.advance(60_000)
      const second = await workloads.open(CLUSTER, 60)
      assert.notEqual(second?.objects, first?.objects, 'another token is another connection')
      assert.equal(state.reads, 2)
    } finally {
      workloads.close()
    }
  })

  it('is not used by a caller who allows no age, and not without a kubeconfig', async () => {
    const state = secrets()
    const workloads = openWorkloads(state.objects, manualClock())
    try {
      await workloads.open(CLUSTER)
      await workloads.open(CLUSTER)
      assert.equal(state.reads, 2)
      state.token = undefined
      assert.equal(await workloads.open(CLUSTER), undefined)
      assert.equal(await workloads.open(CLUSTER, 60), undefined, 'it is forgotten with its Secret')
    } finally {
      workloads.close()
    }
  })

  it('is one at most, however many requests are made at once', async () => {
    let [open, most, answered] = [0, 0, 0]
    const api = createServer((_request, response) => {
      answered++
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'one' } }
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(node)), 5)
    })
    api.on('connection', (socket) => {
      most = Math.max(most, ++open)
      socket.once('close', () => open--)
    })
    await new Promise<void>((resolve) => void api.listen(0, '127.0.0.1', resolve))
    const { objects } = secrets(`http://127.0.0.1:${(api.address() as AddressInfo).port}`)
    const workloads = openWorkloads(objects, systemClock)
    try {
      const workload = await workloads.open(CLUSTER)
      const names = Array.from({ length: 20 }, (_, i) => `node-${i}`)
      await Promise.all(names.map((name) => workload!.objects.get(NodeKind, { name })))
      assert.deepEqual([most, answered], [1, 20])
    } finally {
      workloads.close()
      api.close()
    }
  })
})
