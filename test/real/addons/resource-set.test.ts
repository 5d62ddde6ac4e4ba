// The table of cases that the stand-in for ClusterResourceSet is held to, run against the real controller: what the
// table says was measured, and stays true for the versions of Cluster API that we meet.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { keyedHash } from '#lib'
import { RESOURCE_SET_CASES, type ResourceSetCase } from '../../../src/core/resource-set/cases.ts'
import { type Api, conditionOf, openApi } from '../support/api.ts'
import { VERSIONS } from '../support/lab.ts'
import type { Loose } from '../support/loose.ts'
import { contractOf, eventually, startWorld, type World } from '../support/world.ts'

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))
const encode = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))

for (const version of VERSIONS.capi) {
  describe(`ClusterResourceSet of Cluster API ${version}`, () => {
    let world: World
    let workload: Api
    before(async () => {
      world = await startWorld(version, { manager: false })
      workload = openApi(world.workload)
      await bringUpCluster(world)
    })
    after(async () => {
      workload?.close()
      await world?.stop()
    })

    for (const [number, one] of RESOURCE_SET_CASES.entries()) {
      it(one.name, async () => {
        const name = `case-${number}`
        const { api, kinds } = world
        for (const object of one.before ?? []) await workload.create(kinds.config, configMap(object))
        for (const { kind, name: source, type, data } of one.sources) {
          const values = data ? { data: kind === 'Secret' ? encode(data) : data } : {}
          const object = {
            apiVersion: 'v1',
            kind,
            metadata: { name: `${name}-${source}`, namespace: 'default' },
            ...(type ? { type } : {}),
            ...values,
          }
          await api.create(kind === 'Secret' ? kinds.secret : kinds.config, object)
        }
        const refs = one.resources ?? one.sources.map(({ kind, name: source }) => ({ kind, name: source }))
        const resources = refs.map((ref) => ({ ...ref, name: `${name}-${ref.name}` }))
        const spec = { clusterSelector: { matchLabels: { want: 'yes' } }, strategy: one.strategy, resources }
        await api.create(kinds.set, {
          apiVersion: `addons.cluster.x-k8s.io/${contractOf(version)}`,
          kind: 'ClusterResourceSet',
          metadata: { name, namespace: 'default' },
          spec,
        })
        if (one.change) {
          await eventually(
            world,
            'the first content is applied',
            async () => (await entries(world, name))[0]?.['applied'] === true,
          )
          await api.patch(kinds.config, `${name}-${one.sources[0]!.name}`, { data: one.change })
          // An ignored change has no event to wait for.
          if (one.strategy === 'ApplyOnce') await pause(2)
        }
        let difference = ''
        await eventually(world, `what the table says (${name})`, async () => {
          difference = await compare(world, workload, name, one)
          return difference === ''
        }).catch((error: unknown) => assert.fail(`${difference}\n${String(error).slice(0, 300)}`))
        await cleanUp(world, workload, name, one)
      })
    }
  })
}

const configMap = ({
  name,
  data = {},
  labels = {},
  finalizers = [],
}: NonNullable<ResourceSetCase['before']>[number]): Loose =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', labels, finalizers }, data }) as Loose

/** A Cluster that core takes for provisioned and reaches by its kubeconfig; nobody reconciles its infrastructure. */
async function bringUpCluster({ api, kinds, workload, version }: World): Promise<void> {
  const infra = {
    apiVersion: kinds.infra.apiVersion,
    kind: kinds.infra.kind,
    metadata: { name: 'demo', namespace: 'default' },
    spec: { region: 'eu-west-1', existingVpcId: 'vpc-0123456789abcdef0' },
  }
  await api.create(kinds.infra, infra as unknown as Loose)
  const v1beta2 = contractOf(version) === 'v1beta2'
  const ref = v1beta2
    ? { apiGroup: kinds.infra.group, kind: kinds.infra.kind, name: 'demo' }
    : { apiVersion: kinds.infra.apiVersion, kind: kinds.infra.kind, name: 'demo', namespace: 'default' }
  const labels = { 'cluster.x-k8s.io/cluster-name': 'demo' }
  await api.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'demo-kubeconfig', namespace: 'default', labels },
    type: 'cluster.x-k8s.io/secret',
    data: { value: Buffer.from(workload.kubeconfigText).toString('base64') },
  } as unknown as Loose)
  await api.create(kinds.cluster, {
    apiVersion: `cluster.x-k8s.io/${contractOf(version)}`,
    kind: 'Cluster',
    metadata: { name: 'demo', namespace: 'default', labels: { want: 'yes' } },
    spec: {
      infrastructureRef: ref,
      controlPlaneEndpoint: { host: '127.0.0.1', port: Number(new URL(workload.url).port) },
    },
  } as unknown as Loose)
  await api.patchStatus(kinds.infra, 'demo', { ready: true, initialization: { provisioned: true } })
}

async function entries({ api, kinds }: World, set: string): Promise<readonly Loose[]> {
  const binding = await api.find(kinds.binding, 'demo')
  const own = (binding?.['spec'].bindings ?? []).find((one: Loose) => one['clusterResourceSetName'] === set)
  return own?.['resources'] ?? []
}

/** What differs from the table, in words; empty when nothing does. */
async function compare(world: World, workload: Api, set: string, one: ResourceSetCase): Promise<string> {
  const content = (name: string) =>
    one.change && one.strategy === 'Reconcile'
      ? one.change
      : (one.sources.find((source) => source.name === name)?.data ?? {})
  const wanted = one.binding.map(({ name, applied, hash }) => ({
    name: `${set}-${name}`,
    applied,
    hash: hash === 'none' ? '' : keyedHash(content(name)),
  }))
  const found = (await entries(world, set)).map((entry) => ({
    name: entry['name'],
    applied: entry['applied'] === true,
    hash: entry['hash'] ?? '',
  }))
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    return `binding: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`
  const live = await world.api.get(world.kinds.set, set)
  const condition = conditionOf(live, 'ResourcesApplied')
  const status = condition?.['status']
  if (status !== one.condition?.status)
    return `condition: ${JSON.stringify(condition)}, not ${JSON.stringify(one.condition)}`
  if (one.condition && contractOf(world.version) === 'v1beta2' && condition?.['reason'] !== one.condition.reason)
    return `reason: ${condition?.['reason']}, not ${one.condition.reason}`
  for (const { name, gone, data, labels, finalizers } of one.after) {
    const object = await workload.find(world.kinds.config, name)
    if (gone && object) return `${name} is there`
    if (gone) continue
    const actual = {
      data: object?.['data'] ?? {},
      labels: object?.metadata.labels ?? {},
      finalizers: object?.metadata.finalizers ?? [],
    }
    const expected = {
      data: data ?? actual.data,
      labels: labels ?? actual.labels,
      finalizers: finalizers ?? actual.finalizers,
    }
    if (JSON.stringify(actual) !== JSON.stringify(expected))
      return `${name}: ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`
  }
  return ''
}

async function cleanUp({ api, kinds }: World, workload: Api, set: string, one: ResourceSetCase): Promise<void> {
  await api.remove(kinds.set, set)
  for (const { kind, name } of one.sources)
    await api.remove(kind === 'Secret' ? kinds.secret : kinds.config, `${set}-${name}`)
  for (const name of ['a', 'b', 'c']) {
    if (!(await workload.find(kinds.config, name))) continue
    await workload.patch(kinds.config, name, { metadata: { finalizers: null } })
    await workload.remove(kinds.config, name)
  }
}
