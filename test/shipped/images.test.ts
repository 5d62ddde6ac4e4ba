// What is in the images, run as the manifests run it: the files that the Dockerfile copies, its entry point and
// environment, the arguments and folders of each rendered Deployment. The management cluster is an API server on loopback
// with the kinds of the release.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { conditionOf, NamespaceKind, WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { type Connection, connect, loadKubeconfig } from '#kube'
import { anApply, aTemplate } from '#testing'
import { startClusterActor } from '../support/engine/cluster-actor.ts'
import { layOut, readImage } from '../support/image.ts'
import { DEPLOYMENTS, objectsOf } from '../support/release-objects.ts'
import { findTool } from '../support/tools.ts'
import { waitUntil } from './support.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const terraform = findTool('terraform')
/** What a pod of a run finds in its image. */
const CONTAINER = {
  program: [process.execPath, join(ROOT, 'dist/program/capt.mjs')],
  path: `${dirname(terraform ?? '')}:/usr/bin:/bin`,
}

describe('an image', () => {
  let folder: string
  let server: ApiServer
  let connection: Connection
  let kubeconfig: string
  const started: ChildProcess[] = []

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'capt-images-'))
    server = await startApiServer({
      dataDir: join(folder, 'home'),
      crds: [
        ...objectsOf('crds.yaml').filter(({ kind }) => kind === 'CustomResourceDefinition'),
        clusterDefinition(),
        ...resourceSetDefinitions(),
      ],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
    })
    kubeconfig = join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o600 })
    connection = connect(await loadKubeconfig({ path: kubeconfig }))
    for (const name of ['capt-system', 'capt-control-plane-system'])
      await connection.objects.create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  })
  afterEach(async () => {
    for (const child of started.splice(0)) {
      child.kill('SIGKILL')
      await waitUntil('the end of the manager', () => hasEnded(child))
    }
  })
  after(async () => {
    await connection.close()
    await server.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Starts the container of an asset's Deployment in the files of its image. */
  async function start(asset: string, dockerfile = DOCKERFILE) {
    const { metadata, spec } = DEPLOYMENTS.get(asset)!
    const [container] = spec.template.spec.containers
    const image = readImage(dockerfile, /\/capt-runner:/.test(container.image) ? 'runner' : 'manager')
    const root = mkdtempSync(join(folder, 'root-'))
    layOut(image, root, {
      build: (path) => path.replace(/^\/src\//, `${ROOT}/`),
      terraform: () => terraform!,
    })
    for (const { mountPath } of container.volumeMounts) mkdirSync(join(root, mountPath), { recursive: true })
    const written = () => readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => !isMounted(path))
    const isMounted = (path: string) =>
      container.volumeMounts.some(({ mountPath }) => `/${path}/`.startsWith(`${mountPath}/`))
    const contents = written()

    const env = {
      ...image.env,
      ...Object.fromEntries(
        container.env.map(({ name, value }) => [name, value ?? (name === 'POD_NAMESPACE' ? metadata.namespace : '')]),
      ),
      HOME: join(root, image.env['HOME']!),
      PATH: ['/usr/local/bin', '/usr/bin', '/bin'].map((path) => join(root, path)).join(':'),
    }
    const health = await freePort()
    const metrics = await freePort()
    const [program, ...args] = [...(container.command ?? image.entrypoint), ...container.args].map((word) =>
      word
        .replaceAll(/\$\((\w+)\)/g, (_match, name: string) => env[name as keyof typeof env])
        .replace('[::]:8081', `[::]:${health}`)
        .replace('[::]:8443', `[::]:${metrics}`)
        .replace(/^(--work-dir=)?(\/.*)$/, (_match, flag = '', path: string) => flag + join(root, path)),
    )
    assert.equal(program, 'node')
    // A pod finds its service account in a fixed place; the rest of the command line is the manifest's.
    const child = spawn(join(root, 'usr/local/bin/node'), [...args, '--kubeconfig', kubeconfig], {
      cwd: root,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    started.push(child)
    let log = ''
    child.stderr.on('data', (data: Buffer) => {
      log += data.toString()
    })
    const isReady = () =>
      fetch(`http://127.0.0.1:${health}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    return {
      namespace: metadata.namespace,
      isLean: !/\/capt-runner:/.test(container.image),
      child,
      log: () => log,
      untilReady: () =>
        waitUntil(
          `${asset} to be ready`,
          async () => (await isReady()) || hasEnded(child),
          120_000,
          () => log,
        ).then(() => assert.ok(!hasEnded(child), log)),
      strayFiles: () => written().filter((path) => !contents.includes(path)),
      async stop() {
        child.kill('SIGTERM')
        await waitUntil(
          'the end of the manager',
          () => hasEnded(child),
          60_000,
          () => log,
        )
        return child.exitCode
      },
    }
  }

  const find = (namespace: string) =>
    connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, { namespace, name: 'demo' })

  it('runs the managers of five assets', () => assert.equal(DEPLOYMENTS.size, 5))

  for (const asset of DEPLOYMENTS.keys())
    it(`starts the manager of ${asset}, which applies and destroys if that is its work`, {
      skip: terraform === undefined && 'terraform is not installed',
    }, async () => {
      const manager = await start(asset)
      await manager.untilReady()
      const { namespace } = manager
      const hasJobs = DEPLOYMENTS.get(asset)!.spec.template.spec.containers[0].args.includes('--engine=job')
      const actor = hasJobs ? startClusterActor({ objects: connection.objects, namespace, ...CONTAINER }) : undefined
      if (!manager.isLean || hasJobs) {
        const at = { name: 'demo', namespace }
        const module = 'resource "terraform_data" "x" { input = 1 }'
        await connection.objects.create(WorkspaceTemplate, aTemplate(module, {}, at))
        await connection.objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name: 'demo' } }, at))
        const why = () => manager.log()
        await waitUntil(
          'the apply',
          async () => conditionOf((await find(namespace))!, 'Ready')?.status === 'True',
          120_000,
          why,
        )
        await connection.objects.delete(WorkspaceTemplateApply, at)
        await waitUntil('the destruction', async () => (await find(namespace)) === undefined, 120_000, why)
        await connection.objects.delete(WorkspaceTemplate, at)
      }
      await actor?.stop()
      assert.equal(await manager.stop(), 0, manager.log())
      assert.deepEqual(manager.strayFiles(), [], 'the root of a container is read-only')
    })

  const COPIED = DOCKERFILE.split('\n').filter((line) => line.startsWith('COPY --from='))

  it('is made of two COPY lines', () => assert.equal(COPIED.length, 2))

  for (const line of COPIED)
    it(`does not start without "${line}"`, {
      skip: terraform === undefined && 'terraform is not installed',
    }, async () => {
      const manager = await start('install-local-engine.yaml', DOCKERFILE.replace(line, ''))
      await waitUntil('the end of the manager', () => hasEnded(manager.child), 60_000, manager.log)
      assert.equal(manager.child.exitCode, 1, manager.log())
      assert.match(manager.log(), /Cannot find module|CAPT_TERRAFORM_MISSING/)
    })
})

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
