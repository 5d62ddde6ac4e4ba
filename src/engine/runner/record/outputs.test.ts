// A connection Secret is made by a run, or carries its label; everything else is left as it is.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ALLOW_NAMESPACES_ANNOTATION, type Secret, SecretKind } from '#api'
import { memoryCluster } from '#testing'
import { suffixOf, WORKSPACE_LABEL } from '../../names.ts'
import type { Owner } from '../../owner.ts'
import { writeConnectionSecret } from './outputs.ts'

const owner: Owner = { namespace: 'a', name: 'vpc', uid: 'u', apiVersion: 'x/v1', kind: 'WorkspaceTemplateApply' }
const near = { namespace: 'a', name: 'out' }
const far = { namespace: 'b', name: 'out' }
const encode = (text: string) => Buffer.from(text).toString('base64')
const output = (value: string) => ({ id: { value, sensitive: false } })
const ours = { labels: { [WORKSPACE_LABEL]: suffixOf(owner) } }
const consent = { annotations: { [ALLOW_NAMESPACES_ANNOTATION]: 'a' } }

function open(key: { readonly namespace: string; readonly name: string }, metadata?: object, data?: Secret['data']) {
  const cluster = memoryCluster()
  if (metadata)
    cluster.seed(SecretKind, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...key, ...metadata },
      ...(data ? { data } : {}),
    } as Secret)
  return {
    write: (value = 'one') => writeConnectionSecret(cluster.objects, owner, key, output(value)),
    found: () => cluster.peek<Secret>(SecretKind, key),
  }
}

describe('A connection Secret', () => {
  it('is made with the label and the owner, and follows the outputs', async () => {
    const { write, found } = open(near)
    await write()
    assert.deepEqual(found()?.data, { id: encode('one') })
    assert.equal(found()?.metadata.labels?.[WORKSPACE_LABEL], suffixOf(owner))
    assert.equal(found()?.metadata.ownerReferences?.[0]?.uid, 'u')
    const version = found()?.metadata.resourceVersion
    await write()
    assert.equal(found()?.metadata.resourceVersion, version, 'the same outputs are not written again')
    await write('two')
    assert.deepEqual(found()?.data, { id: encode('two') })
  })

  it('of the user is refused and stays as it is: contents, labels and owner', async () => {
    const { write, found } = open(near, {}, { password: encode('mine') })
    const before = found()
    await assert.rejects(write(), { code: 'CAPT_CONNECTION_SECRET_TAKEN' })
    assert.deepEqual(found(), before)
  })

  it('of another workspace is refused', async () => {
    const { write } = open(near, { labels: { [WORKSPACE_LABEL]: 'other' } })
    await assert.rejects(write(), { code: 'CAPT_CONNECTION_SECRET_TAKEN' })
  })

  it('that was handed over by its label is taken', async () => {
    const { write, found } = open(near, ours, { old: encode('x') })
    await write()
    assert.deepEqual(found()?.data, { id: encode('one') })
    assert.equal(found()?.metadata.ownerReferences?.[0]?.uid, 'u')
  })

  it('in another namespace needs consent, and is never owned', async () => {
    await assert.rejects(open(far).write(), { code: 'CAPT_REFERENCE_FORBIDDEN' })
    await assert.rejects(open(far, {}).write(), { code: 'CAPT_REFERENCE_FORBIDDEN' })
    const { write, found } = open(far, consent)
    await write()
    assert.deepEqual(found()?.data, { id: encode('one') })
    assert.equal(found()?.metadata.ownerReferences, undefined)
    await write('two')
    assert.deepEqual(found()?.data, { id: encode('two') })
  })

  it('in another namespace that only consents to be read is not overwritten', async () => {
    const { write, found } = open(far, consent, { AWS_ACCESS_KEY_ID: encode('AK') })
    await assert.rejects(write(), { code: 'CAPT_CONNECTION_SECRET_TAKEN' })
    assert.deepEqual(found()?.data, { AWS_ACCESS_KEY_ID: encode('AK') })
  })
})
