import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { type AddonDelivery, type AnyObject, type Secret, SecretKind } from '#api'
import { systemClock } from '#lib'
import { memoryCluster } from '#testing'
import { examinePods, troubleOf } from './pods.ts'

const pod = (status: object, name = 'karpenter-1') =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'kube-system', name }, status }) as never
const container = (state: object, restartCount = 0) => ({
  containerStatuses: [{ name: 'controller', ready: false, restartCount, state }],
})

describe('a pod', () => {
  for (const [what, status, reason] of [
    ['runs', { containerStatuses: [{ name: 'controller', ready: true }] }, undefined],
    ['is done', { phase: 'Succeeded', ...container({}) }, undefined],
    [
      'cannot pull',
      container({ waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }),
      /controller: ImagePullBackOff: no such image$/,
    ],
    ['crashes', container({ waiting: { reason: 'CrashLoopBackOff' } }, 3), /CrashLoopBackOff$/],
    ['was killed', container({ terminated: { reason: 'OOMKilled', exitCode: 137 } }), /OOMKilled \(exit code 137\)$/],
    [
      'has no node',
      { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }] },
      /is not scheduled: 0\/3 nodes are available$/,
    ],
  ] as const)
    it(`that ${what} is ${reason ? 'explained' : 'not in the way'}`, () => {
      const trouble = troubleOf(pod(status))
      if (reason) assert.match(trouble?.reason ?? '', reason)
      else assert.equal(trouble, undefined)
    })
})

describe('the pods behind a failing stage', () => {
  const delivery = (lastError?: object) =>
    ({
      metadata: { namespace: 'default', name: 'demo' },
      spec: { clusterName: 'demo' },
      status: { stages: [{ name: 'karpenter', state: 'Failed', ...(lastError ? { lastError } : {}) }] },
    }) as unknown as AddonDelivery

  it('are named with the reason and the last line of the log, without secrets', async (t) => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      if (request.url?.includes('/log')) return response.end('panic: password=hush-4711 AccessDenied\n')
      const crashing = pod(container({ waiting: { reason: 'CrashLoopBackOff' } }, 2))
      const items = request.url?.includes('/helmreleases')
        ? [{ metadata: { namespace: 'infra', name: 'karpenter' } }]
        : request.url?.includes('kube-system')
          ? [crashing]
          : request.url?.includes('/namespaces/infra/')
            ? [{ ...(crashing as AnyObject), metadata: { name: 'karpenter-1', namespace: 'infra' } }]
            : []
      response.setHeader('content-type', 'application/json')
      return response.end(
        JSON.stringify({ apiVersion: 'v1', kind: 'PodList', metadata: { resourceVersion: '1' }, items }),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.closeAllConnections())
    t.after(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const kubeconfig = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'w',
      contexts: [{ name: 'w', context: { cluster: 'w', user: 'w' } }],
      clusters: [{ name: 'w', cluster: { server: url } }],
      users: [{ name: 'w', user: { token: 't' } }],
    })
    const { seed, others } = memoryCluster({})
    seed(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'demo-kubeconfig' },
      data: { value: Buffer.from(kubeconfig).toString('base64') },
    } as Secret)
    const findings = await examinePods(others, delivery({ code: 'X', message: 'm' }), systemClock)
    assert.equal(findings.length, 2)
    assert.match(findings[1]!.what, /^Pod infra\/karpenter-1 /, 'in the namespace of a release')
    assert.match(
      findings[0]!.what,
      /^Pod kube-system\/karpenter-1 container controller: CrashLoopBackOff; its log ends: panic: /,
    )
    assert.ok(!JSON.stringify(findings).includes('hush-4711'))
    assert.ok(asked.some((path) => path.includes('tailLines=1&previous=true')))
    const before = asked.length
    assert.deepEqual(await examinePods(others, delivery(), systemClock), [])
    assert.equal(asked.length, before, 'a delivery that works is not looked into')
    server.closeAllConnections()
    server.close()
    assert.deepEqual(await examinePods(others, delivery({ code: 'X', message: 'm' }), systemClock), [])
  })
})
