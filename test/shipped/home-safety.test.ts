// The embedded home under odd and hostile input, with the shipped program and kubectl: inherited names, integers of 64
// bits, requests that ask too much, and the key of the data folder.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readKubeconfigText } from '#kube'
import { JSON_PATCH, type RawApi, rawApi } from '#testing'
import { planted } from '../support/secrets/planted.ts'
import { findTool } from '../support/tools.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from './support.ts'

const CANARY = planted('home-2f9d51c7')

/** Names that every object inherits, and numbers that only 64 bits hold, at every place where a user may write them. */
const VALUES = '{"__proto__":{"a":1},"big":9223372036854775807,"constructor":9007199254740993,"toString":"s"}'
const ODD_APPLY = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: odd}
spec:
  template:
    spec:
      forProvider:
        source: Inline
        inlineFormat: HCL
        module: |
          variable "__proto__" { type = any }
          variable "big" { type = number }
          variable "constructor" { type = number }
          variable "toString" { type = string }
          resource "terraform_data" "odd" { input = var.toString }
          output "__proto__" { value = var.__proto__ }
          output "big" { value = var.big }
          output "constructor" { value = var.constructor }
          output "toString" { value = terraform_data.odd.output }
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplateApply
metadata: {name: odd, labels: {constructor: x}, annotations: {toString: y}}
spec: {templateRef: {name: odd}, values: ${VALUES}, writeConnectionSecretToRef: {name: odd-outputs, namespace: default}}
`
const ODD_CONFIG = `
apiVersion: v1
kind: ConfigMap
metadata: {name: odd, labels: {toString: a, constructor: b}, annotations: {toString: a, valueOf: b}}
data: {__proto__: p, constructor: c, toString: t}
`
/** Two versions with a field of their own each, which only a conversion webhook could convert. */
const GEAR_KIND = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gears, singular: gear, kind: Gear}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://localhost:1"}}}
  versions:
  - &v1
    name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {old: {type: string}}}}}}
  - <<: *v1
    name: v2
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {new: {type: string}}}}}}
`
const WITHOUT_EFFECT = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: m}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: v}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {configmaps: "0"}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec: {group: metrics.example.com, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: s, namespace: default}}
`

describe('the shipped home', () => {
  let shipped: Shipped
  let home: UpHome
  let api: RawApi
  const connectTo = async (running: UpHome) => {
    const text = readFileSync(running.kubeconfig, 'utf8')
    const token = /token: (\S+)/.exec(text)![1]!
    const access = await readKubeconfigText(text, { origin: 'test' })
    const ca = /certificate-authority-data: (\S+)/.exec(text)![1]!
    return rawApi({ url: access.server, token, caPem: Buffer.from(ca, 'base64').toString('utf8') })
  }
  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up()
    api = await connectTo(home)
  })
  after(async () => {
    api.close()
    await shipped.end()
  })
  const kubectl = async (args: string[], input?: string) => {
    const { code, out, err } = await shipped.kubectl(home.kubeconfig, args, input === undefined ? {} : { input })
    assert.equal(code, 0, err)
    return out
  }

  it('deletes nothing for kubectl delete cm -l toString', { skip: !kubectlPath && 'kubectl' }, async () => {
    await kubectl(['create', 'configmap', 'one', '--from-literal=a=b'])
    for (const key of ['toString', 'constructor']) await kubectl(['delete', 'cm', '-l', key])
    assert.match(await kubectl(['get', 'cm', 'one', '-o', 'name']), /configmap\/one/)
  })

  it('keeps labels, annotations and keys that objects inherit', { skip: !kubectlPath && 'kubectl' }, async () => {
    await kubectl(['apply', '-f', '-'], ODD_CONFIG)
    const read = async (path: string) => await kubectl(['get', 'cm', 'odd', '-o', `jsonpath={${path}}`])
    assert.equal(await read('.data'), '{"__proto__":"p","constructor":"c","toString":"t"}')
    assert.equal(await read('.metadata.labels'), '{"constructor":"b","toString":"a"}')
    assert.equal(await read('.metadata.annotations.valueOf'), 'b')
    for (const selector of ['toString=a', 'constructor', '!valueOf,toString'])
      assert.equal(await kubectl(['get', 'cm', '-l', selector, '-o', 'name']), 'configmap/odd\n')
    await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], ODD_CONFIG)
    await kubectl(['patch', 'cm', 'odd', '--type', 'merge', '-p', '{"data":{"__proto__":null,"toString":"u"}}'])
    await kubectl(['label', 'cm', 'odd', 'toString-', 'constructor=d', '--overwrite'])
    assert.equal(await read('.data'), '{"constructor":"c","toString":"u"}')
    assert.equal(await read('.metadata.labels'), '{"constructor":"d"}')
    const refused = ODD_APPLY.replace('spec: {templateRef', 'spec: {__proto__: 1, constructor: 2, templateRef')
    const { code, err } = await shipped.capt(['apply', '-f', '-', '--kubeconfig', home.kubeconfig], { input: refused })
    assert.equal(code, 1)
    for (const key of ['__proto__', 'constructor']) assert.ok(err.includes(`spec.${key}: unknown field`), err)
  })

  const tools = [findTool('terraform') ? [] : ['terraform'], kubectlPath ? [] : ['kubectl']].flat()
  const needs = { skip: tools.length > 0 && `not installed: ${tools.join(', ')}` }
  it('brings such names and integers of 64 bits to Terraform and back', needs, async () => {
    await shipped.captOk(['apply', '-f', '-', '--kubeconfig', home.kubeconfig], { input: ODD_APPLY })
    const read = async (path: string) => await kubectl(['get', 'wtapply', 'odd', '-o', `jsonpath={${path}}`])
    await waitUntil('the run', async () => (await read('.status.phase')) === 'Applied')
    for (const path of ['.spec.values', '.status.outputs']) assert.equal(await read(path), VALUES, path)
    const data = await kubectl(['get', 'secret', 'odd-outputs', '-o', 'jsonpath={.data}'])
    const texts = Object.entries(JSON.parse(data) as Record<string, string>).map(
      ([name, text]) => [name, Buffer.from(text, 'base64').toString()] as const,
    )
    assert.deepEqual(
      new Map(texts),
      new Map([
        ['__proto__', '{"a":1}'],
        ['big', '9223372036854775807'],
        ['constructor', '9007199254740993'],
        ['toString', 's'],
      ]),
    )
    const get = async (...args: string[]) =>
      await shipped.captOk(['get', 'wtapply', ...args, '--kubeconfig', home.kubeconfig])
    assert.match(await get('odd', '-o', 'yaml'), /big: 9223372036854775807/)
    assert.match(await get('odd', '-o', 'json'), /"constructor": 9007199254740993/)
    assert.match(await get('-l', 'constructor=x', '-o', 'name'), /\/odd\n$/)
    assert.equal(await get('-l', 'toString', '-o', 'name'), '')
  })

  it('keeps 9223372036854775807 through kubectl apply and get', { skip: !kubectlPath && 'kubectl' }, async () => {
    const pod = (grace: string) =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: big, namespace: default}\nspec:\n  terminationGracePeriodSeconds: ${grace}\n  containers: [{name: c, image: i}]\n`
    await kubectl(['apply', '--server-side', '-f', '-'], pod('9223372036854775807'))
    assert.match(
      await kubectl(['get', 'pod', 'big', '-o', 'json']),
      /"terminationGracePeriodSeconds": 9223372036854775807/,
    )
    await kubectl(['delete', 'pod', 'big', '--wait=false'])
  })

  it('loses no field of a kind whose conversion webhook it does not call', {
    skip: !kubectlPath && 'kubectl',
  }, async () => {
    await kubectl(['apply', '-f', '-'], GEAR_KIND)
    await kubectl(['wait', 'crd', 'gears.example.com', '--for=condition=Established'])
    await kubectl(
      ['apply', '-f', '-'],
      'apiVersion: example.com/v1\nkind: Gear\nmetadata: {name: one}\nspec: {old: kept}\n',
    )
    const patch = ['patch', 'gears.v2.example.com', 'one', '--type', 'merge', '-p', '{"spec":{"new":"x"}}']
    const { code } = await shipped.kubectl(home.kubeconfig, patch)
    assert.equal(await kubectl(['get', 'gears.v1.example.com', 'one', '-o', 'jsonpath={.spec}']), '{"old":"kept"}')
    assert.equal(code, 1, 'a request in the other version is refused')
  })

  it('warns of what it stores without effect, and acts for nobody else', {
    skip: !kubectlPath && 'kubectl',
  }, async () => {
    const { code, err } = await shipped.kubectl(home.kubeconfig, ['apply', '-f', '-'], { input: WITHOUT_EFFECT })
    assert.equal(code, 0, err)
    assert.deepEqual(
      [...err.matchAll(/^Warning: (\w+) \S+ is stored without effect: the embedded API /gm)].map(([, kind]) => kind),
      ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration', 'ResourceQuota', 'APIService'],
    )
    const asOther = await shipped.kubectl(home.kubeconfig, ['get', 'namespaces', '--as', 'jane'])
    assert.deepEqual([asOther.code, asOther.out], [1, ''])
    assert.match(asOther.err, /has one identity and cannot act as another/)
  })

  it('lists events by their last time', { skip: !kubectlPath && 'kubectl' }, async () => {
    const list = async (...args: string[]) =>
      (await kubectl(['get', 'events', '-o', 'name', ...args])).split('\n').filter(Boolean).sort()
    await waitUntil('an event', async () => (await list()).length > 0)
    assert.deepEqual(await list('--sort-by=.lastTimestamp'), await list())
  })

  it('answers an unserved group with a Status, which every client can read', async () => {
    const { code, body } = await api.call('GET', '/apis/nothing.example.com/v1/things')
    assert.deepEqual([code, body['kind'], body['reason']], [404, 'Status', 'NotFound'], JSON.stringify(body))
  })

  it('goes on after a patch that copies itself and a body of 60 MiB', async () => {
    const configs = '/api/v1/namespaces/default/configmaps'
    await api.call('POST', configs, { metadata: { name: 'two' }, data: { a: 'b' } })
    const copies = Array.from({ length: 20 }, (_, i) => ({ op: 'copy', from: '', path: `/data/k${i}` }))
    assert.equal((await api.call('PATCH', `${configs}/two`, copies, { type: JSON_PATCH })).code, 422)
    assert.equal((await api.call('POST', configs, `{"a":"${'x'.repeat(60 * 1024 * 1024)}"}`)).code, 413)
    assert.equal((await api.call('GET', `${configs}/two`)).code, 200)
  })

  it('holds no readable Secret, and does not start without its key', async () => {
    const secret = { metadata: { name: 's' }, stringData: { a: CANARY } }
    assert.equal((await api.call('POST', '/api/v1/namespaces/default/secrets', secret)).code, 201)
    await home.stop()
    const forms = [CANARY, Buffer.from(CANARY).toString('base64').slice(0, -4)]
    for (const file of readdirSync(home.dataDir).filter((name) => name.startsWith('objects.db')))
      for (const form of forms) assert.ok(!readFileSync(join(home.dataDir, file)).includes(form), `${form} in ${file}`)
    const key = join(home.dataDir, 'encryption.key')
    renameSync(key, `${key}.away`)
    const closed = await shipped.capt(['up', '--data', 'home'])
    assert.equal(closed.code, 1)
    assert.match(closed.err, /CAPT_DATA_KEY_MISSING/)
    writeFileSync(join(shipped.folder, 'key'), readFileSync(`${key}.away`))
    home = await shipped.up('home', ['--data-key-command', 'cat key'])
    api.close()
    api = await connectTo(home)
    const { body } = await api.call('GET', '/api/v1/namespaces/default/secrets/s')
    assert.equal(body['data']?.['a'], Buffer.from(CANARY).toString('base64'))
    if (tools.length === 0) {
      const path = 'jsonpath={.spec.values}{.status.outputs}'
      assert.equal(await kubectl(['get', 'wtapply', 'odd', '-o', path]), VALUES + VALUES, 'after the restart')
    }
    rmSync(`${key}.away`)
  })
})
