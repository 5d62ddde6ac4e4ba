// The table of what core's ClusterResourceSet controller does, traps included, held to the real controller. The stand-in of
// the embedded home is held to the same table by its unit test, so both are the same.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { CAPTCluster, ConfigMapKind, NamespaceKind, SecretKind } from '#api'
import { keyedHash } from '#lib'
import { type CaseSource, RESOURCE_SET_CASES, type ResourceSetCase } from '../../src/core/resource-set-cases.ts'
import { type Api, conditionOf, kindsOf, openApi } from './api.ts'
import { type Capi, type Kube, startCapi, startKube, until, VERSIONS } from './lab.ts'
import type { Loose } from './loose.ts'
import { clusterManifests, toText } from './manifests.ts'
import { prove } from './proofs.ts'
import { contractOf, installCrds } from './world.ts'

for (const version of VERSIONS.capi) {
  describe(`the ClusterResourceSet controller of Cluster API ${version}`, () => {
    const contract = contractOf(version)
    const kinds = kindsOf(contract)
    let [management, workload] = [] as unknown as [Kube, Kube]
    let capi: Capi
    let [home, there] = [] as unknown as [Api, Api]

    before(async () => {
      management = await startKube({ name: 'sets' })
      workload = await startKube({ name: 'sets-workload' })
      capi = await startCapi(management, version)
      installCrds(management)
      home = openApi(management)
      there = openApi(workload)
      await makeCluster()
    })
    after(async () => {
      home?.close()
      there?.close()
      await capi?.stop()
      await workload?.stop()
      await management?.stop()
    })

    /** A network that somebody else manages and a kubeconfig: all that the controller asks for. */
    async function makeCluster(): Promise<void> {
      const kubeconfig = {
        metadata: {
          name: 'demo-kubeconfig',
          namespace: 'default',
          labels: { 'cluster.x-k8s.io/cluster-name': 'demo' },
        },
        type: 'cluster.x-k8s.io/secret',
        stringData: { value: workload.kubeconfigText },
      }
      await home.create(SecretKind, { apiVersion: 'v1', kind: 'Secret', ...kubeconfig })
      const manifests = clusterManifests({
        name: 'demo',
        infra: { existingVpcId: 'vpc-0123', vpcTemplateRef: null, vpcConfig: null },
        infraAnnotations: { 'cluster.x-k8s.io/managed-by': 'the test' },
      }).filter(({ kind }) => kind !== 'CAPTControlPlane')
      for (const object of manifests) {
        delete object['spec'].controlPlaneRef
        if (object['kind'] === 'Cluster')
          object['spec'].controlPlaneEndpoint = { host: '127.0.0.1', port: workload.port }
      }
      management.kubectl(['apply', '-f', '-'], toText(manifests))
      const ready = { ready: true, initialization: { provisioned: true } }
      await until('core owns the network', async () =>
        Boolean((await home.get(CAPTCluster, 'demo'))['metadata'].ownerReferences),
      )
      await home.patchStatus(CAPTCluster, 'demo', ready)
      await until('core is connected', async () => isConnected(await home.get(kinds.cluster, 'demo')), 90)
    }

    for (const [index, one] of RESOURCE_SET_CASES.entries()) {
      it(one.name, async () => {
        // What the case makes has a namespace of its own in the workload, and names of its own at home.
        const place = `case-${index}`
        const at = (text: string) =>
          text
            .replaceAll('namespace: default', `namespace: ${place}`)
            .replaceAll('"namespace":"default"', `"namespace":"${place}"`)
        const placed = (data: CaseSource['data']) =>
          data && Object.fromEntries(Object.entries(data).map(([key, text]) => [key, at(text)]))
        const named = (name: string) => `${place}-${name}`
        await there.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: place } })
        for (const { name, data = {}, labels = {}, finalizers = [] } of one.before ?? [])
          await there.create(ConfigMapKind, {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name, namespace: place, labels, finalizers },
            data,
          })
        for (const source of one.sources)
          await home.create(
            source.kind === 'Secret' ? SecretKind : ConfigMapKind,
            toSource(source, named(source.name), placed(source.data)),
          )
        await home.patch(kinds.cluster, 'demo', { metadata: { labels: { [place]: 'yes' } } })
        await home.create(kinds.set, toSet(one, place, named))

        const settled = async () => {
          const found = await look(place)
          return (
            JSON.stringify(found.condition) === JSON.stringify(one.condition) &&
            JSON.stringify(found.entries.map(({ name, applied }: Loose) => [name, applied])) ===
              JSON.stringify(one.binding.map(({ name, applied }) => [named(name), applied]))
          )
        }
        await until('the controller has done what it does', settled, 30).catch(() => undefined)
        if (one.change) {
          await home.patch(ConfigMapKind, named(one.sources[0]!.name), { data: placed(one.change) })
          const seen = (await look(place)).entries
          if (one.strategy === 'Reconcile')
            await until('it is applied again', async () => (await look(place)).entries[0]?.hash !== seen[0]?.hash, 30)
          else await new Promise((resolve) => setTimeout(resolve, 3000))
          await until('it has settled again', settled, 30)
        }

        const { condition, entries } = await look(place)
        assert.deepEqual(condition, one.condition)
        const dataOf = (name: string) => placed(one.sources.find((source) => source.name === name)?.data) ?? {}
        const last = one.change && one.strategy === 'Reconcile' ? placed(one.change) : undefined
        assert.deepEqual(
          entries.map(({ name, applied, hash = '' }: Loose) => ({ name, applied, hash })),
          one.binding.map(({ name, applied, hash }) => ({
            name: named(name),
            applied,
            hash: hash === 'none' ? '' : keyedHash(last ?? dataOf(name)),
          })),
        )
        for (const { name, gone, data, labels, finalizers } of one.after) {
          const live = await there.find(ConfigMapKind, name, place)
          if (gone) {
            assert.equal(live, undefined, `${name} is not there`)
            continue
          }
          assert.ok(live, `${name} is there`)
          if (data) assert.deepEqual(live['data'] ?? {}, data)
          if (labels) assert.deepEqual(live['metadata'].labels ?? {}, labels)
          if (finalizers) assert.deepEqual(live['metadata'].finalizers ?? [], finalizers)
        }
      })
    }

    async function look(set: string): Promise<{ condition: Loose | undefined; entries: Loose[] }> {
      const { status } = (await home.get(kinds.set, set)) as Loose
      const shown = contract === 'v1beta1' ? { status: status?.v1beta2 } : { status }
      const found = conditionOf(shown, 'ResourcesApplied')
      const binding = await home.find(kinds.binding, 'demo')
      const entry = binding?.['spec'].bindings?.find((item: Loose) => item['clusterResourceSetName'] === set)
      return {
        condition: found && { status: found['status'], reason: found['reason'] },
        entries: entry?.resources ?? [],
      }
    }

    it('was asked about every line of the table', () => {
      prove(
        'ClusterResourceSet',
        version,
        'the table that the stand-in is held to',
        `${RESOURCE_SET_CASES.length} cases`,
      )
    })

    const toSet = (one: ResourceSetCase, name: string, named: (name: string) => string): Loose => ({
      apiVersion: `${kinds.set.group}/${kinds.set.version}`,
      kind: 'ClusterResourceSet',
      metadata: { name, namespace: 'default' },
      spec: {
        clusterSelector: { matchLabels: { [name]: 'yes' } },
        strategy: one.strategy,
        resources: (one.resources ?? one.sources).map((source) => ({ kind: source.kind, name: named(source.name) })),
      },
    })
  })
}

function toSource({ kind, type }: CaseSource, name: string, data: CaseSource['data']): Loose {
  const content = data === undefined ? {} : kind === 'Secret' ? { stringData: data } : { data }
  return { apiVersion: 'v1', kind, metadata: { name, namespace: 'default' }, ...(type ? { type } : {}), ...content }
}

function isConnected(cluster: Loose): boolean {
  const { conditions = [], v1beta2 } = cluster['status'] ?? {}
  return [...conditions, ...(v1beta2?.conditions ?? [])].some(
    (item: Loose) => item['type'] === 'RemoteConnectionProbe' && item['status'] === 'True',
  )
}
