import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  AddonDelivery,
  AddonPipeline,
  type AddonStage,
  type ConfigMap,
  ConfigMapKind,
  clusterResourceSetKind,
  DeploymentKind,
  type KindRef,
  kindRef,
  type UnknownObject,
} from '#api'
import { defaultPipeline } from '#controllers'
import {
  type AddonsWorld,
  addonsWorld,
  Cluster,
  conditionStatus,
  HOME,
  outputsFor,
} from '../../support/addons/world.ts'
import { leaksIn, planted } from '../../support/secrets/planted.ts'

const PASSWORD = planted('stage')
let world: AddonsWorld
afterEach(async () => await world.close())

const key = { namespace: 'default', name: 'demo' }
const HelmRelease = kindRef('helm.toolkit.fluxcd.io/v2', 'HelmRelease')
const NodePool = kindRef('karpenter.sh/v1', 'NodePool', false)
const isReady = () => conditionStatus(world.delivery('demo'), 'Ready') === 'True'
const ready = () => world.delivery('demo')?.status?.conditions?.find((condition) => condition.type === 'Ready')
const stage = (name: string) => world.stage('demo', name)

type Spec = AddonPipeline['spec']
const shipped = (change: (spec: Spec) => Spec): AddonPipeline => {
  const pipeline = defaultPipeline(HOME)
  return { ...pipeline, spec: change(pipeline.spec) }
}
const withStage = (name: string, change: (stage: AddonStage) => AddonStage): AddonPipeline =>
  shipped((spec) => ({ ...spec, stages: spec.stages.map((one) => (one.name === name ? change(one) : one)) }))
const extra = (over: Partial<AddonStage>): AddonStage => ({
  name: 'extra',
  needs: [],
  enabledBy: [],
  resources: [{ kind: 'ConfigMap', name: 'extra' }],
  checks: [],
  timeout: '15m',
  retry: { limit: 5, backoff: '30s' },
  onFailure: 'Stop',
  uninstall: { policy: 'Delete', timeout: '10m' },
  ...over,
})
const onlyExtra = (over: Partial<AddonStage> = {}, spec: Partial<Spec> = {}): AddonPipeline =>
  shipped((given) => ({ ...given, ...spec, stages: [extra(over)] }))
const source = (data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: HOME, name: 'extra' },
  data,
})
const settings = (text: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: default\ndata:\n  text: "${text}"\n`
const setsWritten = () => world.home.storage.list(clusterResourceSetKind('v1beta2')).length

describe('a pipeline that cannot work', () => {
  it('is refused for a Kubernetes that Karpenter does not support, with nothing written', async () => {
    world = await addonsWorld({
      pipeline: withStage('karpenter', (one) => ({ ...one, karpenter: { ...one.karpenter!, version: '1.0.7' } })),
    })
    const workload = await world.addCluster('demo')
    await world.until('it is stalled', () => ready()?.reason === 'VersionMismatch')
    assert.match(ready()?.message ?? '', /Karpenter 1\.0\.7 supports Kubernetes 1\.25 to 1\.31, not 1\.35/)
    assert.equal(setsWritten(), 0)
    assert.equal(workload.peek(DeploymentKind, { namespace: 'flux-system', name: 'source-controller' }), undefined)
  })

  it('is refused for a Kubernetes that Flux does not support, with nothing written', async () => {
    world = await addonsWorld({
      pipeline: withStage('flux', (one) => ({ ...one, flux: { ...one.flux!, version: '2.6.4' } })),
    })
    await world.addCluster('demo')
    await world.until('it is stalled', () => ready()?.reason === 'VersionMismatch')
    assert.match(ready()?.message ?? '', /Flux 2\.6\.4 supports Kubernetes 1\.31 to 1\.33, not 1\.35/)
    assert.equal(setsWritten(), 0)
  })

  it('waits for a variable that nobody gives, by name, and goes on when somebody does', async () => {
    world = await addonsWorld({
      pipeline: withStage('karpenter', (one) => ({
        ...one,
        karpenter: { ...one.karpenter!, values: { settings: { vpc: '${VPC_ID} of ${TEAM}' } } },
      })),
    })
    await world.addCluster('demo')
    await world.until('it waits', () => stage('karpenter')?.reason === 'VariablesMissing')
    assert.equal(stage('karpenter')?.message, 'No value for TEAM, VPC_ID')
    await world.home.others.patch(AddonDelivery, key, {
      type: 'merge',
      body: { spec: { variables: { TEAM: 'blue', VPC_ID: 'vpc-1' } } },
    })
    await world.until('ready', isReady)
    const release = world.workloads.get('default/demo')!.storage.list(HelmRelease)[0] as UnknownObject & {
      spec: { values: { settings: { vpc: string } } }
    }
    assert.equal(release.spec.values.settings.vpc, 'vpc-1 of blue')
  })

  it('says which stages need each other in a circle', async () => {
    world = await addonsWorld({ pipeline: withStage('flux', (one) => ({ ...one, needs: ['karpenter'] })) })
    await world.addCluster('demo')
    const pipeline = () => world.home.peek<AddonPipeline>(AddonPipeline, { namespace: HOME, name: 'default' })
    await world.until('it is stalled', () => conditionStatus(pipeline(), 'Stalled') === 'True')
    assert.match(JSON.stringify(pipeline()?.status), /flux → karpenter → flux/)
  })

  it('says so when the API server does not serve ClusterResourceSet', async () => {
    world = await addonsWorld({ resourceSets: undefined })
    await world.addCluster('demo')
    await world.until('it is stalled', () => ready()?.reason === 'ResourceSetsNotServed')
    assert.match(ready()?.message ?? '', /EXP_CLUSTER_RESOURCE_SET/)
  })

  it('is stalled with both names when another pipeline delivers the same stage', async () => {
    world = await addonsWorld()
    const other = defaultPipeline('default')
    world.home.seed(AddonPipeline, {
      ...other,
      metadata: { namespace: 'default', name: 'other' },
      spec: { ...other.spec, allNamespaces: false, clusterSelector: {} },
    })
    await world.addCluster('demo')
    await world.until('it is stalled', () => ready()?.reason === 'PipelineConflict')
    assert.match(
      ready()?.message ?? '',
      /Pipelines capt-system\/default and default\/other both bring flux, karpenter, node-pool/,
    )
    const theirs = world.home.peek<AddonDelivery>(AddonDelivery, { namespace: 'default', name: 'demo.other' })
    assert.equal(conditionStatus(theirs, 'Stalled'), 'True')
  })

  it('may serve other namespaces only from the namespace of capt', async () => {
    world = await addonsWorld({ shipped: false })
    const theirs = defaultPipeline('team-a')
    world.home.seed(AddonPipeline, theirs)
    await world.addCluster('demo')
    await world.idle(2)
    assert.equal(world.delivery('demo'), undefined)
    assert.match(
      JSON.stringify(world.home.peek<AddonPipeline>(AddonPipeline, { namespace: 'team-a', name: 'default' })?.status),
      /allNamespaces is honoured only/,
    )
  })
})

describe('a stage of manifests', () => {
  it('delivers them per cluster with its variables, and checks what was asked for', async () => {
    const checks: AddonStage['checks'] = [
      {
        type: 'Condition',
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'settings',
        namespace: 'default',
        path: 'data.text',
        equals: 'for demo at https://demo.example.invalid',
      },
    ]
    world = await addonsWorld({ pipeline: onlyExtra({ checks }) })
    world.home.seed(ConfigMapKind, source({ 'a.yaml': settings('for ${CLUSTER_NAME} at ${CLUSTER_ENDPOINT}') }))
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    assert.equal(
      workload.peek<ConfigMap>(ConfigMapKind, { namespace: 'default', name: 'settings' })?.data?.['text'],
      'for demo at https://demo.example.invalid',
    )
  })

  it('keeps values as data: a quote or a document separator in one changes nothing else', async () => {
    world = await addonsWorld({ pipeline: onlyExtra({}, { variables: { TEAM: 'a"b\n---\nkind: Evil' } }) })
    world.home.seed(ConfigMapKind, source({ 'a.yaml': settings('${TEAM}') }))
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    assert.equal(
      workload.peek<ConfigMap>(ConfigMapKind, { namespace: 'default', name: 'settings' })?.data?.['text'],
      'a"b\n---\nkind: Evil',
    )
  })

  it('waits for a source that does not exist', async () => {
    world = await addonsWorld({ pipeline: onlyExtra() })
    await world.addCluster('demo')
    await world.until('it waits', () => stage('extra')?.reason === 'SourceMissing')
    assert.equal(stage('extra')?.message, 'There is no ConfigMap extra')
  })

  for (const [what, text, code] of [
    ['invalid YAML', 'a: [1, 2\nb: {', 'CAPT_MANIFEST_INVALID'],
    ['something that is no object', 'just a sentence that is long enough to be read', 'CAPT_MANIFEST_INVALID'],
    [
      'an object without its namespace',
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lost\n',
      'CAPT_MANIFEST_TRAP',
    ],
    [
      'an object too large for any payload',
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: big\n  namespace: default\ndata:\n  big: ${'x'.repeat(950 * 1024)}\n`,
      'CAPT_CARRIER_TOO_LARGE',
    ],
  ] as const) {
    it(`is refused for ${what}, before anything is written`, async () => {
      world = await addonsWorld({ pipeline: onlyExtra() })
      world.home.seed(ConfigMapKind, source({ 'a.yaml': text }))
      await world.addCluster('demo')
      await world.until('it is refused', () => stage('extra')?.state === 'Failed')
      assert.equal(stage('extra')?.lastError?.code, code)
      assert.ok(stage('extra')?.lastError?.hint)
      assert.equal(setsWritten(), 0)
    })
  }

  it('is split over several payloads when it is too large for one, and arrives whole', async () => {
    const part = (name: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: default\ndata:\n  big: ${'x'.repeat(500 * 1024)}\n`
    world = await addonsWorld({ pipeline: onlyExtra() })
    world.home.seed(ConfigMapKind, source({ 'a.yaml': `${part('one')}---\n${part('two')}` }))
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    assert.deepEqual(
      stage('extra')?.delivered?.resources?.map((row) => row.name),
      ['extra-resources-demo', 'extra-resources-demo-2'],
    )
    assert.ok(workload.peek(ConfigMapKind, { namespace: 'default', name: 'two' }))
  })

  it('says that a health path has nothing behind it, and stalls with a hint when time is over', async () => {
    const checks: AddonStage['checks'] = [
      {
        type: 'Condition',
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'settings',
        namespace: 'default',
        path: 'status.phase',
        equals: 'Ready',
      },
    ]
    world = await addonsWorld({ pipeline: onlyExtra({ checks, timeout: '1m', retry: { limit: 1, backoff: '10s' } }) })
    world.home.seed(ConfigMapKind, source({ 'a.yaml': settings('x') }))
    await world.addCluster('demo')
    await world.until('it waits', () => stage('extra')?.message === 'ConfigMap settings has nothing at status.phase')
    await world.until('it is stalled', () => stage('extra')?.state === 'Failed', 400)
    assert.match(stage('extra')?.lastError?.hint ?? '', /path of the health check may not exist/)
  })

  /** A stage with a value out of a Secret, in this manifest. */
  async function withPassword(manifest: string): Promise<void> {
    const from = {
      kind: 'Secret',
      name: '${CLUSTER_NAME}-login',
      keys: { PASSWORD: 'password' },
      optional: false,
    } as const
    world = await addonsWorld({ pipeline: onlyExtra({}, { variablesFrom: [from] }) })
    world.home.seed(ConfigMapKind, source({ 'a.yaml': manifest }))
    world.home.seed({ ...ConfigMapKind, kind: 'Secret', plural: 'secrets' }, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'demo-login' },
      data: { password: Buffer.from(PASSWORD).toString('base64') },
    } as never)
    await world.addCluster('demo')
  }

  /** Everything that people may read of it. */
  const shown = () =>
    JSON.stringify([world.delivery('demo'), world.log.lines, world.events, world.home.storage.list(ConfigMapKind)])

  for (const [what, manifest, reason] of [
    ['is no YAML', 'kind: [${PASSWORD} and more, long enough to be read\n', /Missing , or :/],
    ['has no kind', 'apiVersion: v1\nmetadata:\n  name: ${PASSWORD}\n', /is not a Kubernetes object/],
    ['has no namespace', 'apiVersion: v1\nkind: ${PASSWORD}\nmetadata:\n  name: x\n', /…redacted…\/x needs metadata/],
  ] as const)
    it(`is refused without the value out of a Secret that it holds, when it ${what}`, async () => {
      await withPassword(manifest)
      await world.until('it is refused', () => stage('extra')?.reason === 'StageRefused')
      assert.match(stage('extra')?.message ?? '', reason)
      assert.deepEqual(leaksIn(shown()), [])
    })

  it('travels in a Secret when a value came out of one', async () => {
    await withPassword(settings('${PASSWORD}'))
    await world.until('ready', isReady)
    assert.equal(stage('extra')?.delivered?.resources?.[0]?.kind, 'Secret')
    assert.deepEqual(leaksIn(shown()), [])
  })
})

describe('what is already in a cluster', () => {
  const foreign =
    (version: string, labels: Record<string, string> = {}) =>
    (name: string) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        name,
        namespace: 'flux-system',
        labels: {
          app: name,
          'app.kubernetes.io/part-of': 'flux',
          ...(version ? { 'app.kubernetes.io/version': version } : {}),
          ...labels,
        },
      },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'manager', image: 'x' }] } },
      },
    })
  const definitions = [
    'helmreleases.helm.toolkit.fluxcd.io',
    'helmcharts.source.toolkit.fluxcd.io',
    'helmrepositories.source.toolkit.fluxcd.io',
    'ocirepositories.source.toolkit.fluxcd.io',
  ]

  async function withFlux(make: (name: string) => object): Promise<void> {
    const workload = await world.addCluster('demo', { labels: {} })
    for (const name of ['source-controller', 'helm-controller'])
      await workload.others.create(DeploymentKind, make(name) as never)
    const [group, names] = ['apiextensions.k8s.io', definitions]
    for (const name of names) {
      const [plural, ...rest] = name.split('.')
      const kind = {
        helmreleases: 'HelmRelease',
        helmcharts: 'HelmChart',
        helmrepositories: 'HelmRepository',
        ocirepositories: 'OCIRepository',
      }[plural!]!
      await workload.others.create(
        {
          group,
          version: 'v1',
          kind: 'CustomResourceDefinition',
          plural: 'customresourcedefinitions',
          namespaced: false,
        },
        {
          apiVersion: `${group}/v1`,
          kind: 'CustomResourceDefinition',
          metadata: { name },
          spec: {
            group: rest.join('.'),
            scope: 'Namespaced',
            names: { kind, plural },
            versions: [{ name: kind === 'HelmRelease' ? 'v2' : 'v1', served: true, storage: true }],
          },
        } as never,
      )
    }
    await workload.others.create({ group: '', version: 'v1', kind: 'Service', plural: 'services', namespaced: true }, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'source-controller', namespace: 'flux-system' },
      spec: { selector: { app: 'source-controller' }, ports: [{ port: 80 }] },
    } as never)
    await world.idle(2)
    await world.home.others.patch(Cluster, key, {
      type: 'merge',
      body: { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': 'enabled' } } },
    })
  }

  it('a Flux that somebody else installed is used as it is', async () => {
    world = await addonsWorld()
    await withFlux(foreign('v2.8.3'))
    await world.until('the pool is healthy', () => stage('node-pool')?.state === 'Healthy')
    assert.equal(stage('flux')?.adopted, '2.8.3')
    const names = world.home.storage.list(clusterResourceSetKind('v1beta2')).map((set) => set.metadata.name)
    assert.ok(!names.includes('fluxcd-installer-demo'))
  })

  it('a Flux of the community chart is recognised by its chart, whose number is not its version', async () => {
    world = await addonsWorld({
      pipeline: withStage('flux', (one) => ({ ...one, flux: { ...one.flux!, existing: 'Refuse' } })),
    })
    await withFlux(foreign('', { 'helm.sh/chart': 'flux2-2.17.1' }))
    await world.until('it is refused', () => stage('flux')?.state === 'Failed')
    assert.equal(
      stage('flux')?.lastError?.message,
      'Flux 2.7.0 is already installed (chart flux2 2.17.1) and the pipeline refuses it',
    )
    assert.equal(setsWritten(), 0)
  })

  it('a Flux that is too old to be used is refused', async () => {
    world = await addonsWorld()
    await withFlux(foreign('v2.2.3'))
    await world.until('it is refused', () => stage('flux')?.lastError?.code === 'CAPT_FLUX_FOREIGN')
    assert.match(stage('flux')?.lastError?.message ?? '', /too old/)
  })

  it('an older request never downgrades a newer Flux of ours', async () => {
    world = await addonsWorld()
    await world.addCluster('demo', { labels: { 'fluxcd.io/enabled': 'true' } })
    await world.until('ready', isReady)
    await world.home.others.patch(AddonDelivery, key, {
      type: 'merge',
      body: { spec: { overrides: [{ stage: 'flux', version: '2.8.8' }] } },
    })
    await world.until('it is refused', () => stage('flux')?.lastError?.code === 'CAPT_FLUX_NEWER')
  })

  it('finalizers and labels that others put on live objects survive an update', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo')
    await world.until('ready', isReady)
    const releaseKey = { namespace: 'kube-system', name: 'karpenter' }
    await workload.others.patch(HelmRelease, releaseKey, {
      type: 'merge',
      body: { metadata: { labels: { team: 'blue' }, finalizers: ['finalizers.fluxcd.io', 'example.com/mine'] } },
    })
    await workload.others.patch(
      NodePool,
      { name: 'default' },
      {
        type: 'merge',
        body: {
          metadata: {
            labels: { team: 'blue' },
            annotations: { 'karpenter.sh/nodepool-hash': '1' },
            finalizers: ['example.com/mine'],
          },
        },
      },
    )
    const pipeline = { namespace: HOME, name: 'default' }
    const live = world.home.peek<AddonPipeline>(AddonPipeline, pipeline)!
    const stages = live.spec.stages.map((one) =>
      one.karpenter
        ? { ...one, karpenter: { ...one.karpenter, values: { logLevel: 'debug' } } }
        : one.nodePool
          ? { ...one, nodePool: { ...one.nodePool, cpuLimit: 50 } }
          : one,
    )
    await world.home.others.patch(AddonPipeline, pipeline, { type: 'merge', body: { spec: { stages } } })
    const release = () =>
      workload.peek<UnknownObject & { spec: { values: { logLevel?: string } } }>(HelmRelease, releaseKey)
    const pool = () =>
      workload.peek<UnknownObject & { spec: { limits: { cpu: string } } }>(NodePool, { name: 'default' })
    await world.until(
      'the update arrived',
      () => release()?.spec.values.logLevel === 'debug' && pool()?.spec.limits.cpu === '50',
    )
    assert.deepEqual([...(release()?.metadata.finalizers ?? [])].sort(), ['example.com/mine', 'finalizers.fluxcd.io'])
    assert.equal(release()?.metadata.labels?.['team'], 'blue')
    assert.deepEqual(pool()?.metadata.finalizers, ['example.com/mine'])
    assert.equal(pool()?.metadata.annotations?.['karpenter.sh/nodepool-hash'], '1')
  })

  it('Pod Identity and IRSA follow what the control plane was made for', async () => {
    world = await addonsWorld()
    const outputs = outputsFor('demo')
    const workload = await world.addCluster('demo', {
      outputs: { ...outputs, karpenter: { ...outputs.karpenter, identity: 'irsa' } },
    })
    await world.until('ready', isReady)
    const account = workload.peek(
      { group: '', version: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
      { namespace: 'kube-system', name: 'karpenter' },
    )
    assert.equal(
      account?.metadata.annotations?.['eks.amazonaws.com/role-arn'],
      'arn:aws:iam::111122223333:role/demo-karpenter',
    )
  })

  it('a Karpenter in another namespace is not joined by a second one', async () => {
    world = await addonsWorld()
    const workload = await world.addCluster('demo', { labels: { 'fluxcd.io/enabled': 'true' } })
    await workload.others.create(DeploymentKind, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'karpenter', namespace: 'karpenter', labels: { 'app.kubernetes.io/name': 'karpenter' } },
      spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template: {} },
    } as never)
    await world.home.others.patch(Cluster, key, {
      type: 'merge',
      body: { metadata: { labels: { 'installation.appthrust.com/eks-karpenter': 'enabled' } } },
    })
    await world.until('it is blocked', () => stage('karpenter')?.lastError?.code === 'CAPT_KARPENTER_ELSEWHERE')
    assert.deepEqual(workload.storage.list(HelmRelease), [])
  })

  it('objects in an API version that the new Flux dropped stop the upgrade before it is written', async () => {
    world = await addonsWorld({
      pipeline: withStage('flux', (one) => ({ ...one, flux: { ...one.flux!, version: '2.8.8' } })),
    })
    const workload = await world.addCluster('demo', { labels: { 'fluxcd.io/enabled': 'true' } })
    await world.until('ready', isReady)
    const definition: KindRef = {
      group: 'apiextensions.k8s.io',
      version: 'v1',
      kind: 'CustomResourceDefinition',
      plural: 'customresourcedefinitions',
      namespaced: false,
    }
    await workload.others.patch(
      definition,
      { name: 'helmreleases.helm.toolkit.fluxcd.io' },
      { type: 'merge', body: { status: { storedVersions: ['v2beta2', 'v2'] } } },
      { subresource: 'status' },
    )
    await world.home.others.patch(AddonDelivery, key, {
      type: 'merge',
      body: { spec: { overrides: [{ stage: 'flux', version: '2.9.5' }] } },
    })
    await world.until('it is blocked', () => stage('flux')?.lastError?.code === 'CAPT_FLUX_STORED_VERSIONS')
    assert.match(stage('flux')?.lastError?.message ?? '', /still stored as v2beta2/)
    assert.equal(
      workload.peek(DeploymentKind, { namespace: 'flux-system', name: 'helm-controller' })?.metadata.labels?.[
        'app.kubernetes.io/version'
      ],
      'v2.8.8',
    )
  })

  it('an upgrade of Flux reaches the cluster when it is asked for', async () => {
    world = await addonsWorld({
      pipeline: withStage('flux', (one) => ({ ...one, flux: { ...one.flux!, version: '2.8.8' } })),
    })
    const workload = await world.addCluster('demo', { labels: { 'fluxcd.io/enabled': 'true' } })
    await world.until('ready', isReady)
    await world.home.others.patch(AddonDelivery, key, {
      type: 'merge',
      body: { spec: { overrides: [{ stage: 'flux', version: '2.9.5' }] } },
    })
    await world.until(
      'it arrived',
      () =>
        workload.peek(DeploymentKind, { namespace: 'flux-system', name: 'helm-controller' })?.metadata.labels?.[
          'app.kubernetes.io/version'
        ] === 'v2.9.5',
    )
    await world.until('ready', () => isReady() && stage('flux')?.wantedVersion === '2.9.5')
  })
})
