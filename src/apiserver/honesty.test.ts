// What this server does not do, it says: conversion webhooks, admission webhooks, quotas, API services, impersonation.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { after, before, describe, it } from 'node:test'
import { items, MERGE, type RawApi, rawApi } from '#testing'
import { type Started, startInTempFolder } from './started.ts'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const at = (version: string) => `/apis/example.com/${version}/namespaces/default/gears`

const gearCrd = (storage: 'v1' | 'v2', conversion: object) => {
  const version = (name: string, field: string) => ({
    name,
    served: true,
    storage: name === storage,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: { [field]: { type: 'string' } } } },
      },
    },
  })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gears.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'gears', singular: 'gear', kind: 'Gear' },
      conversion,
      versions: [version('v1', 'old'), version('v2', 'new')],
    },
  }
}
const WEBHOOK = {
  strategy: 'Webhook',
  webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://localhost:1/convert' } },
}
const gear = (version: string, name: string, spec: object) => ({
  apiVersion: `example.com/${version}`,
  kind: 'Gear',
  metadata: { name },
  spec,
})

describe('a kind with a conversion webhook', () => {
  let started: Started
  let api: RawApi
  before(async () => {
    started = await startInTempFolder()
    api = rawApi(started.server)
  })
  after(async () => {
    api.close()
    await started.end()
  })
  const refused = /needs the conversion webhook .* does not call: use the storage version v1/

  it('is defined with a warning and served in its storage version alone', async () => {
    const made = await api.call('POST', CRDS, gearCrd('v1', WEBHOOK))
    assert.equal(made.code, 201)
    assert.match(`${made.headers['warning']}`, /calls no conversion webhooks; requests in v2 are refused/)
    const group = await api.call('GET', '/apis/example.com')
    assert.deepEqual(
      items(group.body['versions']).map((one) => one['version']),
      ['v1'],
    )
    assert.equal((await api.call('POST', at('v1'), gear('v1', 'one', { old: 'kept' }))).code, 201)
  })

  it('loses no field: every request in another version is refused with the way out', async () => {
    for (const [method, path, body] of [
      ['GET', at('v2'), undefined],
      ['GET', `${at('v2')}/one`, undefined],
      ['GET', `${at('v2')}?watch=1`, undefined],
      ['POST', at('v2'), gear('v2', 'two', { new: 'x' })],
      ['PUT', `${at('v2')}/one`, gear('v2', 'one', { new: 'x' })],
      ['PATCH', `${at('v2')}/one`, { spec: { new: 'x' } }],
      ['DELETE', `${at('v2')}/one`, undefined],
    ] as const) {
      const answer = await api.call(method, path, body, { type: MERGE })
      assert.deepEqual([method, answer.code, answer.body['reason']], [method, 400, 'BadRequest'])
      assert.match(`${answer.body['message']}`, refused)
    }
    assert.deepEqual((await api.call('GET', `${at('v1')}/one`)).body['spec'], { old: 'kept' })
  })

  it('keeps objects of an earlier storage version whole, readable in that version no more, and deletable', async () => {
    const watch = await api.watch(`${at('v1')}?watch=1`)
    await watch.until(1)
    const before = (await api.call('GET', `${CRDS}/gears.example.com`)).body
    const next = { ...gearCrd('v2', WEBHOOK), metadata: before['metadata'] }
    assert.equal((await api.call('PUT', `${CRDS}/gears.example.com`, next)).code, 200)
    await watch.ended
    assert.equal((await api.call('POST', at('v2'), gear('v2', 'two', { new: 'x' }))).code, 201)
    assert.deepEqual((await api.call('GET', `${at('v2')}/two`)).body['spec'], { new: 'x' })
    assert.equal((await api.call('GET', `${at('v2')}/one`)).code, 400)
    assert.equal((await api.call('GET', at('v2'))).code, 400)
    assert.equal((await api.call('DELETE', `${at('v2')}/one`)).code, 200)
    assert.equal(items((await api.call('GET', at('v2'))).body).length, 1)
  })

  it('is converted by renaming the version when its strategy is None', async () => {
    await api.call('DELETE', `${CRDS}/gears.example.com`)
    while ((await api.call('GET', `${CRDS}/gears.example.com`)).code !== 404);
    const made = await api.call('POST', CRDS, gearCrd('v1', { strategy: 'None' }))
    assert.equal(made.headers['warning'], undefined)
    await api.call('POST', at('v1'), gear('v1', 'one', {}))
    assert.equal((await api.call('GET', `${at('v2')}/one`)).body['apiVersion'], 'example.com/v2')
  })
})

describe('what is stored without effect', () => {
  let started: Started
  let api: RawApi
  before(async () => {
    started = await startInTempFolder()
    api = rawApi(started.server)
  })
  after(async () => {
    api.close()
    await started.end()
  })

  for (const [name, path, body, warning] of [
    [
      'a validating webhook',
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      { metadata: { name: 'w' } },
      /ValidatingWebhookConfiguration w is stored without effect: the embedded API calls no admission webhooks/,
    ],
    [
      'a mutating webhook',
      '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
      { metadata: { name: 'w' } },
      /calls no admission webhooks/,
    ],
    [
      'a quota',
      '/api/v1/namespaces/default/resourcequotas',
      { metadata: { name: 'q' }, spec: { hard: { configmaps: '0' } } },
      /ResourceQuota q is stored without effect: the embedded API does not enforce it/,
    ],
    [
      'a limit range',
      '/api/v1/namespaces/default/limitranges',
      { metadata: { name: 'l' }, spec: { limits: [] } },
      /not enforce/,
    ],
    [
      'an API service',
      '/apis/apiregistration.k8s.io/v1/apiservices',
      {
        metadata: { name: 'v1.metrics.example.com' },
        spec: {
          group: 'metrics.example.com',
          version: 'v1',
          groupPriorityMinimum: 100,
          versionPriority: 100,
          service: { name: 's', namespace: 'default' },
        },
      },
      /forwards no requests/,
    ],
  ] as const) {
    it(`warns the client that writes ${name}`, async () => {
      const made = await api.call('POST', path, body)
      assert.equal(made.code, 201, JSON.stringify(made.body))
      assert.match(`${made.headers['warning']}`, warning)
      const patched = await api.call(
        'PATCH',
        `${path}/${body.metadata.name}`,
        { metadata: { labels: { a: 'b' } } },
        { type: MERGE },
      )
      assert.match(`${patched.headers['warning']}`, warning)
    })
  }

  it('warns of nothing that works', async () => {
    const made = await api.call('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' } })
    assert.equal(made.headers['warning'], undefined)
  })

  it('refuses to act as somebody else', async () => {
    const { url, token, caPem } = started.server
    for (const extra of [
      { 'impersonate-user': 'jane' },
      { 'impersonate-group': 'viewers' },
      { 'impersonate-extra-x': '1' },
    ]) {
      const headers = { authorization: `Bearer ${token}`, ...extra } as unknown as Record<string, string>
      const answer = await new Promise<{ code: number; text: string }>((resolve, reject) => {
        request(`${url}/api/v1/namespaces`, { headers, ca: caPem, agent: false }, (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString()
          })
          response.on('end', () => resolve({ code: response.statusCode!, text }))
        })
          .on('error', reject)
          .end()
      })
      assert.equal(answer.code, 403)
      assert.match(answer.text, /one identity and cannot act as another.*"reason":"Forbidden"/)
    }
  })

  it('answers an unserved group with a Status', async () => {
    for (const path of [
      '/apis/nothing.example.com',
      '/apis/nothing.example.com/v1',
      '/apis/nothing.example.com/v1/things',
      '/apis/nothing.example.com/v1/namespaces/default/things/one',
    ]) {
      const answer = await api.call('GET', path)
      assert.deepEqual([answer.code, answer.body['kind'], answer.body['reason']], [404, 'Status', 'NotFound'], path)
      assert.match(`${answer.body['message']}`, /could not find the requested resource/)
    }
    assert.equal((await api.call('GET', '/openapi/v2')).body['swagger'], '2.0')
  })

  it('serves the times of events under their old names too', async () => {
    await api.call('POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
      metadata: { name: 'e' },
      eventTime: '2026-01-01T00:00:01.500000Z',
      reportingController: 'a.b/c',
      reportingInstance: 'i',
      action: 'Do',
      reason: 'Done',
      type: 'Normal',
      regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
      note: 'words',
    })
    const read = (await api.call('GET', '/api/v1/namespaces/default/events/e')).body
    assert.deepEqual([read['firstTimestamp'], read['lastTimestamp']], ['2026-01-01T00:00:01Z', '2026-01-01T00:00:01Z'])
    const newer = (await api.call('GET', '/apis/events.k8s.io/v1/namespaces/default/events/e')).body
    assert.equal(newer['deprecatedLastTimestamp'], undefined)
  })
})
