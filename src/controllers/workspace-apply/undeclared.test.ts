import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Condition } from '#api'
import type { RunRecord } from '#engine'
import { anApply, aTemplate } from '#testing'
import type { Observed } from './observe.ts'
import { undeclaredCondition } from './undeclared.ts'

const MODULE = 'variable "instance_type" {}\nvariable "tags" {}\n'
const JSON_MODULE = JSON.stringify({ variable: { instance_type: {}, tags: {} } })

function look(
  values: object | undefined,
  over: { template?: Observed['template']; metadata?: object; undeclared?: string[]; before?: Condition } = {},
) {
  const { template = aTemplate(MODULE), metadata = {}, undeclared, before } = over
  const apply = anApply({ ...(values ? { values: values as never } : {}) }, metadata)
  const record = undeclared && ({ run: { undeclared } } as unknown as RunRecord)
  return undeclaredCondition({
    apply: before ? { ...apply, status: { conditions: [before] } } : apply,
    template,
    view: { record, activity: 'idle', cancelling: false },
  } as unknown as Observed)
}
const sentence = (list: string) => `WorkspaceTemplate demo declares no variable for ${list}: no effect`
const remote = aTemplate('git::https://example.com/m.git', { source: 'Remote' })

describe('a key of spec.values', () => {
  it('that the template declares is not mentioned', () => {
    assert.deepEqual(look({ instance_type: 'm7g.large', tags: {} }), { isNew: false })
    assert.deepEqual(look(undefined), { isNew: false })
  })

  for (const [name, values, list] of [
    [
      'that is misspelt is named with what was meant',
      { instnace_type: 1 },
      'spec.values.instnace_type (did you mean instance_type?)',
    ],
    ['that resembles nothing is named alone', { colour: 'red' }, 'spec.values.colour'],
    [
      'among several is named in order',
      { tag: {}, colour: 1, tags: {} },
      'spec.values.colour, spec.values.tag (did you mean tags?)',
    ],
    ['that every object inherits is no declaration', { toString: 1 }, 'spec.values.toString'],
  ] as const)
    for (const template of [aTemplate(MODULE), aTemplate(JSON_MODULE, { inlineFormat: 'JSON' })])
      it(`${name} (${template.spec.template.spec.forProvider.inlineFormat})`, () => {
        const { draft, isNew } = look(values, { template })
        assert.deepEqual([draft?.status, draft?.message, isNew], ['True', sentence(list), true])
      })

  it('is reported once, and again when it changes', () => {
    const message = sentence('spec.values.colour')
    const before = { type: 'UndeclaredValues', status: 'True', reason: '', message, lastTransitionTime: '' } as const
    assert.equal(look({ colour: 1 }, { before }).isNew, false)
    assert.equal(look({ color: 1 }, { before }).isNew, true)
    assert.equal(look({}, { before }).draft?.status, 'False')
  })

  it('of a module from elsewhere is known by the warning of the run', () => {
    assert.deepEqual(look({ colour: 1, tags: {} }, { template: remote }), { isNew: false })
    const { draft } = look({ colour: 1, tags: {} }, { template: remote, undeclared: ['colour', 'other'] })
    assert.equal(draft?.message, sentence('spec.values.colour'))
  })

  it('that a control plane sets is named by its own field', () => {
    const metadata = { ownerReferences: [{ apiVersion: '', kind: 'CAPTControlPlane', name: 'shop', uid: 'u' }] }
    const message = (values: object) => look(values, { metadata }).draft?.message
    const of = 'of CAPTControlPlane shop'
    assert.equal(message({ colour: 1 }), sentence(`spec.controlPlaneConfig.values.colour ${of}`))
    assert.equal(message({ addons: 1 }), sentence(`spec.controlPlaneConfig.addons ${of}`))
    assert.equal(
      message({ identity: 1 }),
      sentence(`spec.controlPlaneConfig.karpenter.identity or spec.controlPlaneConfig.values.identity ${of}`),
    )
  })

  it('that no field of its owner sets is named as it is in the apply', () => {
    const metadata = { ownerReferences: [{ apiVersion: '', kind: 'CAPTCluster', name: 'shop', uid: 'u' }] }
    assert.equal(look({ colour: 1 }, { metadata }).draft?.message, sentence('spec.values.colour'))
  })

  it('that a cluster offers to every template may be left undeclared', () => {
    const metadata = { annotations: { 'capt.appthrust.com/wanted': 'hash' } }
    assert.deepEqual(look({ public_subnets: [] }, { metadata }), { isNew: false })
    assert.equal(look({ public_subnets: [] }).draft?.status, 'True')
  })
})
