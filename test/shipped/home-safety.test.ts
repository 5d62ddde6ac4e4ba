// The embedded home under odd and hostile input, with the shipped program and kubectl: inherited names, integers of 64
// bits, requests that ask too much, and the key of the data folder.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readKubeconfigText } from '#kube'
import { JSON_PATCH, type RawApi, rawApi } from '#testing'
import { kubectlPath, type Shipped, shippedProgram, type UpHome } from './support.ts'

const CANARY = 'canary-2f9d51c7'

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
    home = await shipped.up('home', ['--engine', 'simulated'])
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
    home = await shipped.up('home', ['--engine', 'simulated', '--data-key-command', 'cat key'])
    api.close()
    api = await connectTo(home)
    const { body } = await api.call('GET', '/api/v1/namespaces/default/secrets/s')
    assert.equal(body['data']?.['a'], Buffer.from(CANARY).toString('base64'))
    rmSync(`${key}.away`)
  })
})
