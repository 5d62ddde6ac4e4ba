// A change of a pipeline reaches the clusters of a home in waves, by the shipped program and kubectl: it stops at the first unhealthy one
// and names those that it did not reach, goes on over a kill, and starts again with the fix. A new cluster gets the newest revision at
// once.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  AddonDelivery,
  AddonPipeline,
  CAPTControlPlane,
  type ConfigMap,
  ConfigMapKind,
  conditionOf,
  ROLLED_OUT,
  readManifests,
  toYamlDocuments,
  UP_TO_DATE,
} from '#api'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { type Story, storyOf } from '../../support/golden/story.ts'
import { kubectlPath, type Shipped, shippedProgram, type UpHome, waitUntil } from '../support.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const KEY = { namespace: 'default', name: 'fleet' }
const FLEET = ['dev', 'held', 'prod-a', 'prod-b'] as const
const manifest = (text: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fleet\n  namespace: default\ndata:\n  text: "${text}"\n`

/** One stage that is healthy when what arrives in the cluster is not `bad`. */
const pipeline = (text: string, ok = text) => ({
  apiVersion: AddonPipeline.apiVersion,
  kind: AddonPipeline.kind,
  metadata: KEY,
  spec: {
    clusterSelector: { matchLabels: { fleet: 'yes' } },
    variables: { TEXT: text },
    rollout: {
      order: [
        { key: 'env', value: 'dev' },
        { key: 'env', value: 'prod' },
      ],
      maxConcurrent: 1,
      soak: '2s',
    },
    stages: [
      {
        name: 'settings',
        resources: [{ kind: 'ConfigMap', name: 'fleet-manifests' }],
        checks: [
          {
            type: 'Condition',
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: 'fleet',
            namespace: 'default',
            path: 'data.text',
            equals: ok,
          },
        ],
        timeout: '3s',
        retry: { limit: 0 },
      },
    ],
  },
})

describe('a change of a pipeline', { skip: !kubectlPath && 'kubectl is not installed', timeout: 600_000 }, () => {
  let shipped: Shipped
  let home: UpHome
  let connection: Connection
  let story: Story
  const at = () => ['--kubeconfig', home.kubeconfig]
  const open = async () => {
    connection = connect(await loadKubeconfig({ path: home.kubeconfig }))
  }
  const write = (name: string, objects: readonly object[]) => {
    writeFileSync(join(shipped.folder, name), toYamlDocuments(objects))
    return name
  }
  const addCluster = (name: string, env: string) =>
    shipped.captOk(['apply', '-f', write(`${name}.yaml`, clusterOf(name, env)), ...at()])
  const said = async (...args: readonly string[]) => {
    const { code, out, err } = await story.capt(args)
    assert.equal(code, 0, out + err)
    return out
  }
  const kubectl = async (...args: readonly string[]) => {
    const { code, out, err } = await story.kubectl(args, { timeoutMs: 130_000 })
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`)
    return out
  }
  const found = async () => (await connection.objects.get<AddonPipeline>(AddonPipeline, KEY))!
  const delivery = async (cluster: string) =>
    (await connection.objects.get<AddonDelivery>(AddonDelivery, { namespace: 'default', name: `${cluster}.fleet` }))!
  const textIn = async (cluster: string) => {
    const path = join(shipped.folder, `${cluster}.kubeconfig`)
    writeFileSync(path, await shipped.captOk(['kubeconfig', cluster, ...at()]))
    const workload = connect(await loadKubeconfig({ path }))
    try {
      return (await workload.objects.get<ConfigMap>(ConfigMapKind, KEY))?.data?.['text']
    } finally {
      await workload.close()
    }
  }
  const texts = async (...clusters: readonly string[]) => await Promise.all(clusters.map(textIn))
  const until = async (what: string, test: (one: AddonPipeline) => boolean) => {
    let last: AddonPipeline | undefined
    const check = async () => {
      last = await found()
      return test(last)
    }
    await waitUntil(what, check, 120_000, () => JSON.stringify(last?.status?.rollout))
  }
  const pause = (name: string, paused: boolean) =>
    kubectl('patch', 'cluster', name, '--type', 'merge', '-p', JSON.stringify({ spec: { paused } }))
  const rolledOut = (one: AddonPipeline) => conditionOf(one, ROLLED_OUT)
  const clusterOf = (name: string, env: string) => {
    const example = readFileSync(join(ROOT, 'examples', 'simulation.yaml'), 'utf8')
    const text = example.replace(/^ {2}version: .*$/m, '  version: "1.35"')
    const objects = readManifests(text, 'simulation.yaml').map(({ object }) => object)
    const own = objects
      .filter(({ kind }) => kind !== 'WorkspaceTemplate')
      .map((object) => JSON.parse(JSON.stringify(object).replaceAll('"demo"', JSON.stringify(name))))
    const labels = {
      fleet: 'yes',
      env,
      'capt.appthrust.com/addon-pipeline': 'fleet',
      'capt.appthrust.com/simulation': 'workload',
    }
    return [
      ...objects.filter(({ kind }) => kind === 'WorkspaceTemplate'),
      ...own.filter(({ kind }) => kind !== 'MachinePool' && kind !== 'CAPTMachinePool'),
    ].map((object) => (object.kind === 'Cluster' ? { ...object, metadata: { ...object.metadata, labels } } : object))
  }

  before(async () => {
    shipped = shippedProgram()
    // How many have a delivery by then is a matter of time.
    const steady = (text: string) => text.replace(/^(fleet +)\d+ +\d+ +/gm, '$1N N ')
    story = storyOf(shipped, () => home.kubeconfig, steady)
    home = await shipped.up('home', ['--engine', 'simulated'])
    await open()
    const data = { 'fleet.yaml': manifest('${TEXT}') }
    const source = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...KEY, name: 'fleet-manifests' }, data }
    await kubectl('apply', '-f', write('first.yaml', [source, pipeline('one')]))
    for (const name of FLEET) await addCluster(name, name.split('-')[0]!)
    await waitUntil('every cluster has the first revision', async () => {
      const ready = await Promise.all(
        FLEET.map(async (name) => conditionOf((await delivery(name)) ?? ({} as AddonDelivery), 'Ready')?.status),
      )
      return ready.every((status) => status === 'True')
    })
    story.note('capt apply has added four clusters with the label fleet=yes')
  })
  after(async () => {
    await connection?.close()
    await shipped?.end()
  })

  it('stops at the first unhealthy cluster, and names those that it did not reach', async () => {
    await pause('held', true)
    await kubectl('wait', '--for=condition=Paused', 'addondelivery/held.fleet', '--timeout=120s')
    await kubectl('apply', '-f', write('bad.yaml', [pipeline('bad', 'good')]))
    const stopped = '--for=jsonpath={.status.rollout.stopped.cluster}=dev'
    await kubectl('wait', stopped, 'addonpipeline/fleet', '--timeout=120s')
    const { rollout } = (await found()).status!
    assert.equal(rollout?.stopped?.cluster, 'dev')
    assert.deepEqual([rollout?.notReached, rollout?.paused], [['prod-a', 'prod-b'], ['held']])
    assert.equal(rolledOut(await found())?.reason, 'WavesStopped')
    assert.deepEqual(await texts('dev', 'held', 'prod-a', 'prod-b'), ['bad', 'one', 'one', 'one'])
    for (const shown of [await said('get', 'apipe', 'fleet'), await kubectl('get', 'addonpipeline', 'fleet')])
      assert.match(shown, /Cluster dev is not healthy: .*Not reached: prod-a, prod-b/)
    const deliveries = await kubectl('get', 'addondeliveries')
    assert.match(deliveries, /^dev\.fleet +dev +fleet +False +False +True +Not healthy/m)
    assert.match(await said('describe', 'apipe/fleet'), /WavesStopped[\s\S]*Not reached: prod-a, prod-b/)
    assert.match(await said('describe', 'cluster', 'prod-a'), /a change of the pipeline waits for its wave/)
    assert.equal(conditionOf(await delivery('prod-a'), UP_TO_DATE)?.reason, 'WaitingForWave')
    const messages = ['-o', 'jsonpath={range .items[*]}{.message}{"\\n"}{end}']
    const stops = await kubectl('get', 'events', '--field-selector', 'reason=WavesStopped', ...messages)
    assert.equal(stops.trim().split('\n').length, 1)
    assert.match(stops, /^Cluster dev is not healthy: .*Not reached: prod-a, prod-b\. Repair it/)
  })

  it('is not joined by an upgrade of the fleet, which stops at the same cluster', async () => {
    const args = [
      '-l',
      'fleet=yes',
      '--wave-label',
      'env',
      '--kubernetes',
      '1.36',
      '--soak',
      '0s',
      '--yes',
      '--wait',
      '1m',
    ]
    const { code, out, err } = await story.capt(['upgrade', ...args], { timeoutMs: 120_000 })
    assert.equal(code, 1, out + err)
    assert.match(err, /dev: Stopped: AddonDelivery dev\.fleet: /)
    assert.match(out, /Not reached: held, prod-a, prod-b/)
    const versions: string[] = []
    for await (const { spec } of connection.objects.list<CAPTControlPlane>(CAPTControlPlane, { namespace: 'default' }))
      versions.push(spec.version)
    assert.deepEqual(versions, ['1.35', '1.35', '1.35', '1.35'])
  })

  it('keeps the earlier revision whole while a cluster waits, and gives a new one the newest', async () => {
    const kept = (await found()).status?.revisions?.map(({ name }) => name)
    assert.equal(kept?.length, 2)
    assert.equal((await delivery('prod-a')).status?.revision, kept?.[1])
    await addCluster('fresh', 'prod')
    story.note('capt apply has added a cluster while the waves are stopped: fresh')
    await waitUntil('the new delivery', async () => (await delivery('fresh'))?.status?.revision === kept?.[0])
    assert.equal((await found()).status?.rollout?.stopped?.cluster, 'dev')
  })

  it('starts again with the fix, goes on over a kill, and ends with every cluster that is not paused', async () => {
    await kubectl('apply', '-f', write('good.yaml', [pipeline('good')]))
    await until('the first wave has begun', ({ status }) => status?.rollout?.stopped === undefined)
    await connection.close()
    await home.stop('SIGKILL')
    home = await shipped.up('home', ['--engine', 'simulated'])
    await open()
    story.note('capt up is killed during the first wave, and started again')
    await until('every wave', (one) => one.status?.rollout?.wave === 0)
    assert.deepEqual(await texts('dev', 'prod-a', 'prod-b', 'held'), ['good', 'good', 'good', 'one'])
    const condition = '{range .status.conditions[?(@.type=="RolledOut")]}{.reason}: {.message}{"\\n"}{end}'
    const message = await kubectl('get', 'addonpipeline', 'fleet', '-o', `jsonpath=${condition}`)
    assert.equal(message, 'ClustersPaused: Paused, with an earlier revision: held\n')
    const since = async (name: string) => Date.parse((await delivery(name)).status?.revisionSince ?? '')
    assert.ok((await since('prod-a')) - (await since('dev')) >= 2000, 'the soak time lies between the waves')
    assert.ok((await since('prod-b')) >= (await since('prod-a')), 'one at a time')
    await pause('held', false)
    await kubectl('wait', '--for=condition=RolledOut', 'addonpipeline/fleet', '--timeout=120s')
    assert.equal(rolledOut(await found())?.status, 'True')
    await kubectl('get', 'addonpipeline', 'fleet')
    await kubectl('wait', '--for=condition=Ready', 'addondeliveries', '--all', '--timeout=120s')
    await kubectl('get', 'addondeliveries')
    assert.deepEqual(await texts('held'), ['good'])
    assert.equal((await found()).status?.revisions?.length, 1)
  })

  it('is about objects that capt prints as kubectl reads them, also with a label that YAML 1.1 takes for a boolean', async () => {
    writeFileSync(
      join(shipped.folder, 'dev.yaml'),
      await shipped.captOk(['get', 'cluster', 'dev', '-o', 'yaml', ...at()]),
    )
    const { out, err } = await shipped.kubectl(home.kubeconfig, ['apply', '--dry-run=server', '-f', 'dev.yaml'])
    assert.match(out, /^cluster\.cluster\.x-k8s\.io\/dev (configured|unchanged) /, err)
  })

  it('reads as golden/story-waves.txt holds it', () => story.assertGolden('story-waves'))
})
