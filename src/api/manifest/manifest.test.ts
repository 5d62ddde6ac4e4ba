import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkManifests, readManifests, toCaptError } from './manifest.ts'

const CLUSTER = `# the network
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: CAPTCluster
metadata:
  name: demo
  labels:
    team: blue
spec:
  region: eu-west-1
  vpcTemplateRef:
    name: vpc
`
const faultsIn = (text: string) => checkManifests(readManifests(text, 'cluster.yaml'))

describe('reading manifests', () => {
  it('gives the objects of every document with their place, and passes over empty ones', () => {
    const text = `${CLUSTER}---\n# nothing here\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n`
    const found = readManifests(text, 'all.yaml').map(({ object, document, line }) => [object.kind, document, line])
    assert.deepEqual(found, [
      ['CAPTCluster', 1, 3],
      ['Secret', 3, 16],
    ])
  })

  it('reads JSON, tabs and all, and unwraps lists', () => {
    const text =
      '{\n\t"apiVersion": "v1",\n\t"kind": "List",\n\t"items": [{"apiVersion": "v1", "kind": "Pod"},\n{"apiVersion": "v1", "kind": "Node"}]\n}'
    const found = readManifests(text, 'list.json').map(({ object, line }) => [object.kind, line])
    assert.deepEqual(found, [
      ['Pod', 4],
      ['Node', 5],
    ])
  })

  it('follows anchors and merge keys, but not a bomb of them', () => {
    const [manifest] = readManifests('base: &b {a: 1}\napiVersion: v1\nkind: X\nspec: {<<: *b, c: 2}\n', 'f')
    assert.deepEqual(manifest?.object['spec'], { a: 1, c: 2 })
    const bomb = `apiVersion: v1\nkind: X\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`
    assert.throws(() => readManifests(bomb, 'f'), { code: 'CAPT_MANIFEST_INVALID' })
  })

  for (const [what, text, message, line] of [
    ['a key that stands twice', 'apiVersion: v1\nkind: X\nkind: Y\n', /same key twice/, 3],
    ['a tab', 'apiVersion: v1\nmetadata:\n\tname: x\n', /indented with a tab/, 3],
    ['a list', '- a\n- b\n', /not a Kubernetes object/, 1],
    ['a plain text', 'hello\n', /not a Kubernetes object/, 1],
    ['a missing kind', 'a: 1\n---\napiVersion: v1\n', /has no apiVersion/, 1],
    ['broken YAML', 'apiVersion: v1\nkind: "X\n', /cannot be read/, 3],
  ] as const) {
    it(`refuses ${what} and says where it is`, () => {
      assert.throws(
        () => readManifests(text, 'bad.yaml'),
        (error: Error & { code?: string; at?: string }) => {
          assert.equal(error.code, 'CAPT_MANIFEST_INVALID')
          assert.match(error.message, message)
          assert.match(error.at ?? '', new RegExp(`^bad\\.yaml, document \\d+, line ${line}$`))
          return true
        },
      )
    })
  }
})

describe('checking manifests', () => {
  it('finds nothing wrong with a good one', () => assert.deepEqual(faultsIn(CLUSTER), []))

  for (const [what, from, to, fault] of [
    [
      'an unknown field',
      'region: eu',
      'regoin: eu',
      {
        path: 'spec.regoin',
        message: 'unknown field',
        hint: 'did you mean region?',
        at: 'cluster.yaml, document 1, line 10',
      },
    ],
    [
      'a missing field',
      '  region: eu-west-1\n',
      '',
      { path: 'spec.region', message: 'is required', at: 'cluster.yaml, document 1, line 9' },
    ],
    [
      'a wrong type',
      'name: vpc',
      'name: 5',
      {
        path: 'spec.vpcTemplateRef.name',
        message: 'must be of type string, not integer',
        hint: 'put the value in quotes',
        at: 'cluster.yaml, document 1, line 12',
      },
    ],
    [
      'a label that is no text',
      'team: blue',
      'team: true',
      {
        path: 'metadata.labels[team]',
        message: 'must be of type string, not boolean',
        at: 'cluster.yaml, document 1, line 8',
      },
    ],
    [
      'a contradiction',
      '  vpcTemplateRef:\n    name: vpc\n',
      '',
      {
        path: 'spec',
        message: 'exactly one of vpcTemplateRef and existingVpcId must be set (neither is)',
        at: 'cluster.yaml, document 1, line 9',
      },
    ],
    [
      'a version that is not served',
      '/v1beta1',
      '/v1alpha1',
      {
        path: 'apiVersion',
        message: 'infrastructure.cluster.x-k8s.io/v1alpha1 is not served',
        at: 'cluster.yaml, document 1, line 3',
      },
    ],
    [
      'a kind nobody has',
      'kind: CAPTCluster',
      'kind: CAPTClutser',
      { path: 'kind', hint: 'did you mean CAPTCluster?', at: 'cluster.yaml, document 1, line 4' },
    ],
    [
      'a kind of the other group',
      'infrastructure.',
      'controlplane.',
      { path: 'apiVersion', hint: 'write infrastructure.cluster.x-k8s.io/v1beta1' },
    ],
    [
      'a name that is none',
      'name: demo',
      'name: Demo_1',
      { path: 'metadata.name', message: '"Demo_1" is not a name', at: 'cluster.yaml, document 1, line 6' },
    ],
  ] as const) {
    it(`names ${what} with its path and line`, () => {
      const faults = faultsIn(CLUSTER.replace(from, to))
      const found = faults.find(({ path }) => path === fault.path)
      assert.partialDeepStrictEqual(found, fault)
    })
  }

  it('finds the line of a list item and of a key with dots', () => {
    const [manifest] = readManifests(
      'apiVersion: v1\nkind: X\nspec:\n  list:\n    - a: 1\n    - a: 2\n      b.c/d: 3\n',
      'f',
    )
    assert.equal(manifest?.lineOf('spec.list[1].a'), 6)
    assert.equal(manifest?.lineOf('spec.list[1].b.c/d'), 7)
    assert.equal(manifest?.lineOf('spec.list[1].missing'), 6)
    assert.equal(manifest?.lineOf('spec.list[9].a'), 4)
    assert.equal(manifest?.lineOf(''), 1)
  })

  it('leaves the kinds of other projects to the server', () => {
    assert.deepEqual(
      faultsIn('apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata: {name: a}\nx: 1\n'),
      [],
    )
  })

  it('reads the spelling of the older project, also in references, and says so', () => {
    const text = `apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: CaptControlPlaneTemplate
metadata: {name: a}
ref: {apiGroup: infrastructure.cluster.x-k8s.io, kind: CaptMachineTemplate, name: b}
other: {apiVersion: example.org/v1, kind: CaptainKind}
`
    const [manifest] = readManifests(text, 'old.yaml')
    assert.equal(manifest?.object.kind, 'CAPTControlPlaneTemplate')
    assert.partialDeepStrictEqual(manifest?.object, {
      ref: { kind: 'CAPTMachineTemplate' },
      other: { kind: 'CaptainKind' },
    })
    assert.deepEqual(manifest?.notes, [
      'CaptControlPlaneTemplate is spelt CAPTControlPlaneTemplate; it was read as that',
      'CaptMachineTemplate is spelt CAPTMachineTemplate; it was read as that',
    ])
  })

  it('becomes an error that names object, field, file, document and line', () => {
    const [fault] = faultsIn(CLUSTER.replace('region: eu', 'regoin: eu'))
    const error = toCaptError(fault!, 2)
    assert.deepEqual(
      [error.code, error.message, error.at, error.hint],
      [
        'CAPT_INVALID',
        'CAPTCluster/demo: spec.regoin: unknown field (and 2 more)',
        'cluster.yaml, document 1, line 10',
        'did you mean region?',
      ],
    )
  })
})
