// Every row of the version matrix on a real API server: what capt renders for that Flux and that Karpenter is sent to the
// CRDs of that row with strict validation, so that no field is unknown, none is refused and nothing is worth a warning.
// Needs CAPT_REAL_KUBECONFIG: a kubeconfig of a throw-away server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { eksRows, fluxVersions, loadFluxDefinitions, supportRows, supports, versionsFor } from '#catalog'
import { parseKindRef } from '../../../src/controllers/addon-delivery/manifests/kind-ref.ts'
import type { Manifest } from '../../../src/controllers/addon-delivery/manifests/manifests.ts'
import { shippedStage } from '../../../src/controllers/addon-delivery/observed-examples.ts'
import { partsOf, VARIABLES } from '../../../src/controllers/addon-delivery/stages/render/input-examples.ts'
import type { StageInput } from '../../../src/controllers/addon-delivery/stages/render/rendered.ts'
import { definitionsOf, KARPENTER_LINES, neighboursOf } from '../support/karpenter-definitions.ts'
import { openServer, type Server } from '../support/kube-request.ts'
import { until } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { prove } from '../support/proofs.ts'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const FLUX_NAMESPACE = '/api/v1/namespaces/flux-system'
const PROBE = { url: 'oci://public.ecr.aws/karpenter/karpenter', tag: '1.14.1' }

let server: Server
before(() => {
  const path = process.env['CAPT_REAL_KUBECONFIG']
  assert.ok(path, 'set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')
  server = openServer(path)
})
after(async () => {
  await server?.call('DELETE', FLUX_NAMESPACE)
  await until('the namespace is gone', async () => (await server.call('GET', FLUX_NAMESPACE)).status === 404, 120)
  server?.close()
})

describe('the version matrix', () => {
  it('has the CRDs of every Karpenter that can be installed', () => {
    const installable = supportRows('karpenter').filter((row) => row.installable)
    assert.deepEqual(
      installable.map(({ line }) => line),
      KARPENTER_LINES,
    )
    assert.deepEqual(fluxVersions.toSorted(), installableFlux().toSorted())
  })

  for (const version of fluxVersions) {
    describe(`Flux ${version}`, () => {
      let bundle: readonly Manifest[]
      before(async () => {
        bundle = render('flux', { flux: version }, { definitions: await loadFluxDefinitions(version), probe: PROBE })
        await install(bundle.filter(isDefinition) as unknown as Loose[])
      })
      after(() => remove(bundle.filter(isDefinition) as unknown as Loose[]))

      it('is delivered as an API server takes it, with everything set too', async () => {
        const [namespace] = bundle.filter(({ kind }) => kind === 'Namespace')
        const made = await server.call('POST', '/api/v1/namespaces?fieldValidation=Strict', namespace)
        assert.ok([201, 409].includes(made.status), made.body['message'] as string)
        const given = [...bundle, ...(await everythingSet(version))]
        const rest = given.filter((manifest) => manifest !== namespace && !isDefinition(manifest))
        for (const manifest of rest) await accepts(manifest, `Flux ${version}`)
        assert.ok(rest.some(({ kind }) => kind === 'OCIRepository') && rest.some(({ kind }) => kind === 'Job'))
        prove('version matrix', version, 'Flux bundle accepted, strict', `${rest.length} objects`)
      })

      it('takes the release of every Karpenter it meets', async () => {
        const versions = partnersOf(version)
        assert.ok(versions.length > 0)
        for (const karpenter of versions)
          for (const identity of ['podIdentity', 'irsa'])
            for (const manifest of render('karpenter', { flux: version, karpenter }, {}, identity))
              await accepts(manifest, `Flux ${version}, Karpenter ${karpenter}, ${identity}`)
        prove('version matrix', version, 'Flux takes the Karpenter release of every pair', `${versions.length} pairs`)
      })

      it('does not take a field that it does not know', async () => {
        const [release] = render('karpenter', { flux: version, karpenter: '1.14.1' }).filter(isRelease)
        const broken = structuredClone(release) as unknown as Loose
        broken['spec'].install.unheardOf = true
        const { status, body } = await send(broken as unknown as Manifest)
        assert.equal(status, 400)
        assert.match(body['message'] as string, /unknown field "spec\.install\.unheardOf"/)
      })
    })
  }

  for (const line of KARPENTER_LINES) {
    it(`Karpenter ${line} takes the node pool`, async () => {
      const [nodeClass, nodePool] = renderPool(line)
      const { pool, nodeClass: definition } = definitionsOf(line)
      const definitions = definition ? [pool, definition] : [pool]
      await install(definitions)
      await accepts(nodePool, `Karpenter ${line}`)
      if (definition) await accepts(nodeClass, `Karpenter ${line}`)
      await remove(definitions)
      // Where the class of a line cannot be had, its neighbours on both sides take the very same object.
      if (!definition) for (const other of neighboursOf(line)) assert.deepEqual(nodeClass, renderPool(other)[0])
      const how = definition ? '' : `EC2NodeClass: by ${neighboursOf(line).join(' and ')}`
      prove('version matrix', line, 'Karpenter takes the default pool, strict', how)
    })
  }
})

const isDefinition = ({ kind }: Manifest) => kind === 'CustomResourceDefinition'
const isRelease = ({ kind }: Manifest) => kind === 'HelmRelease'

function installableFlux(): string[] {
  return supportRows('flux')
    .filter((row) => row.installable)
    .map((row) => row.newest)
}

/** Every Karpenter that shares a Kubernetes version with this Flux. */
function partnersOf(flux: string): string[] {
  const lines = eksRows().map(({ line }) => line)
  const shared = lines.filter((line) => supports('flux', flux, line))
  return [...new Set(shared.flatMap((line) => versionsFor('karpenter', line)))]
}

function renderPool(line: string): readonly [nodeClass: Manifest, nodePool: Manifest] {
  const karpenter = supportRows('karpenter').find((row) => row.line === line && row.installable)!.newest
  const [nodeClass, nodePool] = render('node-pool', { karpenter })
  assert.deepEqual([nodeClass?.kind, nodePool?.kind], ['EC2NodeClass', 'NodePool'])
  return [nodeClass!, nodePool!]
}

function render(
  stage: string,
  versions: { readonly flux?: string; readonly karpenter?: string },
  over: Partial<StageInput> = {},
  identity = 'podIdentity',
): readonly Manifest[] {
  return partsOf({
    stage: shippedStage(stage),
    variables: { ...VARIABLES, KARPENTER_IDENTITY: identity },
    versions: { flux: '2.9.5', karpenter: '1.14.1', ...versions },
    ...over,
  }).flatMap((part) => part.manifests)
}

async function everythingSet(version: string): Promise<readonly Manifest[]> {
  const flux = {
    networkPolicy: false,
    existing: 'Adopt',
    tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
    imageRegistry: 'mirror.example/fluxcd',
    imageDigests: { 'helm-controller': `sha256:${'a'.repeat(64)}` },
    readinessJob: { image: 'registry.example/kubectl:1.35', deadline: '5m' },
  } as const
  const definitions = await loadFluxDefinitions(version)
  return render('flux', { flux: version }, { stage: { ...shippedStage('flux'), flux }, definitions }).filter(
    ({ kind }) => kind !== 'Namespace',
  )
}

/** Flux chose this name; objects must carry it all the same. */
const REMARKS =
  /^299 - "metadata\.finalizers: \\"finalizers\.fluxcd\.io\\": prefer a domain-qualified finalizer name[^"]*"$/

/** The server says yes to every field, says nothing else, and keeps nothing. */
async function accepts(manifest: Manifest, row: string): Promise<void> {
  const { status, body, warnings } = await send(manifest)
  const what = `${row}: ${manifest.kind} ${manifest.metadata.name}`
  assert.equal(status, 201, `${what}: ${JSON.stringify(body['message'])}`)
  assert.equal(warnings.replace(REMARKS, ''), '', what)
}

const send = (manifest: Manifest) =>
  server.call('POST', `${pathOf(manifest)}?dryRun=All&fieldValidation=Strict&fieldManager=capt`, manifest)

function pathOf(manifest: Manifest): string {
  const { group, version, plural, namespaced } = parseKindRef(manifest)
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return namespaced ? `${root}/namespaces/${manifest.metadata['namespace']}/${plural}` : `${root}/${plural}`
}

const servedPaths = ({ spec }: Loose): string[] =>
  spec.versions
    .filter((version: Loose) => version['served'])
    .map((version: Loose) => `/apis/${spec.group}/${version['name']}/${spec.names.plural}?limit=1`)

/** New CRDs, never changed ones: a change reaches the server's handlers at a moment that nobody announces. */
async function install(definitions: readonly Loose[]): Promise<void> {
  await remove(definitions)
  for (const definition of definitions) {
    const { status, body } = await server.call('POST', `${CRDS}?fieldValidation=Strict`, definition)
    assert.equal(status, 201, `${definition['metadata'].name}: ${JSON.stringify(body)}`)
  }
  for (const path of definitions.flatMap(servedPaths))
    await until(`${path} is served`, async () => (await server.call('GET', path)).status === 200)
}

async function remove(definitions: readonly Loose[]): Promise<void> {
  for (const { metadata } of definitions) await server.call('DELETE', `${CRDS}/${metadata.name}`)
  for (const { metadata } of definitions) {
    const path = `${CRDS}/${metadata.name}`
    await until(`${metadata.name} is gone`, async () => (await server.call('GET', path)).status === 404)
  }
  for (const path of definitions.flatMap(servedPaths))
    await until(`${path} is no longer served`, async () => (await server.call('GET', path)).status === 404)
}
