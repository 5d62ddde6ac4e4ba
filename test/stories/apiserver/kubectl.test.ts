// Real kubectl against the embedded API, from the first apply to the last delete.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { type ApiServer, startApiServer } from '#apiserver'
import { APPLY, MERGE, rawApi, TABLE } from '#testing'
import { WIDGETS, widget, widgetCrd } from '../../../src/apiserver/started.ts'
import { findTool, type Ran, run } from '../../support/tools.ts'

const kubectl = findTool('kubectl')
/** The first when kubectl asked afresh, the second when it trusted what it had seen a moment ago. */
const NOT_SERVED = /doesn't have a resource type "(wd|widgets)"|could not find the requested resource/

describe('kubectl and the embedded API', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capt-kubectl-'))
  const home = join(folder, 'home')
  let server: ApiServer
  before(async () => {
    server = await startApiServer({ dataDir: join(folder, 'data') })
    writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig(), { mode: 0o600 })
  })
  after(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  if (!kubectl) {
    it('speaks the same over HTTP (kubectl is not on the PATH: its story was not run)', async (test) => {
      test.diagnostic('kubectl is not on the PATH; the story ran over HTTP alone')
      const api = rawApi(server)
      await api.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd())
      const applied = await api.call('PATCH', `${WIDGETS}/w?fieldManager=kubectl`, widget('w', { size: 3 }), {
        type: APPLY,
      })
      assert.equal(applied.code, 201)
      const table = await api.call('GET', WIDGETS, undefined, { accept: TABLE })
      assert.equal(table.body['kind'], 'Table')
      const refused = await api.call('PATCH', `${WIDGETS}/w`, { spec: { size: 11 } }, { type: MERGE })
      assert.match(`${refused.body['message']}`, /size must not be more than ten/)
      assert.equal((await api.call('DELETE', `${WIDGETS}/w`)).code, 200)
      api.close()
    })
    return
  }

  const env = () => ({ KUBECONFIG: join(folder, 'kubeconfig'), HOME: home })
  const k = (args: string, input?: object | string): Promise<Ran> =>
    run(kubectl, args.split(' '), { env: env(), input: typeof input === 'object' ? stringify(input) : (input ?? '') })
  const ok = async (args: string, input?: object | string): Promise<string> => {
    const { code, out, err } = await k(args, input)
    assert.equal(code, 0, `kubectl ${args}: ${err}`)
    return out
  }

  it('installs a definition and waits until it is established', async () => {
    assert.match(await ok('apply -f -', widgetCrd()), /widgets.example.com created/)
    assert.match(await ok('wait --for=condition=Established crd/widgets.example.com --timeout=5s'), /condition met/)
    assert.match(await ok('api-resources --api-group=example.com'), /widgets +wd +example.com\/v1 +true +Widget/)
  })

  it('deletes nothing by a label that no object has, whatever the label is called', async () => {
    for (const name of ['one', 'two']) await ok(`create configmap ${name} --from-literal=a=b`)
    for (const key of ['toString', 'constructor', 'hasOwnProperty', 'valueOf']) {
      assert.match(await ok(`delete configmap -l ${key}`), /No resources found/)
      assert.equal((await ok(`get configmap -l ${key} -o name`)).trim(), '')
      assert.match(await ok(`get configmap -l !${key} -o name`), /configmap\/one\nconfigmap\/two/)
    }
    await ok('label configmap one toString=yes constructor=no')
    assert.equal((await ok('get configmap -l toString -o name')).trim(), 'configmap/one')
    await ok('label configmap one toString- constructor-')
    assert.equal((await ok('get configmap -l toString -o name')).trim(), '')
    await ok('delete configmap one two')
  })

  it('sorts events that a controller wrote through the newer API by their last time', async () => {
    for (const [name, time] of [
      ['later', '2026-01-01T00:00:09.000000Z'],
      ['earlier', '2026-01-01T00:00:01.000000Z'],
    ] as const)
      await ok('create -f -', {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name, namespace: 'default' },
        eventTime: time,
        reportingController: 'example.com/c',
        reportingInstance: 'c-1',
        action: 'Try',
        reason: name,
        type: 'Normal',
        regarding: { kind: 'ConfigMap', name: 'x', namespace: 'default' },
      })
    assert.match(await ok('get events --sort-by=.lastTimestamp'), /earlier(.|\n)*later/)
    await ok('delete events earlier later')
  })

  it('hears that a group is not served, in the words it has for that', async () => {
    const thing = { apiVersion: 'nothing.example.com/v1', kind: 'Thing', metadata: { name: 't' } }
    const { code, err } = await k('create -f -', thing)
    assert.equal(code, 1)
    assert.match(err, /no matches for kind "Thing" in version "nothing.example.com\/v1"/)
  })

  it('explains fields with their descriptions', async () => {
    const text = await ok('explain widget.spec')
    assert.match(text, /What the widget should be\./)
    assert.match(text, /size\s+<integer> -required-\s+How big it is\./)
    assert.match(await ok('explain deployment.spec.replicas'), /FIELD: replicas <integer>/)
  })

  it('applies, sees nothing to change, and applies a change', async () => {
    assert.match(await ok('apply -f -', widget('a', { size: 3 })), /widget.example.com\/a created/)
    assert.match(await ok('apply -f -', widget('a', { size: 3 })), /widget.example.com\/a unchanged/)
    assert.match(await ok('apply -f -', widget('a', { size: 4 })), /widget.example.com\/a configured/)
    assert.equal(await ok('get wd a -o jsonpath={.spec.size}/{.metadata.generation}'), '4/2')
    assert.equal((await k('diff -f -', widget('a', { size: 4 }))).code, 0)
    const changed = await k('diff -f -', widget('a', { size: 5 }))
    assert.deepEqual([changed.code, /\+ +size: 5/.test(changed.out)], [1, true])
  })

  it('shows the message of the rule that an object breaks, and unknown fields by name', async () => {
    const big = await k('apply -f -', widget('a', { size: 11 }))
    assert.equal(big.code, 1)
    assert.match(big.err, /The Widget "a" is invalid: spec: Invalid value: .*: size must not be more than ten/)
    const odd = await k('create -f -', widget('odd', { size: 1, sise: 2 }))
    assert.match(odd.err, /unknown field "spec.sise"/)
  })

  it('applies server-side, gets a conflict, and may force the change', async () => {
    const conflict = await k('apply --server-side --field-manager=other -f -', widget('a', { size: 6 }))
    assert.match(conflict.err, /conflict with "kubectl-client-side-apply" using example.com\/v1: .spec.size/)
    const forced = 'apply --server-side --field-manager=other --force-conflicts -f -'
    assert.match(await ok(forced, widget('a', { size: 6 })), /serverside-applied/)
    assert.match(
      await ok('apply --server-side -f -', widget('b', { size: 1 })),
      /widget.example.com\/b serverside-applied/,
    )
    assert.match(
      await ok('apply --server-side -f -', widget('b', { size: 2 })),
      /widget.example.com\/b serverside-applied/,
    )
  })

  it('prints tables, wide ones and YAML', async () => {
    assert.match(await ok('get widgets'), /^NAME +SIZE +READY +AGE\na +6 +\d+s\n/)
    assert.match(await ok('get widgets -o wide'), /^NAME +SIZE +READY +COLOUR +AGE\n/)
    assert.match(await ok('get widget a -o yaml'), /kind: Widget\n/)
    assert.match(await ok('get widgets -A --no-headers'), /^default +a /)
    assert.match(await ok('get all'), /widget.example.com\/a/)
    assert.match(await ok('get ns'), /default +Active/)
    assert.match(await ok('get widgets -l absent -o name'), /^$/)
    assert.match(await ok('get widgets --field-selector metadata.name=b -o name'), /^widget.example.com\/b\n$/)
  })

  it('describes an object with its events', async () => {
    const uid = await ok('get wd a -o jsonpath={.metadata.uid}')
    await ok('create -f -', {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'a.1', namespace: 'default' },
      regarding: { apiVersion: 'example.com/v1', kind: 'Widget', name: 'a', namespace: 'default', uid },
      reason: 'Grew',
      note: 'Grew to size 6',
      type: 'Normal',
      action: 'Grow',
      eventTime: new Date().toISOString().replace('Z', '000Z'),
      reportingController: 'example.com/test',
      reportingInstance: 'test-0',
    })
    const text = await ok('describe wd a')
    assert.match(text, /Size: +6/)
    assert.match(text, /Normal +Grew +.* +Grew to size 6/)
    assert.match(await ok('get events'), /Normal +Grew +widget\/a +Grew to size 6/)
  })

  it('watches rows as they change, and waits for a condition', async () => {
    const watcher: ChildProcess = spawn(kubectl, ['get', 'wd', 'a', '-w', '--no-headers'], {
      env: { ...process.env, ...env() },
    })
    try {
      const rows: string[] = []
      const seen = new Promise<void>((resolve) => {
        watcher.stdout?.on('data', (chunk: Buffer) => {
          rows.push(...chunk.toString().trim().split('\n'))
          if (rows.some((row) => row.includes('True'))) resolve()
        })
      })
      const waiting = ok('wait --for=condition=Ready wd/a --timeout=20s')
      const first = ok('get wd a')
      await first
      const patch = JSON.stringify({ status: { conditions: [{ type: 'Ready', status: 'True' }] } })
      const patched = await run(kubectl, ['patch', 'wd', 'a', '--subresource=status', '--type=merge', '-p', patch], {
        env: env(),
      })
      assert.equal(patched.code, 0, patched.err)
      assert.match(await waiting, /condition met/)
      const late = setTimeout(() => watcher.kill('SIGKILL'), 10_000)
      await seen
      clearTimeout(late)
      assert.match(rows[0] ?? '', /^a +6 /)
    } finally {
      watcher.kill('SIGKILL')
    }
  })

  it('labels, annotates, patches, scales and replaces', async () => {
    await ok('label wd a team=blue')
    await ok('annotate wd a note=hello')
    await ok('patch wd a --type=json -p [{"op":"replace","path":"/spec/size","value":7}]')
    await ok('patch wd a --type=merge -p {"spec":{"replicas":1}}')
    await ok('scale wd a --replicas=3')
    const fields = '{.metadata.labels.team} {.metadata.annotations.note} {.spec.size} {.spec.replicas}'
    const shown = await run(kubectl, ['get', 'wd', 'a', '-o', `jsonpath=${fields}`], { env: env() })
    assert.equal(shown.out, 'blue hello 7 3')
    const whole = await ok('get wd a -o json')
    assert.match(await ok('replace -f -', whole.replace('"size": 7', '"size": 8')), /replaced/)
  })

  it('creates built-in kinds in its own wire format', async () => {
    await ok('create namespace made')
    await ok('create configmap settings --from-literal=a=b -n made')
    await ok('create secret generic hidden --from-literal=key=value -n made')
    await ok('create serviceaccount robot -n made')
    await ok('create deployment web --image=example.com/web:1 --replicas=2 -n made')
    assert.equal(await ok('get cm settings -n made -o jsonpath={.data.a}'), 'b')
    assert.equal(await ok('get secret hidden -n made -o jsonpath={.data.key}'), 'dmFsdWU=')
    assert.match(await ok('get deploy -n made'), /web +0\/2 +0 +0 /)
    await ok('set image deployment/web web=example.com/web:2 -n made')
    assert.equal(
      await ok('get deploy web -n made -o jsonpath={.spec.template.spec.containers[*].image}'),
      'example.com/web:2',
    )
    assert.equal((await ok('auth can-i delete pods')).trim(), 'yes')
    await ok('delete namespace made --timeout=10s')
  })

  it('deletes one, many and the definition', async () => {
    assert.match(await ok('delete wd a --timeout=10s'), /"a" deleted/)
    assert.match(await ok('delete wd --all --timeout=10s'), /"b" deleted/)
    await ok('delete crd widgets.example.com --timeout=10s')
    assert.match((await k('get widgets')).err, NOT_SERVED)
  })

  it('works inside a realm as in a cluster of its own', async () => {
    const realm = server.realm('/workloads/default/demo')
    writeFileSync(join(folder, 'demo.kubeconfig'), realm.kubeconfig(), { mode: 0o600 })
    const inside = (args: string, input = '') =>
      run(kubectl, args.split(' '), { env: { ...env(), KUBECONFIG: join(folder, 'demo.kubeconfig') }, input })
    assert.equal((await inside('apply -f -', stringify(widgetCrd()))).code, 0)
    assert.match((await inside('apply -f -', stringify(widget('inner')))).out, /inner created/)
    assert.match((await inside('explain widget.spec')).out, /What the widget should be\./)
    assert.match((await inside('get wd')).out, /inner +1 /)
    assert.match((await k('get wd')).err, NOT_SERVED)
  })

  it('gets 401 for a wrong token', async () => {
    const file = join(folder, 'wrong.kubeconfig')
    writeFileSync(file, server.kubeconfig().replace(server.token, 'wrong'), { mode: 0o600 })
    const { code, err } = await run(kubectl, ['get', 'ns'], { env: { ...env(), KUBECONFIG: file } })
    assert.equal(code, 1)
    assert.match(err, /You must be logged in to the server|Unauthorized/)
  })
})
