import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AddonStage, compileSchema, type JsonSchema, type Secret, SecretKind } from '#api'
import { fluxChart, fluxVersions, karpenterChart, loadFluxDefinitions } from '#catalog'
import { isCaptError, type Json } from '#lib'
import { memoryCluster } from '#testing'
import { accessFields, chartSourceOf, type RegistryAccess, readAccess, renderAccess } from './registry-access.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const login = { '.dockerconfigjson': base64('{"auths":{}}') }
const secret = (namespace: string, name: string, more: Partial<Secret>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
  ...more,
})
const LOGIN = { type: 'kubernetes.io/dockerconfigjson', data: { ...login, extra: base64('not for Flux') } }

async function read(secrets: readonly Secret[], refs: object, owner: 'pipeline' | 'delivery' = 'pipeline') {
  const { seed, others } = memoryCluster({})
  for (const one of secrets) seed(SecretKind, one)
  return await readAccess(
    { spec: { insecure: false, ...refs }, owner },
    { management: others, namespace: 'capt-system', clusterNamespace: 'team' },
  )
}

const consent = { 'capt.appthrust.com/allow-namespaces': 'team' }
const allowed = { metadata: { namespace: 'capt-system', name: 'login', annotations: consent } }

describe('the registry of a chart', () => {
  it('is reached with the fields of the Secret that Flux reads, and no others', async () => {
    const access = await read([secret('capt-system', 'login', { ...LOGIN, ...allowed })], {
      secretRef: { name: 'login' },
    })
    assert.deepEqual(access?.login, login)
  })

  it('takes the Secrets of an override from the namespace of the delivery', async () => {
    const access = await read([secret('team', 'login', LOGIN)], { secretRef: { name: 'login' } }, 'delivery')
    assert.deepEqual(access?.login, login)
  })

  it('names Secrets that do not exist', async () => {
    const refs = { secretRef: { name: 'login' }, certSecretRef: { name: 'ca' } }
    assert.deepEqual((await read([], refs))?.missing, ['Secret capt-system/login', 'Secret capt-system/ca'])
  })

  const cert = (data: Record<string, string>) =>
    [[secret('team', 'x', { data })], { certSecretRef: { name: 'x' } }, 'delivery'] as const
  for (const [what, [secrets, refs, owner], message] of [
    [
      'a Secret of another namespace without its consent',
      [[secret('capt-system', 'login', LOGIN)], { secretRef: { name: 'login' } }, 'pipeline'],
      /does not allow clusters of namespace team/,
    ],
    [
      'a login of another type',
      [[secret('team', 'x', { type: 'Opaque', data: login })], { secretRef: { name: 'x' } }, 'delivery'],
      /not of type kubernetes\.io\/dockerconfigjson/,
    ],
    ['certificates without any', cert({ other: 'eA==' }), /neither ca\.crt nor/],
    ['a certificate without its key', cert({ 'tls.crt': 'eA==' }), /neither ca\.crt nor/],
  ] as const)
    it(`refuses ${what}`, async () => {
      const error = await read(secrets, refs, owner).catch((caught: unknown) => caught)
      assert.ok(isCaptError(error), String(error))
      assert.equal(error.code, 'CAPT_REGISTRY_SECRET')
      assert.match(error.message, message)
    })
})

describe('an override of the chart', () => {
  const karpenter = { source: { secretRef: { name: 'shared' }, insecure: false } } as NonNullable<
    AddonStage['karpenter']
  >
  it('does not send the login of the pipeline to another registry', () => {
    assert.deepEqual(chartSourceOf(karpenter, undefined), { spec: karpenter.source, owner: 'pipeline' })
    assert.deepEqual(chartSourceOf(karpenter, { stage: 'k', version: '1.13.0' }).owner, 'pipeline')
    assert.deepEqual(chartSourceOf(karpenter, { stage: 'k', chart: 'oci://elsewhere/karpenter' }), {
      spec: undefined,
      owner: 'delivery',
    })
  })
})

describe('what is delivered for a registry', () => {
  const access: RegistryAccess = { insecure: true, login, certificates: { 'ca.crt': 'eA==' }, missing: [] }
  const input = { stage: { name: 'karpenter' }, cluster: 'demo' }

  it('is a part of its own in a Secret, absent when nothing is named', () => {
    const [part] = renderAccess(input, access, { namespace: 'karpenter', name: 'karpenter' })
    assert.equal(part?.set, 'karpenter-registry-demo')
    assert.deepEqual(
      part.manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      ['Namespace karpenter', 'Secret karpenter-registry', 'Secret karpenter-registry-certificates'],
    )
    assert.ok(part.payloads.every(({ kind }) => kind === 'Secret'))
    assert.deepEqual(renderAccess(input, { ...access, login: undefined, certificates: undefined }, { name: 'x' }), [])
  })

  for (const flux of fluxVersions)
    it(`is what the source of Flux ${flux} accepts`, async () => {
      const [source] = fluxChart({
        ...karpenterChart('1.14.1'),
        fluxVersion: flux,
        namespace: 'kube-system',
        access: accessFields(access, 'karpenter'),
        values: {},
        labels: {},
      })
      const definitions = (await loadFluxDefinitions(flux)) as unknown as readonly {
        spec: {
          names: { kind: string }
          versions: { name: string; schema: { openAPIV3Schema: JsonSchema } }[]
        }
      }[]
      const { versions } = definitions.find(({ spec }) => spec.names.kind === source.kind)!.spec
      const schema = compileSchema(versions.find(({ name }) => name === 'v1')!.schema.openAPIV3Schema)
      const value = JSON.parse(JSON.stringify(source)) as Json
      assert.deepEqual(schema.prune(value).unknown, [])
      assert.deepEqual(schema.validate(schema.applyDefaults(value)), [])
    })
})
