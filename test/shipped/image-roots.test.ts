// The images without a container engine, in roots of their own: the files that the Dockerfile copies and the Node of the base
// image, nothing else of this machine; read-only, user 65532, process id 1. The manager and the runs that it starts, by the
// command lines of the rendered manifests and with the service account of a pod, bring a cluster up in simulation.
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { type AnyObject, clusterKind, conditionOf, NamespaceKind, readManifests, type UnknownObject } from '#api'
import { emptyRoot, firstProcess, IMAGE_PATH, lacksRoots } from '../support/empty-root.ts'
import { type ClusterActor, type ContainerStart, startClusterActor } from '../support/engine/cluster-actor.ts'
import { type Image, readImage } from '../support/image.ts'
import { type ManagementCluster, startManagementCluster } from '../support/management-cluster.ts'
import { DEPLOYMENTS, objectsOf } from '../support/release-objects.ts'
import { findTool } from '../support/tools.ts'
import { freePort, waitUntil } from './support.ts'

const ROOT = join(import.meta.dirname, '../..')
const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const NAMESPACE = 'capt-system'
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const terraform = findTool('terraform')
const lack = terraform === undefined ? 'terraform is not installed' : lacksRoots()
const Cluster = clusterKind('v1beta2')

// A machine of CI that cannot do it fails here, by name; on others the tests are skipped by name.
it('can be given a root of its own on this machine', { skip: process.env['CI'] ? false : lack }, () =>
  assert.equal(lack, false),
)

describe('an image in an empty root', { skip: lack }, () => {
  let folder: string
  let cluster: ManagementCluster
  let env: Record<string, string>
  let actor: ClusterActor | undefined
  const started: ChildProcess[] = []

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'capt-roots-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  beforeEach(async () => {
    cluster = await startManagementCluster(
      mkdtempSync(join(folder, 'home-')),
      objectsOf('crds.yaml').filter(({ kind }) => kind === 'CustomResourceDefinition') as never,
    )
    const metadata = { name: NAMESPACE }
    await cluster.objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata })
    const { hostname, port } = new URL(cluster.server.url)
    env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }
  })
  afterEach(async () => {
    await actor?.stop()
    actor = undefined
    for (const child of started.splice(0)) if (!hasEnded(child)) process.kill(firstProcess(child), 'SIGKILL')
    await cluster.close()
  })

  const rootOf = (image: Image) =>
    emptyRoot(mkdtempSync(join(folder, 'root-')), image, {
      build: (path) => path.replace(/^\/src\//, `${ROOT}/`),
      terraform: () => terraform!,
    })

  /** What a kubelet projects into a pod of an account. */
  function serviceAccount(): string {
    const account = mkdtempSync(join(folder, 'account-'))
    const { token, caPem } = cluster.server
    for (const [name, text] of Object.entries({ token, 'ca.crt': caPem, namespace: NAMESPACE }))
      writeFileSync(join(account, name), text, { mode: 0o600 })
    return account
  }

  async function startManager(asset: string) {
    const [container] = DEPLOYMENTS.get(asset)!.spec.template.spec.containers
    const image = readImage(DOCKERFILE, /\/capt-runner:/.test(container.image) ? 'runner' : 'manager')
    const health = await freePort()
    const metrics = await freePort()
    const given = {
      ...image.env,
      ...env,
      ...Object.fromEntries(container.env.map(({ name, value }) => [name, value ?? NAMESPACE])),
    }
    // The network is that of this machine, so its ports are free ones; everything else is the manifest's.
    const args = container.args.map((word) =>
      word
        .replaceAll(/\$\((\w+)\)/g, (_match, name: keyof typeof given) => given[name]!)
        .replace('[::]:8081', `[::]:${health}`)
        .replace('[::]:8443', `[::]:${metrics}`),
    )
    const root = rootOf(image)
    const contents = root.contents()
    const child = root.start({
      command: [...(container.command ?? image.entrypoint), ...args],
      env: given,
      mounts: new Map([[ACCOUNT, serviceAccount()]]),
      temporary: container.volumeMounts.map(({ mountPath }) => mountPath),
    })
    started.push(child)
    return { child, root, contents, log: collect(child), health }
  }

  const collect = (child: ChildProcess) => {
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (text += data.toString()))
    return () => text
  }

  /** The example of a whole cluster, in the namespace that the manager runs in. */
  async function applyCluster(): Promise<void> {
    const text = readFileSync(join(ROOT, 'examples/simulation.yaml'), 'utf8')
    for (const { object } of readManifests(text, 'examples/simulation.yaml') as unknown as {
      object: UnknownObject
    }[]) {
      const [group = '', version = ''] = object.apiVersion.split('/')
      const plural = `${object.kind.toLowerCase()}s`
      const kind = { group, version, kind: object.kind, plural, namespaced: true }
      await cluster.objects.create(kind, {
        ...object,
        metadata: { ...object.metadata, namespace: NAMESPACE },
      } as AnyObject)
    }
  }

  it('has nothing of this machine but Node, runs as nobody in particular, and cannot be written to', async () => {
    const root = rootOf(readImage(DOCKERFILE, 'manager'))
    const questions = `
      const { readdirSync, writeFileSync } = require('node:fs')
      const attempt = (path) => { try { writeFileSync(path, ''); return 'written' } catch ({ code }) { return code } }
      console.log(JSON.stringify({
        user: [process.getuid(), process.getgid(), process.getgroups()],
        pid: process.pid,
        root: readdirSync('/').filter((name) => !name.startsWith('lib')).sort(),
        programs: readdirSync('/usr/local/bin'),
        files: ['app', 'usr', 'etc'].flatMap((name) => readdirSync('/' + name, { recursive: true }))
          .filter((path) => /(^|[/])(node_modules|src|sh|passwd)$/.test(path)),
        writes: ['/x', '/app/x', '/usr/local/bin/node', '/tmp/x'].map(attempt),
      }))`
    const child = root.start({ command: ['node', '-e', questions], env: {}, temporary: ['/tmp'] })
    started.push(child)
    const said = collect(child)
    await waitUntil('the answers', () => hasEnded(child), 60_000, said)
    assert.deepEqual(JSON.parse(said()), {
      user: [65_532, 65_532, [65_532]],
      pid: 1,
      root: ['app', 'dev', 'etc', 'proc', 'tmp', 'usr'],
      programs: ['node'],
      files: [],
      writes: ['EROFS', 'EROFS', 'EROFS', 'written'],
    })
  })

  for (const asset of ['install.yaml', 'install-local-engine.yaml'])
    it(`brings a cluster up as ${asset} starts it`, { timeout: 300_000 }, async () => {
      const runs: ContainerStart[] = []
      const runner = rootOf(readImage(DOCKERFILE, 'runner'))
      actor = startClusterActor({
        objects: cluster.objects,
        namespace: NAMESPACE,
        program: [],
        path: IMAGE_PATH,
        start: (container) => {
          runs.push(container)
          const { command, args, mounts } = container
          return runner.start({ command: [...command, ...args], env: container.env, mounts })
        },
      })
      const { child, root, contents, log, health } = await startManager(asset)
      const isReady = () =>
        fetch(`http://127.0.0.1:${health}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )
      await waitUntil('the manager', async () => (await isReady()) || hasEnded(child), 120_000, log)
      assert.ok(!hasEnded(child), log())
      await applyCluster()
      const key = { namespace: NAMESPACE, name: 'demo' }
      let last: AnyObject | undefined
      const isAvailable = async () => {
        last = await cluster.objects.get<AnyObject>(Cluster, key)
        return conditionOf(last!, 'Available')?.status === 'True'
      }
      const why = () => `${JSON.stringify(last)}\n${log().slice(-5000)}`
      await waitUntil('the cluster', async () => (await isAvailable()) || hasEnded(child), 200_000, why)
      assert.ok(await isAvailable(), why())
      // The lean image starts no process: its two runs are containers of the runner's image.
      const expected = asset === 'install.yaml' ? ['node /app/dist/program/capt.mjs runner'] : []
      assert.deepEqual([...new Set(runs.map(({ command, args }) => [...command, args[0]].join(' ')))], expected)
      process.kill(firstProcess(child), 'SIGTERM')
      await waitUntil('the end of the manager', () => hasEnded(child), 60_000, log)
      assert.equal(child.exitCode, 0, log())
      const mounted = [
        ACCOUNT,
        ...DEPLOYMENTS.get(asset)!.spec.template.spec.containers[0].volumeMounts.map(({ mountPath }) => mountPath),
      ]
      const stray = root.contents().filter((path) => !contents.includes(path))
      assert.deepEqual(
        stray.filter((path) => !mounted.some((target) => `${target}/`.startsWith(`/${path}/`))),
        [],
      )
    })
})

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null
