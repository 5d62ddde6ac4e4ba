// The shipped manager in sandboxes like pods: process id 1 of a pid namespace, a host name of its own, not root, an empty
// work folder. It is stopped, cut off from the API and killed in the middle of a Terraform run; the next one goes on.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  ALL_KINDS,
  type AnyObject,
  type Lease,
  LeaseKind,
  NamespaceKind,
  PodKind,
  toCustomResourceDefinition,
  WorkspaceTemplate,
  WorkspaceTemplateApply,
} from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { clusterDefinition, convertCluster, resourceSetDefinitions } from '#core'
import { leaseName, loadState, readRecord, readState, suffixOf } from '#engine'
import { type Connection, connect, readKubeconfigText } from '#kube'
import { anApply, aTemplate } from '#testing'
import { writeRecord } from '../../src/engine/record/record-store.ts'
import { findTool } from '../support/tools.ts'
import { freePort, type Shipped, shippedProgram, waitUntil } from './support.ts'

const USER = 65_532
const RESOURCES = 3
const HEALTH = '--health-probe-bind-address'

const canUnshare = () =>
  process.getuid?.() === 0 && spawnSync('unshare', ['--pid', '--uts', '--fork', '--mount-proc', 'true']).status === 0
const missing = !findTool('terraform') ? 'terraform is not installed' : canUnshare() ? false : 'unshare needs root here'

describe('a manager in a pod', { skip: missing }, () => {
  let shipped: Shipped
  let server: ApiServer
  let connection: Connection
  let kubeconfig: string
  let ledger: string
  let hold: string
  const pods: Pod[] = []

  const startServer = (port = 0) =>
    startApiServer({
      dataDir: join(shipped.folder, 'cluster'),
      port,
      crds: [...ALL_KINDS.map(toCustomResourceDefinition), clusterDefinition(), ...resourceSetDefinitions()],
      converters: { 'cluster.x-k8s.io/Cluster': convertCluster } as never,
    })

  before(async () => {
    shipped = shippedProgram()
    chmodSync(shipped.folder, 0o755)
    server = await startServer()
    kubeconfig = join(shipped.folder, 'cluster.kubeconfig')
    writeFileSync(kubeconfig, server.kubeconfig(), { mode: 0o644 })
    connection = connect(await readKubeconfigText(server.kubeconfig(), { origin: 'the test' }))
    for (const name of ['default', 'capt-system'])
      await connection.objects
        .create(NamespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as AnyObject)
        .catch(() => undefined)
    hold = join(shipped.folder, 'hold')
    ledger = join(shipped.folder, 'ledger')
  })
  after(async () => {
    for (const pod of pods) await pod.end('SIGKILL')
    await connection.close()
    await server.close()
    await shipped.end()
  })

  interface Pod {
    readonly said: () => string
    /** Of its first process, as it is seen from outside. */
    pid(): number
    /** Sends a signal to the first process and waits until nothing of the pod is left. */
    end(signal: NodeJS.Signals): Promise<number | null>
    readonly hasEnded: () => boolean
  }

  function startPod(name: string, uid: string, more: readonly string[] = []): Pod {
    const work = join(shipped.folder, `work-${uid}`)
    mkdirSync(work, { mode: 0o700 })
    chownSync(work, USER, USER)
    const capt = [shipped.bin, 'manager', '--kubeconfig', kubeconfig, '--work-dir', join(work, 'runs')]
    const flags = ['--enable-controller', 'infrastructure', '--leader-elect', '--leader-elect-namespace', 'capt-system']
    const health = more.includes(HEALTH) ? [] : [HEALTH, '0']
    const script = `hostname ${name}; exec setpriv --reuid=${USER} --regid=${USER} --clear-groups "$@"`
    const child = spawn(
      'unshare',
      [
        '--pid',
        '--uts',
        '--fork',
        '--mount-proc',
        '--kill-child',
        'sh',
        '-c',
        script,
        'pod',
        ...capt,
        ...flags,
        ...health,
        ...more,
      ],
      {
        cwd: shipped.folder,
        env: {
          ...shipped.env,
          HOME: work,
          CAPT_POD: JSON.stringify({ namespace: 'capt-system', name, uid }),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let said = ''
    let code: number | null | undefined
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (said += data.toString()))
    child.once('exit', (ended) => {
      code = ended
    })
    const first = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')[0])
    const pod: Pod = {
      said: () => said,
      pid: first,
      hasEnded: () => code !== undefined,
      async end(signal) {
        if (code === undefined) process.kill(first(), signal)
        await waitUntil(
          `the end of ${name} after ${signal}`,
          () => code !== undefined,
          120_000,
          () => said,
        )
        return code!
      },
    }
    pods.push(pod)
    return pod
  }

  const keyOf = (name: string) => ({ namespace: 'default', name })
  const recordOf = async (name: string) => (await readRecord(connection.objects, keyOf(name)))?.record
  const made = (name: string) =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith(`${name} `))
  /** Resources of which the first is made at once, and the others when the hold is gone. */
  async function apply(name: string): Promise<void> {
    writeFileSync(ledger, '', { flag: 'a' })
    chmodSync(ledger, 0o666)
    writeFileSync(hold, '')
    const wait = `test $i -eq 0 || while test -f ${hold}; do sleep 0.1; done;`
    const module = `
resource "terraform_data" "x" {
  count = ${RESOURCES}
  provisioner "local-exec" {
    command = "i=\${count.index}; ${wait} echo ${name} $i >> ${ledger}"
  }
}`
    await connection.objects.create(WorkspaceTemplate, aTemplate(module, {}, { name }))
    await connection.objects.create(WorkspaceTemplateApply, anApply({ templateRef: { name } }, { name }))
  }
  const untilMidRun = (name: string, pod: Pod) =>
    waitUntil('the first resource', async () => made(name).length > 0, 120_000, pod.said)
  const untilReady = (name: string, pod: Pod) =>
    waitUntil(
      `Ready of ${name}`,
      async () => {
        const found = await connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, keyOf(name))
        return found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
      },
      180_000,
      () => pod.said().slice(-3000),
    )
  async function assertWhole(name: string, wasKilled = false, suspects: readonly string[] = []): Promise<void> {
    const state = readState((await loadState(connection.objects, keyOf(name))) ?? '')
    for (let i = 0; i < RESOURCES; i++) {
      assert.ok(state?.addresses.includes(`terraform_data.x[${i}]`), `x[${i}] is not in the state`)
      const times = made(name).filter((line) => line === `${name} ${i}`).length
      // Terraform that is killed in a provisioner takes the resource for made: at most once then, else exactly once.
      if (wasKilled) assert.ok(times <= 1 || suspects.includes(`${i}`), `x[${i}] was made ${times} times`)
      else assert.equal(times, 1, `x[${i}] was made ${times} times`)
    }
    const lease = await connection.objects.get<Lease>(LeaseKind, {
      namespace: 'default',
      name: leaseName(suffixOf(keyOf(name))),
    })
    assert.ok(!lease?.spec?.holderIdentity, 'the lock outlives the run')
  }

  it('lets a run end after SIGTERM: everything is in the state, and the next pod has nothing to repeat', async () => {
    const pod = startPod('capt-a', 'a')
    await apply('ends')
    await untilMidRun('ends', pod)
    process.kill(pod.pid(), 'SIGTERM')
    await waitUntil('the wait', () => pod.said().includes('Waiting for Terraform runs to end'), 60_000, pod.said)
    const runner = (await recordOf('ends'))!.run!.runner!
    assert.equal(runner.pod?.uid, 'a')
    assert.equal(runner.host, 'capt-a')
    rmSync(hold)
    await waitUntil('the end of the pod', pod.hasEnded, 120_000, pod.said)
    assert.equal((await recordOf('ends'))?.run?.phase, 'Succeeded')
    await assertWhole('ends')
    const next = startPod('capt-b', 'b')
    await untilReady('ends', next)
    assert.equal((await recordOf('ends'))?.history.length ?? 0, 1)
    assert.equal(await next.end('SIGTERM'), 0)
  })

  it('asks Terraform to stop and save when the grace period is over, and the next pod goes on', async () => {
    const pod = startPod('capt-c', 'c', ['--shutdown-grace', '1s'])
    await apply('asked')
    await untilMidRun('asked', pod)
    assert.equal(await pod.end('SIGTERM'), 0, pod.said())
    const record = await recordOf('asked')
    assert.equal(record?.run?.phase, 'Failed')
    assert.equal(record?.run?.fault?.code, 'CAPT_RUN_STOPPED')
    const state = readState((await loadState(connection.objects, keyOf('asked'))) ?? '')
    assert.ok(state?.addresses.includes('terraform_data.x[0]'))
    rmSync(hold)
    const next = startPod('capt-d', 'd')
    await untilReady('asked', next)
    await assertWhole('asked')
    await next.end('SIGTERM')
  })

  it('keeps its run over an API outage that costs it the leadership', async () => {
    const probes = await freePort()
    const pod = startPod('capt-e', 'e', [HEALTH, `127.0.0.1:${probes}`])
    await apply('outage')
    await untilMidRun('outage', pod)
    const { port } = new URL(server.url)
    await server.close()
    await waitUntil('the loss', () => pod.said().includes('Terraform runs go on'), 60_000, pod.said)
    assert.equal((await fetch(`http://127.0.0.1:${probes}/healthz`)).status, 200, 'a probe would end the pod')
    server = await startServer(Number(port))
    rmSync(hold)
    await untilReady('outage', pod)
    const record = await recordOf('outage')
    assert.equal(record?.run?.resumed, 0)
    await assertWhole('outage')
    assert.ok(!pod.hasEnded())
    assert.equal(await pod.end('SIGTERM'), 0)
  })

  it('that was killed is proven dead by the status of its pod, and its run is resumed without a person', async () => {
    const pod = startPod('capt-f', 'f')
    await apply('killed')
    await untilMidRun('killed', pod)
    await waitUntil('a saved state', async () => {
      const text = await loadState(connection.objects, keyOf('killed')).catch(() => undefined)
      return readState(text ?? '')?.addresses.includes('terraform_data.x[0]') ?? false
    })
    await pod.end('SIGKILL')
    await connection.objects.create<AnyObject>(PodKind, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'capt-system', name: 'capt-f', uid: 'f' },
      spec: { containers: [{ name: 'manager', image: 'example.invalid/capt' }] },
    } as AnyObject)
    const created = await connection.objects.get<AnyObject>(PodKind, { namespace: 'capt-system', name: 'capt-f' })
    await setPodOf('killed', created!.metadata.uid!)
    await connection.objects.patch(
      PodKind,
      { namespace: 'capt-system', name: 'capt-f' },
      { type: 'merge', body: { status: { phase: 'Failed' } } },
      { subresource: 'status' } as never,
    )
    rmSync(hold)
    const next = startPod('capt-g', 'g')
    await untilReady('killed', next)
    const record = await recordOf('killed')
    assert.equal(record?.run?.resumed, 1)
    const suspects = [...(record?.suspects ?? [])].map(({ address }) => /\[(\d+)\]/.exec(address)![1]!)
    await assertWhole('killed', true, suspects)
    await next.end('SIGTERM')
  })

  it('collects orphans as its first process', async () => {
    const pod = startPod('capt-h', 'h')
    await apply('orphan')
    await untilMidRun('orphan', pod)
    const runner = shipped.runners()
    assert.equal(runner.length, 1)
    process.kill(runner[0]!, 'SIGKILL')
    rmSync(hold)
    await untilReady('orphan', pod)
    await assertWhole('orphan')
    await waitUntil('that nothing is left uncollected', () => zombiesOf(pod.pid()).length === 0, 30_000)
    await pod.end('SIGTERM')
  })

  /** The API server gives a pod its UID; the record names the one that the sandbox was given. */
  async function setPodOf(name: string, uid: string): Promise<void> {
    const seen = (await readRecord(connection.objects, keyOf(name)))!
    const text = JSON.stringify(seen.record)
    assert.ok(text.includes('"uid":"f"'))
    const record = JSON.parse(text.replaceAll('"uid":"f"', `"uid":"${uid}"`)) as typeof seen.record
    const apply = await connection.objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, keyOf(name))
    const owner = { ...keyOf(name), uid: apply!.metadata.uid!, apiVersion: apply!.apiVersion, kind: apply!.kind }
    assert.ok(await writeRecord(connection.objects, owner, seen, record))
  }
})

function zombiesOf(parent: number): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'latin1')
      const [state, ppid] = text.slice(text.lastIndexOf(')') + 2).split(' ')
      return state === 'Z' && Number(ppid) === parent
    } catch {
      return false
    }
  })
}
