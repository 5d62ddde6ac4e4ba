import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AddonStage, type CompiledSchema, compileSchema, type JsonSchema } from '#api'
import { eksRows, fluxReleases, fluxVersions, loadFluxDefinitions, supports, versionsFor } from '#catalog'
import { isPlainObject, type Json, type JsonObject, keyedHash } from '#lib'
import { lintManifests } from '../../manifests/lint.ts'
import { type Manifest, PAYLOAD_LIMIT, parseManifests } from '../../manifests/manifests.ts'
import { shippedStage } from '../../observed-examples.ts'
import type { Part } from '../../resource-set/render-part.ts'
import { aStageInput, partsOf, VARIABLES } from './input-examples.ts'
import { renderStage } from './render-stage.ts'
import type { StageInput } from './rendered.ts'

const find = (parts: readonly Part[], kind: string, name?: string) =>
  parts
    .flatMap((part) => part.manifests)
    .find((one) => one.kind === kind && (name === undefined || one.metadata.name === name))
const karpenter = (over: Partial<StageInput> = {}) => partsOf({ stage: shippedStage('karpenter'), ...over })
const withKarpenter = (more: object): AddonStage => ({
  ...shippedStage('karpenter'),
  karpenter: { ...shippedStage('karpenter').karpenter!, ...more },
})

describe('the Flux bundle', () => {
  for (const version of fluxVersions) {
    it(`of ${version} is complete, small enough and free of traps`, async () => {
      const [part] = partsOf({
        versions: { flux: version, karpenter: '1.14.1' },
        definitions: await loadFluxDefinitions(version),
      })
      const payloads = part!.payloads
      assert.deepEqual(
        payloads.map(({ name, key, shared }) => [name, key, shared]),
        [[`fluxcd-install-${version}`, 'fluxcd.yaml', true]],
      )
      assert.ok(Buffer.byteLength(payloads[0]!.text) < PAYLOAD_LIMIT / 2)
      assert.deepEqual(lintManifests(part!.manifests, 'bundle'), [])
      // Core refuses a value of fewer than 32 bytes, and counts a broken JSON list as applied.
      assert.ok(payloads[0]!.text.length > 32 && payloads[0]!.text.startsWith('---'))
      assert.deepEqual(parseManifests(payloads[0]!.text, 'payload'), JSON.parse(JSON.stringify(part!.manifests)))
      assert.equal(payloads[0]!.hash, keyedHash({ 'fluxcd.yaml': payloads[0]!.text }))
      const kinds = part!.manifests.map((one) => one.kind)
      assert.ok(kinds.filter((kind) => kind === 'CustomResourceDefinition').length >= 6)
      assert.deepEqual(
        kinds.filter((kind) => kind === 'Deployment'),
        ['Deployment', 'Deployment'],
      )
      const release = fluxReleases.find(({ flux }) => flux === version)!
      assert.match(
        JSON.stringify(find([part!], 'Deployment', 'source-controller')),
        new RegExp(`ghcr.io/fluxcd/source-controller:v${release.sourceController.replaceAll('.', '\\.')}"`),
      )
    })
  }

  it('sends events nowhere, shields its controllers, and says who made it', async () => {
    const parts = partsOf({ definitions: await loadFluxDefinitions('2.9.5') })
    const deployments = parts.flatMap((part) => part.manifests).filter((one) => one.kind === 'Deployment')
    for (const one of deployments) {
      assert.match(JSON.stringify(one), /"--events-addr="/)
      assert.partialDeepStrictEqual(one.metadata, {
        labels: {
          'app.kubernetes.io/part-of': 'flux',
          'app.kubernetes.io/instance': 'flux-system',
          'app.kubernetes.io/version': 'v2.9.5',
          'capt.appthrust.com/managed': 'true',
        },
      })
    }
    assert.ok(find(parts, 'NetworkPolicy', 'allow-egress'))
  })

  it('follows the options: no policies, tolerations, another registry, pinned digests, in a payload of their own', async () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const flux = {
      networkPolicy: false,
      existing: 'Adopt',
      tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
      imageRegistry: 'mirror.example/fluxcd',
      imageDigests: { 'helm-controller': digest },
    } as const
    const parts = partsOf({ stage: { ...shippedStage('flux'), flux }, definitions: await loadFluxDefinitions('2.9.5') })
    assert.equal(find(parts, 'NetworkPolicy'), undefined)
    const text = JSON.stringify(find(parts, 'Deployment', 'helm-controller'))
    assert.match(text, new RegExp(`mirror.example/fluxcd/helm-controller:v1.6.4@${digest}`))
    assert.match(text, /CriticalAddonsOnly/)
    assert.match(parts[0]!.payloads[0]!.name, /^fluxcd-install-2\.9\.5-[a-z]{8}$/)
  })

  it('may be an install file of the project, whose objects are marked as ours', () => {
    const flux = {
      networkPolicy: true,
      existing: 'Adopt',
      manifest: { url: 'https://example.invalid/install.yaml', sha256: 'a'.repeat(64) },
    } as const
    const installFile =
      'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: helm-controller\n  namespace: flux-system\n  labels: { app: x }\n'
    const parts = partsOf({ stage: { ...shippedStage('flux'), flux }, installFile })
    assert.deepEqual(find(parts, 'Deployment')?.metadata['labels'], { app: 'x', 'capt.appthrust.com/managed': 'true' })
  })

  it('adds a probe and the readiness Job as parts that follow', async () => {
    const flux = {
      networkPolicy: true,
      existing: 'Adopt',
      readinessJob: { image: 'registry.example/kubectl:1.35', deadline: '5m' },
    } as const
    const parts = partsOf({
      stage: { ...shippedStage('flux'), flux },
      definitions: await loadFluxDefinitions('2.9.5'),
      probe: { url: 'oci://example/chart', tag: '1.0.0' },
    })
    assert.deepEqual(
      parts.map((part) => part.set),
      ['fluxcd-installer-demo', 'fluxcd-readiness-demo', 'fluxcd-probe-demo'],
    )
    const job = find(parts, 'Job', 'fluxcd-readiness-check')
    assert.match(JSON.stringify(job), /--selector=app\.kubernetes\.io\/part-of=flux/)
    assert.match(JSON.stringify(job), /"activeDeadlineSeconds":360/)
  })
})

describe('the Karpenter stage', () => {
  it('keeps the controller off its own nodes, whatever values are given', () => {
    const values = {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'pool', operator: 'In', values: ['a'] }] },
              { matchExpressions: [{ key: 'pool', operator: 'In', values: ['b'] }] },
            ],
          },
        },
      },
    }
    const { spec } = find(karpenter({ stage: withKarpenter({ values }) }), 'HelmRelease') as Manifest & {
      spec: {
        values: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: { matchExpressions: { key: string }[] }[]
              }
            }
          }
        }
      }
    }
    const terms = spec.values.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
    assert.equal(terms.length, 2)
    for (const term of terms) assert.ok(term.matchExpressions.some(({ key }) => key === 'karpenter.sh/nodepool'))
  })

  it('merges the values of one Cluster over those of the pipeline and fills in variables', () => {
    const stage = withKarpenter({ values: { logLevel: 'info', settings: { batchIdleDuration: '${IDLE}' } } })
    const parts = karpenter({
      stage,
      variables: { ...VARIABLES, IDLE: '2s' },
      override: { stage: 'karpenter', values: { logLevel: 'debug' } },
    })
    assert.partialDeepStrictEqual(find(parts, 'HelmRelease'), {
      spec: {
        values: {
          logLevel: 'debug',
          settings: { batchIdleDuration: '2s', clusterName: 'demo', interruptionQueue: 'Karpenter-demo' },
        },
      },
    })
  })

  it('carries the finalizers of Flux, because core removes what a manifest lacks', () => {
    const parts = karpenter()
    assert.deepEqual(find(parts, 'HelmRelease')?.metadata['finalizers'], ['finalizers.fluxcd.io'])
    assert.deepEqual(find(parts, 'OCIRepository')?.metadata['finalizers'], ['finalizers.fluxcd.io'])
  })

  it('refuses values of old charts by name', () => {
    const rendered = renderStage(
      aStageInput({ stage: withKarpenter({ values: { settings: { aws: { clusterName: 'x' } } } }) }),
    )
    assert.partialDeepStrictEqual(rendered, { is: 'refused', code: 'CAPT_KARPENTER_VALUES_REFUSED' })
  })

  it('refuses an identity that the role of the control plane does not trust', () => {
    const rendered = renderStage(
      aStageInput({
        stage: withKarpenter({ identity: 'IRSA' }),
        variables: { ...VARIABLES, KARPENTER_IDENTITY: 'podIdentity' },
      }),
    )
    assert.partialDeepStrictEqual(rendered, { is: 'refused', code: 'CAPT_KARPENTER_IDENTITY' })
  })

  it('has two replicas, one on a single node, and never goes back from two', () => {
    const replicas = (nodes: number | undefined, liveReplicas?: number) =>
      (find(karpenter({ nodes, liveReplicas }), 'HelmRelease') as Manifest & { spec: { values: { replicas: number } } })
        .spec.values.replicas
    assert.deepEqual([replicas(undefined), replicas(3), replicas(1), replicas(2, 1), replicas(1, 2)], [2, 2, 1, 2, 2])
  })

  it('waits for the role and the image of the nodes before it makes a pool', () => {
    const { NODE_ROLE_NAME: _role, NODE_IMAGE: _image, ...rest } = VARIABLES
    assert.deepEqual(renderStage(aStageInput({ stage: shippedStage('node-pool'), variables: rest })), {
      is: 'missing',
      variables: ['NODE_IMAGE', 'NODE_ROLE_NAME'],
      sources: [],
    })
  })

  it('boots the image that the control plane hands out, unless the stage names one', () => {
    const stage = shippedStage('node-pool')
    const classWith = (over: object, variables: StageInput['variables']) =>
      find(partsOf({ stage: { ...stage, nodePool: { ...stage.nodePool!, ...over } }, variables }), 'EC2NodeClass')
    const pinned = (alias: string) => ({ spec: { amiSelectorTerms: [{ alias }] } })
    const { NODE_IMAGE: _image, ...without } = VARIABLES
    assert.partialDeepStrictEqual(classWith({}, VARIABLES), pinned('al2023@v20261102'))
    // As pipelines of earlier releases have it stored: what their clusters run stays as it is.
    assert.partialDeepStrictEqual(classWith({ amiAlias: 'al2023@latest' }, VARIABLES), pinned('al2023@latest'))
    assert.partialDeepStrictEqual(classWith({ amiAlias: 'al2023@v20260101' }, without), pinned('al2023@v20260101'))
    const own = { amiSelectorTerms: [{ id: 'ami-1' }] }
    assert.partialDeepStrictEqual(classWith({ nodeClass: own }, without), { spec: own })
  })
})

describe('a stage that watches a path', () => {
  it('is refused when the path is none', () => {
    const checks: AddonStage['checks'] = [
      { type: 'Condition', name: 'a', apiVersion: 'v1', kind: 'Pod', path: 'status..phase', equals: 'x' },
    ]
    assert.partialDeepStrictEqual(renderStage(aStageInput({ stage: { ...shippedStage('node-pool'), checks } })), {
      is: 'refused',
      code: 'CAPT_HEALTH_PATH_INVALID',
    })
  })
})

describe('every row of the matrix', () => {
  const compiled = new Map<string, Promise<Map<string, CompiledSchema>>>()
  const schemasOf = (version: string) => {
    if (!compiled.has(version)) compiled.set(version, compile(version))
    return compiled.get(version)!
  }
  async function compile(version: string): Promise<Map<string, CompiledSchema>> {
    const schemas = new Map<string, CompiledSchema>()
    for (const definition of await loadFluxDefinitions(version)) {
      const spec = definition['spec'] as unknown as {
        group: string
        names: { kind: string }
        versions: { name: string; schema: { openAPIV3Schema: JsonSchema } }[]
      }
      for (const one of spec.versions)
        schemas.set(`${spec.group}/${one.name} ${spec.names.kind}`, compileSchema(one.schema.openAPIV3Schema))
    }
    return schemas
  }

  for (const { line } of eksRows()) {
    const pairs = fluxVersions
      .filter((flux) => supports('flux', flux, line))
      .flatMap((flux) => versionsFor('karpenter', line).map((version) => [flux, version] as const))
    if (pairs.length === 0) continue
    it(`renders for Kubernetes ${line} what the CRDs of that Flux accept (${pairs.length} pairs)`, async () => {
      for (const [flux, version] of pairs) {
        const schemas = await schemasOf(flux)
        const parts = karpenter({ versions: { flux, karpenter: version } })
        for (const manifest of parts.flatMap((part) => part.manifests)) {
          if (manifest.kind === 'Namespace') continue
          const schema = schemas.get(`${manifest.apiVersion} ${manifest.kind}`)
          assert.ok(schema, `Flux ${flux} does not serve ${manifest.apiVersion} ${manifest.kind}`)
          const value = JSON.parse(JSON.stringify(manifest)) as Json
          assert.deepEqual(schema.prune(value).unknown, [], `Flux ${flux}, Karpenter ${version}`)
          assert.deepEqual(schema.validate(schema.applyDefaults(value)), [])
        }
      }
    })
  }

  it('is served by definitions that themselves are sound', async () => {
    for (const version of fluxVersions) {
      for (const definition of (await loadFluxDefinitions(version)) as readonly JsonObject[])
        assert.ok(isPlainObject(definition['spec']))
      assert.ok((await schemasOf(version)).has('helm.toolkit.fluxcd.io/v2 HelmRelease'))
    }
  })
})
