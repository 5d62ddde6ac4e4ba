import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse, stringify } from 'yaml'
import { type ConvertOptions, convert } from './convert.ts'
import { readManifests } from './manifests.ts'

const file = (name: string) => readFileSync(join(import.meta.dirname, 'testdata', name), 'utf8')
const run = (text: string, options: ConvertOptions = {}) =>
  convert(readManifests({ name: 'input.yaml', text }), options)
const toYaml = (objects: readonly unknown[]) =>
  objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')

const PIN = 'al2023@v20261102'
type Map = Record<string, unknown>
const provisioner = (spec: Map, name = 'default') =>
  stringify({ apiVersion: 'karpenter.sh/v1alpha5', kind: 'Provisioner', metadata: { name }, spec })
const template = (spec: Map = {}, name = 'default') =>
  stringify({
    apiVersion: 'karpenter.k8s.aws/v1alpha1',
    kind: 'AWSNodeTemplate',
    metadata: { name },
    spec: { subnetSelector: { d: 'c' }, securityGroupSelector: { d: 'c' }, ...spec },
  })
const ref = { providerRef: { name: 'default' } }
const pair = (spec: Map = {}, classSpec: Map = {}, options: ConvertOptions = { role: 'r', amiAlias: PIN }) =>
  run(`${provisioner({ ...ref, ...spec })}---\n${template(classSpec)}`, options)
const poolOf = (result: ReturnType<typeof run>) => result.objects.find(({ kind }) => kind === 'NodePool')?.spec as Map
const classOf = (result: ReturnType<typeof run>) =>
  result.objects.find(({ kind }) => kind === 'EC2NodeClass')?.spec as Map
const codes = (result: ReturnType<typeof run>, level: string) =>
  result.findings.filter((finding) => finding.level === level).map(({ code }) => code)
const said = (result: ReturnType<typeof run>) =>
  result.findings.map(({ path, message }) => `${path}: ${message}`).join('\n')

describe('converting the Provisioner of the module guide', () => {
  const result = run(file('ops-provisioner.yaml'), { role: 'KarpenterNodeRole-demo', amiAlias: PIN })

  it('gives the expected objects', () => assert.equal(toYaml(result.objects), file('ops-provisioner.golden.yaml')))

  it('keeps every promise of the old manifest', () => {
    const pool = poolOf(result) as {
      disruption: Map
      limits: Map
      template: {
        metadata: { labels: Map }
        spec: { taints: unknown[]; requirements: { key: string; values: string[] }[]; expireAfter: string }
      }
    }
    const nodeClass = classOf(result)
    assert.deepEqual(pool.disruption, { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' })
    assert.equal(pool.template.spec.expireAfter, '720h')
    assert.deepEqual(pool.limits, { cpu: '100' })
    assert.deepEqual(pool.template.metadata.labels, { role: 'ops', provision: 'karpenter', overprovisioning: 'ops' })
    assert.deepEqual(pool.template.spec.taints, [{ key: 'role', value: 'ops', effect: 'NoSchedule' }])
    assert.deepEqual(pool.template.spec.requirements.find(({ key }) => key === 'topology.kubernetes.io/zone')?.values, [
      'ap-northeast-2a',
      'ap-northeast-2c',
    ])
    assert.deepEqual(nodeClass['subnetSelectorTerms'], [
      { id: 'subnet-0c6405113c8c6c9ff' },
      { id: 'subnet-0272f0cc333aceec8' },
    ])
    assert.deepEqual(nodeClass['securityGroupSelectorTerms'], [
      { id: 'sg-0f20ce994969820df' },
      { id: 'sg-0d776a7a2005d054a' },
    ])
    assert.deepEqual(nodeClass['tags'], { Name: 'ops-karpenter-provision' })
    assert.deepEqual(nodeClass['blockDeviceMappings'], [
      { deviceName: '/dev/xvda', ebs: { volumeSize: '100Gi', volumeType: 'gp3', deleteOnTermination: true } },
    ])
  })

  it('warns where the meaning changes and needs nobody when the role is given', () => {
    assert.deepEqual(codes(result, 'person'), [])
    assert.deepEqual(
      new Set(codes(result, 'changed')),
      new Set(['CAPT_CONVERT_AMI', 'CAPT_CONVERT_METADATA', 'CAPT_CONVERT_DEFAULTS', 'CAPT_CONVERT_EXPIRY']),
    )
  })
})

describe('converting the Provisioner of the installation guide', () => {
  it('gives the expected objects', () => {
    const result = run(file('default-provisioner.yaml'), {
      role: 'arn:aws:iam::1:role/KarpenterNodeRole-demo',
      amiAlias: PIN,
      variables: { CLUSTER_NAME: 'demo' },
    })
    assert.equal(toYaml(result.objects), file('default-provisioner.golden.yaml'))
    assert.match(
      said(result),
      /c, t, m are categories, not instance types: written as karpenter.k8s.aws\/instance-category/,
    )
    assert.match(said(result), /Never was written out/)
    assert.deepEqual(codes(result, 'person'), [])
  })

  it('leaves marked placeholders for what nobody gave', () => {
    const result = run(file('default-provisioner.yaml'))
    assert.deepEqual(codes(result, 'person'), [
      'CAPT_CONVERT_PLACEHOLDER',
      'CAPT_CONVERT_PLACEHOLDER',
      'CAPT_CONVERT_AMI',
      'CAPT_CONVERT_PLACEHOLDER',
    ])
    assert.partialDeepStrictEqual(classOf(result), {
      amiSelectorTerms: [{ alias: 'al2023@CHANGE-ME-version' }],
      role: 'CHANGE-ME-node-role',
      subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'CHANGE-ME-CLUSTER_NAME' } }],
    })
  })
})

describe('a converted pool', () => {
  for (const [what, spec, expected] of [
    [
      'never scales down when neither setting was there',
      {},
      { disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' } },
    ],
    [
      'consolidates at once when consolidation was on',
      { consolidation: { enabled: true } },
      { disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' } },
    ],
    ['expires in the same time', { ttlSecondsUntilExpired: 90 }, { template: { spec: { expireAfter: '90s' } } }],
    [
      'expires in minutes when they fit',
      { ttlSecondsUntilExpired: 600 },
      { template: { spec: { expireAfter: '10m' } } },
    ],
    ['keeps its weight', { weight: 10 }, { weight: 10 }],
    [
      'keeps annotations and startup taints',
      { annotations: { a: 'b' }, startupTaints: [{ key: 's', effect: 'NoExecute' }] },
      {
        template: {
          metadata: { annotations: { a: 'b' } },
          spec: { startupTaints: [{ key: 's', effect: 'NoExecute' }] },
        },
      },
    ],
    [
      'renames keys of earlier eras',
      { requirements: [{ key: 'beta.kubernetes.io/arch', operator: 'In', values: ['arm64'] }] },
      { template: { spec: { requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] }] } } },
    ],
  ] as const) {
    it(what, () => assert.partialDeepStrictEqual(poolOf(pair(spec)), expected))
  }

  it('gets c, m, r from the third generation when nothing chose instances', () => {
    const { requirements } = (poolOf(pair()) as { template: { spec: { requirements: Map[] } } }).template.spec
    assert.deepEqual(requirements.slice(-2), [
      { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
      { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['2'] },
    ])
    const chosen = pair({
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large'] }],
    })
    assert.doesNotMatch(JSON.stringify(poolOf(chosen)), /instance-category/)
  })

  it('drops weight 0, requirements and labels that v1 refuses', () => {
    const result = pair({
      weight: 0,
      labels: { 'karpenter.sh/provisioner-name': 'x' },
      requirements: [{ key: 'karpenter.k8s.aws/instance-pods', operator: 'Gt', values: ['10'] }],
    })
    assert.deepEqual(
      [
        poolOf(result)['weight'],
        JSON.stringify(poolOf(result)).includes('instance-pods'),
        JSON.stringify(poolOf(result)).includes('provisioner-name'),
      ],
      [undefined, false, false],
    )
  })

  it('writes families as families', () => {
    assert.match(
      JSON.stringify(
        poolOf(
          pair({ requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['c5', 'm6g'] }] }),
        ),
      ),
      /instance-family/,
    )
  })

  it('keeps labels and annotations people wrote and leaves what controllers wrote', () => {
    const text = stringify({
      apiVersion: 'karpenter.sh/v1alpha5',
      kind: 'Provisioner',
      metadata: {
        name: 'p',
        uid: 'x',
        resourceVersion: '1',
        finalizers: ['f'],
        labels: { team: 'a' },
        annotations: { 'karpenter.sh/provisioner-hash': '1', note: 'kept' },
      },
      spec: ref,
      status: { resources: {} },
    })
    assert.deepEqual(run(`${text}---\n${template()}`, { role: 'r' }).objects[1]?.metadata, {
      name: 'p',
      labels: { team: 'a' },
      annotations: { note: 'kept' },
    })
  })
})

describe('a converted class', () => {
  const kubeletA = { maxPods: 20 }
  it('exists once per distinct kubelet configuration', () => {
    const text = [
      provisioner({ ...ref, kubeletConfiguration: kubeletA }, 'a'),
      provisioner({ ...ref, kubeletConfiguration: { maxPods: 30, containerRuntime: 'containerd' } }, 'b'),
      provisioner({ ...ref, kubeletConfiguration: kubeletA }, 'c'),
      template(),
    ].join('---\n')
    const { objects } = run(text, { role: 'r' })
    const classes = objects.filter(({ kind }) => kind === 'EC2NodeClass')
    assert.deepEqual(
      classes.map(({ metadata, spec }) => [metadata.name, spec['kubelet']]),
      [
        ['default', kubeletA],
        ['default-b', { maxPods: 30 }],
      ],
    )
    const used = objects
      .filter(({ kind }) => kind === 'NodePool')
      .map(
        ({ spec }) =>
          (spec as { template: { spec: { nodeClassRef: { name: string } } } }).template.spec.nodeClassRef.name,
      )
    assert.deepEqual(used, ['default', 'default-b', 'default'])
    assert.equal(JSON.stringify(objects.filter(({ kind }) => kind === 'NodePool')).includes('maxPods'), false)
  })

  for (const [what, spec, expected] of [
    [
      'one term per combination of comma lists',
      { subnetSelector: { a: '1,2', b: 'x' } },
      { subnetSelectorTerms: [{ tags: { a: '1', b: 'x' } }, { tags: { a: '2', b: 'x' } }] },
    ],
    ['* for an empty value', { subnetSelector: { a: '' } }, { subnetSelectorTerms: [{ tags: { a: '*' } }] }],
    [
      'trimmed ids',
      { securityGroupSelector: { 'aws::ids': 'sg-1, sg-2' } },
      { securityGroupSelectorTerms: [{ id: 'sg-1' }, { id: 'sg-2' }] },
    ],
    [
      'names and owners of images combined',
      { amiSelector: { 'aws::name': 'a,b', 'aws::owners': 'self' } },
      {
        amiFamily: 'AL2',
        amiSelectorTerms: [
          { name: 'a', owner: 'self' },
          { name: 'b', owner: 'self' },
        ],
      },
    ],
    [
      'ids of images',
      { amiFamily: 'Bottlerocket', amiSelector: { 'aws-ids': 'ami-1' } },
      { amiFamily: 'Bottlerocket', amiSelectorTerms: [{ id: 'ami-1' }] },
    ],
    [
      'the only alias of Windows',
      { amiFamily: 'Windows2022' },
      { amiSelectorTerms: [{ alias: 'windows2022@latest' }] },
    ],
    [
      'another root device for Ubuntu',
      { amiFamily: 'Ubuntu', amiSelector: { 'aws-ids': 'ami-1' } },
      { amiFamily: 'AL2', blockDeviceMappings: [{ deviceName: '/dev/sda1' }] },
    ],
    [
      'metadata options and the rest',
      { metadataOptions: { httpTokens: 'optional' }, detailedMonitoring: true, userData: 'echo ${HOME}', context: 'c' },
      { metadataOptions: { httpTokens: 'optional' }, detailedMonitoring: true, userData: 'echo ${HOME}', context: 'c' },
    ],
    [
      'tags without those Karpenter writes',
      { tags: { team: 'a', 'kubernetes.io/cluster/x': 'owned', 'karpenter.sh/nodepool': 'y' } },
      { tags: { team: 'a' } },
    ],
  ] as const) {
    it(`has ${what}`, () => assert.partialDeepStrictEqual(classOf(pair({}, spec)), expected))
  }

  it('keeps an instance profile when no role is given, and prefers the role otherwise', () => {
    assert.equal(classOf(pair({}, { instanceProfile: 'p' }, {}))['instanceProfile'], 'p')
    assert.partialDeepStrictEqual(classOf(pair({}, { instanceProfile: 'p' }, { role: 'arn:aws:iam::1:role/path/r' })), {
      role: 'r',
    })
    assert.equal('instanceProfile' in classOf(pair({}, { instanceProfile: 'p' })), false)
  })

  it('takes the tags that used to be global, its own ones winning', () => {
    assert.deepEqual(
      classOf(pair({}, { tags: { a: 'own' } }, { role: 'r', tags: { a: 'global', b: 'global' } }))['tags'],
      { a: 'own', b: 'global' },
    )
  })

  it('pins the image that was chosen, for its own family only, and follows no other', () => {
    const pinned = (spec: Map, amiAlias?: string) => {
      const result = pair({}, spec, { role: 'r', ...(amiAlias ? { amiAlias } : {}) })
      return [classOf(result)['amiSelectorTerms'], codes(result, 'person')]
    }
    const asked = ['CAPT_CONVERT_AMI']
    const unpinned = (family: string) => [{ alias: `${family}@CHANGE-ME-version` }]
    assert.deepEqual(pinned({}, PIN), [[{ alias: PIN }], []])
    assert.deepEqual(pinned({ amiFamily: 'AL2023' }, PIN), [[{ alias: PIN }], []])
    assert.deepEqual(pinned({ amiFamily: 'Bottlerocket' }, 'bottlerocket@v1.1'), [[{ alias: 'bottlerocket@v1.1' }], []])
    assert.deepEqual(pinned({}), [unpinned('al2023'), asked])
    assert.deepEqual(pinned({ amiFamily: 'AL2023' }), [unpinned('al2023'), asked])
    assert.deepEqual(pinned({ amiFamily: 'Bottlerocket' }, PIN), [unpinned('bottlerocket'), asked])
  })

  it('asks a person about user data written for another image, and about custom images', () => {
    assert.deepEqual(codes(pair({}, { userData: '/etc/eks/bootstrap.sh' }), 'person'), ['CAPT_CONVERT_AMI'])
    assert.deepEqual(codes(pair({}, { amiFamily: 'Custom', amiSelector: { 'aws-ids': 'ami-1' } }), 'person'), [
      'CAPT_CONVERT_AMI',
    ])
  })
})

describe('v1beta1 objects', () => {
  it('give the expected objects', () => {
    const result = run(file('beta.yaml'), { amiAlias: PIN })
    assert.equal(toYaml(result.objects), file('beta.golden.yaml'))
    assert.deepEqual(codes(result, 'person'), [])
  })
})

describe('v1 objects', () => {
  const v1 = (spec: Map, kind = 'EC2NodeClass') =>
    stringify({
      apiVersion: kind === 'EC2NodeClass' ? 'karpenter.k8s.aws/v1' : 'karpenter.sh/v1',
      kind,
      metadata: { name: 'x' },
      spec,
    })
  it('pass through unchanged', () => {
    const spec = {
      role: 'r',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ id: 'subnet-1' }],
      securityGroupSelectorTerms: [{ tags: { a: 'b' } }],
    }
    assert.deepEqual(run(v1(spec)), { objects: [parse(v1(spec))], findings: [] })
  })
  for (const [what, text, code] of [
    ['two ids in one term', v1({ subnetSelectorTerms: [{ id: 'subnet-a,subnet-b' }] }), 'CAPT_CONVERT_SELECTOR'],
    [
      'an id beside tags',
      v1({ subnetSelectorTerms: [{ id: 'subnet-a', tags: { a: 'b' } }] }),
      'CAPT_CONVERT_CONTRADICTION',
    ],
    [
      'categories as instance types',
      v1(
        {
          template: {
            spec: { requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['c'] }] },
          },
        },
        'NodePool',
      ),
      'CAPT_CONVERT_INSTANCE_TYPE',
    ],
    [
      'requirements without a common value',
      v1(
        {
          template: {
            spec: {
              requirements: [
                { key: 'a', operator: 'In', values: ['1'] },
                { key: 'a', operator: 'In', values: ['2'] },
              ],
            },
          },
        },
        'NodePool',
      ),
      'CAPT_CONVERT_CONTRADICTION',
    ],
  ] as const) {
    it(`are refused for ${what}, which the CRD would accept`, () => {
      const result = run(text)
      assert.deepEqual([result.objects, codes(result, 'refused')], [[], [code]])
    })
  }
  it('get a finding about settings the API server would drop in silence', () => {
    assert.deepEqual(
      codes(run(v1({ template: { spec: { kubelet: { maxPods: 1 }, requirements: [] } } }, 'NodePool')), 'person'),
      ['CAPT_CONVERT_FIELD_DROPPED'],
    )
    assert.deepEqual(codes(run(v1({ launchTemplate: 'x' })), 'person'), ['CAPT_CONVERT_FIELD_DROPPED'])
  })
})

describe('what cannot be converted is refused, and nothing comes out', () => {
  const requirement = (operator: string, ...values: string[]) => ({ key: 'k', operator, values })
  for (const [what, spec, classSpec, code] of [
    ['a launch template', {}, { launchTemplate: 'lt' }, 'CAPT_CONVERT_UNSUPPORTED'],
    ['dockerd', { kubeletConfiguration: { containerRuntime: 'dockerd' } }, {}, 'CAPT_CONVERT_UNSUPPORTED'],
    ['Ubuntu without images', {}, { amiFamily: 'Ubuntu' }, 'CAPT_CONVERT_AMI'],
    ['a family nobody knows', {}, { amiFamily: 'Arch' }, 'CAPT_CONVERT_AMI'],
    ['ids mixed with tags', {}, { subnetSelector: { 'aws-ids': 'subnet-1', a: 'b' } }, 'CAPT_CONVERT_CONTRADICTION'],
    ['no subnets', {}, { subnetSelector: undefined }, 'CAPT_CONVERT_SELECTOR'],
    [
      'more terms than v1 takes',
      {},
      { subnetSelector: { a: '1,2,3,4,5,6', b: '1,2,3,4,5,6' } },
      'CAPT_CONVERT_SELECTOR',
    ],
    [
      'a disk without a size',
      {},
      { blockDeviceMappings: [{ deviceName: '/dev/xvda', ebs: {} }] },
      'CAPT_CONVERT_INVALID',
    ],
    [
      'consolidation beside ttlSecondsAfterEmpty',
      { consolidation: { enabled: true }, ttlSecondsAfterEmpty: 30 },
      {},
      'CAPT_CONVERT_CONTRADICTION',
    ],
    [
      'a provider beside a providerRef',
      { provider: { subnetSelector: { a: 'b' }, securityGroupSelector: { a: 'b' } } },
      {},
      'CAPT_CONVERT_CONTRADICTION',
    ],
    ['neither of them', { providerRef: undefined }, {}, 'CAPT_CONVERT_CONTRADICTION'],
    ['a taint without an effect', { taints: [{ key: 'a' }] }, {}, 'CAPT_CONVERT_INVALID'],
    [
      'the same taint twice',
      {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoSchedule' },
        ],
      },
      {},
      'CAPT_CONVERT_CONTRADICTION',
    ],
    ['a label of Karpenter', { labels: { 'karpenter.sh/x': 'y' } }, {}, 'CAPT_CONVERT_LABELS'],
    [
      'values that exclude each other',
      { requirements: [requirement('In', 'a'), requirement('NotIn', 'a')] },
      {},
      'CAPT_CONVERT_CONTRADICTION',
    ],
    [
      'bounds that exclude each other',
      { requirements: [requirement('Gt', '4'), requirement('Lt', '5')] },
      {},
      'CAPT_CONVERT_CONTRADICTION',
    ],
    [
      'a label that must and must not exist',
      { requirements: [requirement('Exists'), requirement('DoesNotExist')] },
      {},
      'CAPT_CONVERT_CONTRADICTION',
    ],
    ['an operator nobody knows', { requirements: [requirement('Like', 'a')] }, {}, 'CAPT_CONVERT_INVALID'],
    [
      'types mixed with categories',
      { requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['c', 'm5.large'] }] },
      {},
      'CAPT_CONVERT_INSTANCE_TYPE',
    ],
    ['a weight out of range', { weight: 101 }, {}, 'CAPT_CONVERT_INVALID'],
    ['seconds that are a text', { ttlSecondsAfterEmpty: '30' }, {}, 'CAPT_CONVERT_INVALID'],
    [
      'soft eviction without its grace period',
      { kubeletConfiguration: { evictionSoft: { 'memory.available': '5%' } } },
      {},
      'CAPT_CONVERT_CONTRADICTION',
    ],
  ] as const) {
    it(what, () => {
      const result = pair(spec, classSpec)
      assert.deepEqual(result.objects, [])
      assert.ok(codes(result, 'refused').includes(code), said(result))
    })
  }

  for (const [what, apiVersion, kind] of [
    ['a Machine', 'karpenter.sh/v1alpha5', 'Machine'],
    ['a version nobody served', 'karpenter.sh/v2', 'NodePool'],
    ['an object of another project', 'v1', 'ConfigMap'],
  ] as const) {
    it(what, () => {
      const result = run(stringify({ apiVersion, kind, metadata: { name: 'x' } }))
      assert.deepEqual(codes(result, 'refused'), ['CAPT_CONVERT_UNKNOWN_KIND'])
    })
  }

  it('two objects of one name', () =>
    assert.ok(
      codes(run(`${provisioner(ref)}---\n${provisioner(ref)}---\n${template()}`), 'refused').includes(
        'CAPT_CONVERT_CONTRADICTION',
      ),
    ))

  it('other projects can be left out on request, Karpenter kinds cannot', () => {
    const other = stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } })
    assert.deepEqual(run(other, { ignoreOther: true }), { objects: [], findings: [] })
    const machine = stringify({ apiVersion: 'karpenter.sh/v1alpha5', kind: 'Machine', metadata: { name: 'x' } })
    assert.equal(codes(run(machine, { ignoreOther: true }), 'refused').length, 1)
  })
})

describe('what is not known is said, never lost', () => {
  it('names unknown fields and missing classes', () => {
    assert.deepEqual(codes(pair({ someday: 1 }, { never: 2 }), 'person'), [
      'CAPT_CONVERT_FIELD_DROPPED',
      'CAPT_CONVERT_FIELD_DROPPED',
    ])
    assert.deepEqual(codes(run(provisioner(ref)), 'person'), ['CAPT_CONVERT_CLASS_MISSING'])
  })
})

describe('reading manifests', () => {
  for (const [what, text, message] of [
    ['text that is not YAML', 'a: [', /.+/],
    ['a plain text', 'hello', /is not a Kubernetes object/],
    ['a list', '- a', /is not a Kubernetes object/],
    ['a document without a kind', 'a: b', /has no apiVersion/],
    ['an object without a name', 'apiVersion: v1\nkind: X', /has no metadata.name/],
    [
      'an alias bomb',
      'a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]',
      /alias/i,
    ],
  ] as const) {
    it(`refuses ${what} and says where`, () => {
      assert.throws(() => readManifests({ name: 'in.yaml', text }), { code: 'CAPT_MANIFEST_INVALID', message })
    })
  }

  it('reads many documents, lists and nothing', () => {
    const list = stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [parse(provisioner(ref, 'a')), parse(provisioner(ref, 'b'))],
    })
    assert.deepEqual(
      readManifests({ name: 'in.yaml', text: `---\n# nothing\n---\n${list}` }).map(({ name, at }) => [name, at]),
      [
        ['a', 'in.yaml, document 2, line 7'],
        ['b', 'in.yaml, document 2, line 14'],
      ],
    )
    assert.deepEqual(readManifests({ name: 'in.yaml', text: '' }), [])
  })
})
