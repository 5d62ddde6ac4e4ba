import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyObject, PROPOSED_FOR_ANNOTATION, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import type { Cache } from '#kube'
import { observeSpeculation } from './speculation.ts'

function refusalOf(target: object, own: object, templates: readonly AnyObject[] = []): string | undefined {
  const apply = (name: string, spec: object) =>
    ({
      metadata: { name, namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec,
    }) as unknown as WorkspaceTemplateApply
  const cache = {
    get: (kind: { kind: string }, key: { namespace: string; name: string }) =>
      kind.kind === WorkspaceTemplateApply.kind
        ? key.name === 'demo'
          ? apply('demo', { templateRef: target })
          : undefined
        : templates.find(({ metadata }) => metadata.name === key.name && metadata.namespace === key.namespace),
  } as unknown as Cache
  const speculative = apply('try', { speculativeFor: 'demo', templateRef: own })
  return observeSpeculation(cache, speculative, Date.parse('2026-01-01T00:00:00Z'))?.refusal
}

const template = (namespace: string, proposedFor?: string): AnyObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: WorkspaceTemplate.kind,
  metadata: {
    name: 'next',
    namespace,
    ...(proposedFor === undefined ? {} : { annotations: { [PROPOSED_FOR_ANNOTATION]: proposedFor } }),
  },
})

describe('a speculative apply', () => {
  it('plans the template of its target', () => assert.equal(refusalOf({ name: 'eks' }, { name: 'eks' }), undefined))

  it('plans a template that is proposed for that of its target', () =>
    assert.equal(refusalOf({ name: 'eks' }, { name: 'next' }, [template('default', 'eks')]), undefined))

  const other = { name: 'next', namespace: 'other' }
  const refused: readonly (readonly [string, object, object, readonly AnyObject[]])[] = [
    ['another template', { name: 'eks' }, { name: 'next' }, [template('default')]],
    ['one that is proposed for another template', { name: 'eks' }, { name: 'next' }, [template('default', 'vpc')]],
    ['a proposal that does not exist', { name: 'eks' }, { name: 'next' }, []],
    ['a proposal of another namespace', { name: 'eks' }, other, [template('other', 'eks')]],
  ]
  for (const [what, target, own, templates] of refused)
    it(`refuses ${what}`, () => assert.match(refusalOf(target, own, templates) ?? '', /has another template/))
})
