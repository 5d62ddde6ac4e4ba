import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toCustomResourceDefinition } from './crd.ts'
import { defineKind } from './define-kind.ts'
import { ALL_KINDS } from './kinds/index.ts'
import { renderReferencePage, undescribedFields } from './reference-page.ts'
import * as s from './schema/build.ts'
import { schemaFaults } from './schema/compile.ts'

const Sample = defineKind({
  group: 'controlplane.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'Sample',
  shortNames: ['sp'],
  categories: ['cluster-api'],
  about: 'A sample.',
  spec: s.object(
    { mode: s.string({ enum: ['A', 'B'], default: 'A', about: 'Which | one of <two>.' }), bare: s.string() },
    { required: ['bare'] },
  ),
  status: s.object({ ready: s.boolean({ about: 'Ready.' }) }),
  columns: [{ name: 'Ready', path: '.status.ready', type: 'boolean' }],
})

describe('a CustomResourceDefinition', () => {
  it('carries names, contract labels, columns, the status subresource and the schema as written', () => {
    assert.deepEqual(toCustomResourceDefinition(Sample), {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: 'samples.controlplane.cluster.x-k8s.io',
        labels: {
          'cluster.x-k8s.io/provider': 'control-plane-capt',
          'cluster.x-k8s.io/v1beta1': 'v1beta1',
          'cluster.x-k8s.io/v1beta2': 'v1beta1',
          'clusterctl.cluster.x-k8s.io': '',
        },
      },
      spec: {
        group: 'controlplane.cluster.x-k8s.io',
        scope: 'Namespaced',
        names: {
          kind: 'Sample',
          listKind: 'SampleList',
          plural: 'samples',
          singular: 'sample',
          shortNames: ['sp'],
          categories: ['cluster-api'],
        },
        versions: [
          {
            name: 'v1beta1',
            served: true,
            storage: true,
            subresources: { status: {} },
            additionalPrinterColumns: [{ name: 'Ready', type: 'boolean', jsonPath: '.status.ready' }],
            schema: { openAPIV3Schema: Sample.schema },
          },
        ],
      },
    })
  })

  for (const kind of ALL_KINDS) {
    it(`of ${kind.kind} is structural, its rules compile and every field is described`, () => {
      assert.deepEqual(schemaFaults(kind.schema), [])
      assert.deepEqual(undescribedFields(kind), [])
    })

    it(`of ${kind.kind} has the name that Cluster API computes for it`, () => {
      const name = kind.kind.toLowerCase()
      const plural = name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`
      assert.equal(kind.plural, plural)
    })
  }

  it('is found wanting when a field has no description', () => {
    assert.deepEqual(undescribedFields(Sample), ['spec.bare'])
  })
})

describe('a reference page', () => {
  it('shows the example and every field with type, default, meaning and rules', () => {
    const page = renderReferencePage(Sample, 'kind: Sample\n')
    assert.match(page, /^# Sample\n\nA sample\.\n/)
    assert.match(page, /```yaml\nkind: Sample\n```/)
    assert.ok(page.includes('| `mode` | string | `"A"` | Which \\| one of &lt;two>. | one of `A`, `B` |'))
    assert.ok(page.includes('| `bare` | string | **required** |  |  |'))
    assert.ok(page.includes('| `ready` | boolean |  | Ready. |  |'))
    assert.ok(page.includes('| Ready | `.status.ready` |'))
  })

  it('marks what clusters only refer to, so that clusterctl move takes it along', () => {
    const moved = ALL_KINDS.filter((kind) => {
      const { labels } = toCustomResourceDefinition(kind)['metadata'] as { labels: Record<string, string> }
      return 'clusterctl.cluster.x-k8s.io/move' in labels
    })
    assert.deepEqual(moved.map(({ kind }) => kind).sort(), ['AddonPipeline', 'WorkspaceTemplate'])
  })
})
