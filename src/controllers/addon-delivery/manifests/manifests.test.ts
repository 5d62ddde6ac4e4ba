import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { formatManifests } from './manifests.ts'

describe('manifests as text', () => {
  it('stay text for a reader of YAML 1.1, such as the one in core Cluster API', () => {
    const labels = { yes: 'on', n: 'no', time: '1:30', octal: '0777', day: '2026-01-01' }
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels } }
    const text = formatManifests([manifest])
    assert.deepEqual(parse(text.replace('---\n', ''), { version: '1.1' }), manifest)
  })
})
