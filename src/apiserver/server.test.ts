import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { isCaptError } from '#lib'
import { items, MERGE, rawApi } from '#testing'
import type { ApiObject } from './object.ts'
import { startApiServer } from './server.ts'
import { startInTempFolder, WIDGETS, widget, widgetCrd } from './started.ts'

const CONFIGS = '/api/v1/namespaces/default/configmaps'
const folder = mkdtempSync(join(tmpdir(), 'capt-server-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let serial = 0
const newFolder = () => join(folder, `${serial++}`)

async function withServer<T>(
  options: Parameters<typeof startInTempFolder>[0],
  work: (started: Awaited<ReturnType<typeof startInTempFolder>>) => Promise<T>,
): Promise<T> {
  const started = await startInTempFolder(options)
  try {
    return await work(started)
  } finally {
    await started.end()
  }
}

describe('who may come in', () => {
  it('only who brings the token; probes and the version are for everybody', () =>
    withServer({}, async ({ server }) => {
      const api = rawApi(server)
      const nobody = await api.call('GET', CONFIGS, undefined, { token: 'wrong' })
      assert.partialDeepStrictEqual(nobody.body, {
        kind: 'Status',
        code: 401,
        reason: 'Unauthorized',
        message: 'Unauthorized',
      })
      for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
        assert.equal((await api.call('GET', path, undefined, { token: 'wrong' })).code, 200, path)
      }
      assert.equal((await api.call('GET', CONFIGS)).code, 200)
      await assert.rejects(rawApi({ ...server, caPem: '' }).call('GET', CONFIGS), /self-signed|unable to|certificate/i)
      api.close()
    }))

  it('keeps token and authority over a restart, so that a kubeconfig stays valid', () =>
    withServer({}, async (started) => {
      const before = { ...started.server }
      const port = Number(new URL(before.url).port)
      await started.restart({ port })
      const api = rawApi(before)
      assert.equal((await api.call('GET', CONFIGS)).code, 200)
      assert.equal(started.server.kubeconfig(), before.kubeconfig())
      api.close()
    }))
})

describe('realms', () => {
  it('share a port and nothing else, and survive a restart', () =>
    withServer({ crds: [widgetCrd()] }, async (started) => {
      const path = '/workloads/default/demo'
      const realm = started.server.realm(path)
      assert.equal(realm.url, `${started.server.url}${path}`)
      assert.notEqual(realm.token, started.server.token)
      let [root, demo] = [rawApi(started.server), rawApi(realm)]
      await demo.call('POST', CONFIGS, { metadata: { name: 'inside' } })
      assert.equal((await root.call('GET', `${CONFIGS}/inside`)).code, 404)
      assert.equal((await demo.call('GET', WIDGETS)).code, 404)
      assert.equal((await root.call('GET', `${path}${CONFIGS}`)).code, 401)
      realm.install([widgetCrd()])
      assert.equal((await demo.call('POST', WIDGETS, widget('w'))).code, 201)
      root.close()
      demo.close()

      await started.restart()
      assert.deepEqual(started.server.realms(), [path])
      ;[root, demo] = [rawApi(started.server), rawApi(started.server.realm(path))]
      assert.equal((await demo.call('GET', `${WIDGETS}/w`)).code, 200)
      const watch = await demo.watch(`${CONFIGS}?watch=1`)
      started.server.removeRealm(path)
      await watch.ended
      assert.equal((await demo.call('GET', CONFIGS)).code, 401)
      assert.deepEqual(started.server.realms(), [])
      const fresh = rawApi(started.server.realm(path))
      assert.equal((await fresh.call('GET', `${CONFIGS}/inside`)).code, 404)
      for (const one of [root, demo, fresh]) one.close()
    }))

  it('have paths that cannot be taken for the API itself', () =>
    withServer({}, async ({ server }) => {
      for (const path of ['', 'no-slash', '/api', '/apis/x', '/a//b', '/a/../b', '/a/']) {
        assert.throws(
          () => server.realm(path),
          (error) => isCaptError(error, 'CAPT_INVALID'),
          path,
        )
      }
    }))
})

describe('starting', () => {
  it('makes a folder that only its owner can read', async () => {
    const dataDir = newFolder()
    const server = await startApiServer({ dataDir })
    assert.equal(statSync(dataDir).mode & 0o777, 0o700)
    for (const name of readdirSync(dataDir)) assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name)
    await server.close()
  })

  it('says who holds the folder, and takes it over from one that is gone', async () => {
    const dataDir = newFolder()
    const server = await startApiServer({ dataDir })
    await assert.rejects(startApiServer({ dataDir }), (error) => {
      assert.ok(isCaptError(error, 'CAPT_DATA_HELD'))
      assert.match(error.message, new RegExp(`process ${process.pid}, since `))
      return error.hint !== undefined
    })
    await server.close()
    writeFileSync(join(dataDir, 'holder.json'), JSON.stringify({ pid: 1, since: 'long ago' }))
    await (await startApiServer({ dataDir })).close()
  })

  it('names the port that is taken, and lets the folder go again', async () => {
    const first = await startApiServer({ dataDir: newFolder() })
    const port = Number(new URL(first.url).port)
    const dataDir = newFolder()
    await assert.rejects(startApiServer({ dataDir, port }), (error) => {
      assert.ok(isCaptError(error, 'CAPT_PORT_IN_USE'))
      return error.message.includes(`127.0.0.1:${port}`)
    })
    await (await startApiServer({ dataDir })).close()
    await first.close()
  })

  it('refuses a damaged database, a file in place of the folder and an address of another machine', async () => {
    const damaged = newFolder()
    await (await startApiServer({ dataDir: damaged })).close()
    writeFileSync(join(damaged, 'objects.db'), 'x'.repeat(5000))
    await assert.rejects(startApiServer({ dataDir: damaged }), (error) => isCaptError(error, 'CAPT_DATA_CORRUPT'))
    const file = newFolder()
    writeFileSync(file, '')
    await assert.rejects(startApiServer({ dataDir: file }), (error) => isCaptError(error, 'CAPT_DATA_UNUSABLE'))
    await assert.rejects(startApiServer({ dataDir: newFolder(), host: '192.0.2.1' }), (error) =>
      isCaptError(error, 'CAPT_LISTEN_FAILED'),
    )
    chmodSync(damaged, 0o700)
  })

  it('answers a full disk with 507 and keeps serving what it has', () =>
    withServer({}, async (started) => {
      await started.restart({ maxPages: 60 })
      const api = rawApi(started.server)
      const data = { text: 'x'.repeat(20_000) }
      let answer = { code: 201 } as Awaited<ReturnType<typeof api.call>>
      let made = 0
      for (; answer.code === 201 && made < 50; made++) {
        answer = await api.call('POST', CONFIGS, { metadata: { name: `c${made}` }, data })
      }
      assert.equal(answer.code, 507)
      assert.match(`${answer.body['message']}`, /CAPT_DATA_FULL.*free some space/)
      assert.equal(items((await api.call('GET', CONFIGS)).body).length, made - 1)
      assert.equal((await api.call('DELETE', `${CONFIGS}/c0`)).code, 200)
      assert.equal((await api.call('POST', CONFIGS, { metadata: { name: 'small' } })).code, 201)
      api.close()
    }))

  it('reports every request to onRequest', async () => {
    const seen: string[] = []
    await withServer(
      { onRequest: ({ method, path, code }) => seen.push(`${method} ${path} ${code}`) },
      async ({ server }) => {
        const api = rawApi(server)
        await api.call('GET', `${CONFIGS}/none`)
        api.close()
      },
    )
    assert.deepEqual(seen, [`GET ${CONFIGS}/none 404`])
  })
})

describe('definitions', () => {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

  it('given at start are installed once and updated when they differ', () =>
    withServer({ crds: [widgetCrd()] }, async (started) => {
      const read = async () => {
        const api = rawApi(started.server)
        const { body } = await api.call('GET', `${path}/widgets.example.com`)
        api.close()
        return [body['metadata']?.['resourceVersion'], body['metadata']?.['generation'], body['metadata']?.['uid']]
      }
      const first = await read()
      await started.restart()
      assert.deepEqual(await read(), first)
      await started.restart({ crds: [widgetCrd({ names: { plural: 'widgets', kind: 'Widget', shortNames: ['wx'] } })] })
      const updated = await read()
      assert.notEqual(updated[0], first[0])
      assert.deepEqual([updated[1], updated[2]], [2, first[2]])
    }))

  it('are established at once, and refused when they make no sense', () =>
    withServer({}, async ({ server }) => {
      const api = rawApi(server)
      const made = await api.call('POST', path, widgetCrd())
      assert.equal(made.code, 201)
      assert.equal((await api.call('POST', WIDGETS, widget('a'))).code, 201)
      const conditions = items(made.body['status']?.['conditions'])
      assert.deepEqual(
        conditions.map((item) => `${item['type']}=${item['status']}`),
        ['NamesAccepted=True', 'Established=True'],
      )
      for (const [crd, message] of [
        [{ ...widgetCrd(), metadata: { name: 'wrong.example.com' } }, /must be spec.names.plural/],
        [widgetCrd({}, { storage: false }), /exactly one version marked as storage/],
        [widgetCrd({}, { schema: {} }), /schemas are required/],
        [widgetCrd({}, { additionalPrinterColumns: [{ name: 'X', type: 'string', jsonPath: '.a[' }] }), /JSONPath/],
        [widgetCrd({ scope: 'Somewhere' }), /Unsupported value: "Somewhere"/],
        [
          widgetCrd({}, { schema: { openAPIV3Schema: { type: 'object', properties: { a: {} } } } }),
          /must not be empty/,
        ],
      ] as const) {
        const answer = await api.call('POST', path, crd)
        assert.equal(answer.code, 422)
        assert.match(`${answer.body['message']}`, message)
      }
      const clash = {
        ...widgetCrd({ names: { plural: 'gadgets', kind: 'Gadget', shortNames: ['wd'] } }),
        metadata: { name: 'gadgets.example.com' },
      }
      const refusedNames = await api.call('POST', path, clash)
      assert.partialDeepStrictEqual(items(refusedNames.body['status']?.['conditions'])[0], {
        reason: 'ShortNamesConflict',
        status: 'False',
      })
      assert.equal((await api.call('GET', '/apis/example.com/v1/gadgets')).code, 404)
      api.close()
    }))

  it('serve several versions of one object, converted on the way in and out', async () => {
    const [base] = widgetCrd().spec.versions
    const next = {
      ...base,
      name: 'v2',
      storage: true,
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: { type: 'object', properties: { bulk: { type: 'integer' }, colour: { type: 'string' } } },
          },
        },
      },
      additionalPrinterColumns: [],
    }
    const crd = widgetCrd({ versions: [{ ...base, storage: false }, next] })
    const converters = {
      'example.com/Widget': (
        object: { apiVersion: string; kind: string; metadata: { name: string }; spec?: unknown },
        to: string,
      ) => {
        const { size, bulk, ...rest } = object.spec as { size?: number; bulk?: number }
        return { ...object, spec: { ...rest, ...(to === 'v2' ? { bulk: size } : { size: bulk }) } }
      },
    }
    await withServer({ crds: [crd], converters }, async (started) => {
      const api = rawApi(started.server)
      const newer = WIDGETS.replace('/v1/', '/v2/')
      await api.call('POST', WIDGETS, widget('w', { size: 4 }, { labels: { a: 'b' } }))
      const read = await api.call('GET', `${newer}/w`)
      assert.deepEqual([read.body['apiVersion'], read.body['spec']], ['example.com/v2', { colour: 'red', bulk: 4 }])
      await api.call('PATCH', `${newer}/w`, { spec: { bulk: 6 } }, { type: MERGE })
      const older = await api.call('GET', `${WIDGETS}/w`)
      assert.deepEqual([older.body['apiVersion'], older.body['spec']], ['example.com/v1', { colour: 'red', size: 6 }])
      const listed = await api.call('GET', newer)
      assert.equal(items(listed.body)[0]?.['apiVersion'], 'example.com/v2')
      const groups = await api.call('GET', '/apis/example.com')
      assert.equal(groups.body['preferredVersion']?.['version'], 'v2')
      api.close()
    })
  })

  it('keep what was stored when another version becomes the one to store', async () => {
    const [base] = widgetCrd().spec.versions
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: { bulk: { type: 'integer' }, colour: { type: 'string' } } } },
      },
    }
    const next = { ...base, name: 'v2', storage: false, schema, additionalPrinterColumns: [] }
    const converters = {
      'example.com/Widget': (object: ApiObject, to: string) => {
        const { size, bulk, ...rest } = object['spec'] as { size?: number; bulk?: number }
        return { ...object, spec: { ...rest, ...(to === 'v2' ? { bulk: size } : { size: bulk }) } }
      },
    }
    await withServer({ crds: [widgetCrd({ versions: [base, next] })], converters }, async ({ server }) => {
      const api = rawApi(server)
      const newer = WIDGETS.replace('/v1/', '/v2/')
      await api.call('POST', WIDGETS, widget('w', { size: 4 }))
      server.install([
        widgetCrd({
          versions: [
            { ...base, storage: false },
            { ...next, storage: true },
          ],
        }),
      ])
      assert.deepEqual((await api.call('GET', `${newer}/w`)).body['spec'], { colour: 'red', bulk: 4 })
      assert.deepEqual((await api.call('GET', `${WIDGETS}/w`)).body['spec'], { colour: 'red', size: 4 })
      await api.call('PATCH', `${WIDGETS}/w`, { spec: { size: 5 } }, { type: MERGE })
      assert.deepEqual((await api.call('GET', `${newer}/w`)).body['spec'], { colour: 'red', bulk: 5 })
      const { body } = await api.call('GET', `${path}/widgets.example.com`)
      assert.deepEqual(body['status']?.['storedVersions'], ['v1', 'v2'])
      api.close()
    })
  })

  it('show new defaults on objects that were stored before', () =>
    withServer({ crds: [widgetCrd()] }, async (started) => {
      const api = rawApi(started.server)
      await api.call('POST', WIDGETS, widget('old', { size: 1 }))
      const schema = structuredClone(widgetCrd().spec.versions[0]!.schema) as {
        openAPIV3Schema: { properties: { spec: { properties: object } } }
      }
      const fields = schema.openAPIV3Schema.properties.spec
      fields.properties = { ...fields.properties, weight: { type: 'integer', default: 7 } }
      started.server.install([widgetCrd({}, { schema })])
      const { body } = await api.call('GET', `${WIDGETS}/old`)
      assert.deepEqual(body['spec'], { size: 1, colour: 'red', weight: 7 })
      api.close()
    }))
})

describe('what clients find out', () => {
  it('kinds by group, old style and aggregated, with short names, categories and subresources', () =>
    withServer({ crds: [widgetCrd()] }, async ({ server }) => {
      const api = rawApi(server)
      const list = await api.call('GET', '/apis/example.com/v1')
      assert.deepEqual(
        items(list.body['resources']).map((item) => item['name']),
        ['widgets', 'widgets/scale', 'widgets/status'],
      )
      assert.partialDeepStrictEqual(items(list.body['resources'])[0], {
        shortNames: ['wd'],
        categories: ['all'],
        namespaced: true,
      })
      for (const version of ['v2', 'v2beta1']) {
        const accept = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
        const found = await api.call('GET', '/apis', undefined, { accept })
        assert.equal(found.body['apiVersion'], `apidiscovery.k8s.io/${version}`)
        assert.match(`${found.headers['content-type']}`, new RegExp(`v=${version};as=APIGroupDiscoveryList`))
        const group = items(found.body).find((item) => `${item['metadata']?.['name']}` === 'example.com')
        assert.ok(group)
      }
      assert.equal((await api.call('GET', '/apis/nobody.example.com/v1/x')).code, 404)
      api.close()
    }))

  it('an OpenAPI document per group, with descriptions and what a write accepts', () =>
    withServer({ crds: [widgetCrd()] }, async ({ server }) => {
      const realm = server.realm('/workloads/a/b')
      const [api, inRealm] = [rawApi(server), rawApi(realm)]
      const index = await api.call('GET', '/openapi/v3')
      const address = `${index.body['paths']?.['apis/example.com/v1']?.['serverRelativeURL']}`
      const { body } = await api.call('GET', address)
      const schema = body['components']?.['schemas']?.['com.example.v1.Widget']
      assert.equal(schema?.['properties']?.['spec']?.['description'], 'What the widget should be.')
      assert.deepEqual(schema?.['x-kubernetes-group-version-kind'], [
        { group: 'example.com', version: 'v1', kind: 'Widget' },
      ])
      const patch = body['paths']?.[`${WIDGETS.replace('/default/', '/{namespace}/')}/{name}`]?.['patch']
      const parameters = items(patch?.['parameters']).map((parameter) => parameter['name'])
      assert.ok(parameters.includes('fieldValidation' as never) && parameters.includes('dryRun' as never))
      for (const path of Object.keys(index.body['paths'] ?? {})) {
        assert.equal((await api.call('GET', `/openapi/v3/${path}`)).code, 200, path)
      }
      const inside = await inRealm.call('GET', '/openapi/v3')
      assert.match(
        `${inside.body['paths']?.['api/v1']?.['serverRelativeURL']}`,
        /^\/workloads\/a\/b\/openapi\/v3\/api\/v1/,
      )
      api.close()
      inRealm.close()
    }))
})
