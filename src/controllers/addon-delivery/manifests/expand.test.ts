import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { expand } from './expand.ts'
import { formatManifests, type Manifest, parseManifests, splitManifests } from './manifests.ts'
import { collectVariables, flattenOutputs } from './variables.ts'

describe('variables in manifests', () => {
  it('are filled in wherever a value stands, several to one text', () => {
    const { value, missing } = expand({ a: ['x-${A}-${B}'], '${A}': 1 }, { A: 'one', B: 2 })
    assert.deepEqual([value, missing], [{ a: ['x-one-2'], one: 1 }, []])
  })

  it('keep their type when they stand alone', () => {
    assert.deepEqual(expand({ zones: '${ZONES}', size: '${SIZE}' }, { ZONES: ['a', 'b'], SIZE: 3 }).value, {
      zones: ['a', 'b'],
      size: 3,
    })
  })

  it('are reported by name when nobody gives them, and never become empty', () => {
    const { value, missing } = expand({ a: '${B} ${A} ${B}' }, {})
    assert.deepEqual([value, missing], [{ a: '${B} ${A} ${B}' }, ['A', 'B']])
  })

  it('do not resolve to names of the language: constructor and the like are missing too', () => {
    assert.deepEqual(expand('${constructor}', {}).missing, ['constructor'])
  })

  it('leave what is written with two dollars as a literal', () => {
    assert.equal(expand('$${A} and $A and ${A}', { A: 'x' }).value, '${A} and $A and x')
  })

  it('stay data: whatever a value holds, the document around it keeps its shape', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const manifest: Manifest = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'a' },
          data: { text: 'x${V}y' },
        }
        const { value } = expand([manifest] as never, { V: text })
        const back = parseManifests(formatManifests(value as unknown as readonly Manifest[]), 'test')
        assert.deepEqual(back, [{ ...manifest, data: { text: `x${text}y` } }])
      }),
      { numRuns: 200 },
    )
  })
})

describe('outputs of Terraform', () => {
  it('are offered under their own names and flattened in capitals', () => {
    const flat = flattenOutputs({
      karpenter: { queue_name: 'q', service_account: { annotations: { 'eks.amazonaws.com/role-arn': 'arn' } } },
      nothing: null,
    })
    assert.equal(flat['KARPENTER_QUEUE_NAME'], 'q')
    assert.equal(flat['KARPENTER_SERVICE_ACCOUNT_ANNOTATIONS_EKS_AMAZONAWS_COM_ROLE_ARN'], 'arn')
    assert.deepEqual(flat['karpenter'], {
      queue_name: 'q',
      service_account: { annotations: { 'eks.amazonaws.com/role-arn': 'arn' } },
    })
    assert.ok(!('NOTHING' in flat))
  })

  it('answer to the names that older manifests ask for, and a Cluster’s own value wins over all', () => {
    const base = {
      cluster: { name: 'demo', namespace: 'default', endpoint: { host: 'api.example', port: 443 } },
      kubernetes: 'v1.35.0',
      sources: [{ TEAM: 'from-map' }],
      pipeline: { TEAM: 'from-pipeline' },
    }
    const variables = collectVariables({
      ...base,
      outputs: { karpenter: { controller_role_arn: 'arn', node_role_name: 'node', queue_name: 'q' } },
      delivery: { NODE_ROLE_NAME: 'mine' },
    })
    assert.partialDeepStrictEqual(variables, {
      CLUSTER_NAME: 'demo',
      CLUSTER_ENDPOINT: 'https://api.example:443',
      KARPENTER_IAM_ROLE_ARN: 'arn',
      INTERRUPTION_QUEUE_NAME: 'q',
      NODE_ROLE_NAME: 'mine',
      TEAM: 'from-pipeline',
    })
  })
})

describe('splitting manifests', () => {
  it('keeps documents whole and in order, under the limit', () => {
    const docs = fc.array(
      fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), size: fc.integer({ min: 0, max: 400 }) }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(docs, (items) => {
        const manifests = items.map(
          ({ name, size }): Manifest => ({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name },
            data: { a: 'x'.repeat(size) },
          }),
        )
        const texts = splitManifests(manifests, 700)
        assert.ok(texts.every((text) => Buffer.byteLength(text) <= 700 && text.length >= 32))
        assert.deepEqual(
          texts.flatMap((text) => parseManifests(text, 'test')),
          manifests,
        )
      }),
      { numRuns: 60 },
    )
  })
})
