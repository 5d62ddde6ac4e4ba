// The whole story on this machine: an embedded home in a temporary folder, a real Terraform run, a simulated cloud.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AnyObject, clusterKind, NodeKind, PodKind, type UnknownObject } from '#api'
import { type Home, startHome } from '#app'
import { ignore } from '#kube'
import { parseDuration, sleep } from '#lib'
import {
  type ClusterObjects,
  clusterTree,
  type Milestone,
  milestonesOf,
  readClusterObjects,
  renderStops,
  renderTree,
  runningApply,
} from '#view'
import { type Command, ENGINE_OPTION, EXIT, type Io } from '../../command.ts'
import { renderOptions } from '../../output.ts'
import { applyFiles } from '../clusters/apply.ts'

/** Beside the built program, or in the examples of a checkout. */
const EXAMPLE = [
  new URL('./simulation.yaml', import.meta.url),
  new URL('../../../../examples/simulation.yaml', import.meta.url),
]
  .map((url) => fileURLToPath(url))
  .reduce((beside, inCheckout) => (existsSync(beside) ? beside : inCheckout))

/** Terraform of a simulated cloud stops within seconds when it is asked to. */
const STOP_MS = 5_000

export const command: Command = {
  name: 'demo',
  group: 'Run capt',
  summary: 'See all of it on this machine, without a cluster, a cloud account or Docker',
  examples: [
    { run: 'demo', about: 'From manifest to a node for a pending pod, then clean up' },
    { run: 'demo --keep', about: 'The same, and leave it running for kubectl and the browser' },
  ],
  options: {
    keep: { type: 'boolean', about: 'Leave it running until Ctrl-C.' },
    timeout: { type: 'string', value: 'DURATION', default: '3m', about: 'How long everything may take.' },
    ...ENGINE_OPTION,
  },
  onSignal: 'stops',
  async run(args, io) {
    const folder = mkdtempSync(join(tmpdir(), 'capt-demo-'))
    const { engine } = args.values
    const log = join(folder, 'capt.log')
    const home = await startHome({
      dataDir: join(folder, 'home'),
      host: '127.0.0.1',
      port: 0,
      ...(typeof engine === 'string' ? { engine } : { simulateWithoutTerraform: true }),
      logLevel: 'info',
      logTo: fileSink(log),
      env: io.env,
      // Nothing of a demo is worth keeping: its runs end with it.
      shutdown: { askAfterMs: 0, killAfterMs: STOP_MS },
    }).catch((error: unknown) => {
      rmSync(folder, { recursive: true, force: true })
      throw error
    })
    let isReady = false
    let closePage = async () => {}
    try {
      const kubeconfig = join(folder, 'kubeconfig')
      writeFileSync(kubeconfig, home.kubeconfig, { mode: 0o600 })
      greet(home, kubeconfig, io)
      if (args.values['keep'] === true) {
        const { openHomePage } = await import('../../home-page.ts')
        const at = { host: '127.0.0.1', port: 0 }
        closePage = await openHomePage({ kubeconfig: home.kubeconfig, at }, io)
        io.stdout.write('\n')
      }
      await applyFiles([EXAMPLE], { ...targetOf(home, io), quiet: true })
      isReady = await reportProgress(home, parseDuration(String(args.values['timeout'])), io)
      if (!isReady) return EXIT.notReady
      if (args.values['keep'] === true) {
        io.stdout.write(`\nIt keeps running: kubectl --kubeconfig ${kubeconfig} get clusters; Ctrl-C ends it.\n`)
        await home.failed(io.signal)
      }
      return EXIT.fine
    } finally {
      await closePage()
      await home.stop()
      if (isReady || io.signal.aborted) {
        const left = processesUsing(folder)
        rmSync(folder, { recursive: true, force: true })
        const next = args.values['keep'] === true ? '' : 'Next: capt demo --keep leaves this running. '
        io.stdout.write(`\n${next}Left behind: ${countFiles(folder)} files, ${left} processes.\n`)
      } else io.stderr.write(`\nNot ready in time; the log is ${log}\n`)
    }
  },
}

const engineName = (home: Home): string => home.manager.engine?.name ?? ''
const isSimulated = (home: Home): boolean => engineName(home).startsWith('simulated')

function greet(home: Home, kubeconfig: string, io: Io): void {
  const engine = isSimulated(home)
    ? 'Terraform runs are simulated: it was not found on the PATH, or simulation was asked for'
    : `${engineName(home)} is real`
  io.stdout.write(
    `capt demo: everything runs on this machine. ${engine}; the cloud and the workload cluster are simulated.\n\n`,
  )
  io.stdout.write(`  api server      ${home.url}   (kubectl --kubeconfig ${kubeconfig} …)\n`)
  io.stdout.write('  manifest        examples/simulation.yaml   Cluster/demo with Flux and Karpenter\n\n')
}

/** Prints each milestone once, with a live bar for the run under way; true when the whole tree is ready. */
async function reportProgress(home: Home, timeoutMs: number, io: Io): Promise<boolean> {
  const started = io.clock.monotonic()
  const reported = new Set<string>()
  const connected = targetOf(home, io)
  const pod = pendingPod(home)
  const stamp = () => `  ${((io.clock.monotonic() - started) / 1000).toFixed(1).padStart(4, '0')}  `
  const print = (milestone: Milestone) => {
    reported.add(milestone.id)
    clearBar(io)
    const word = isSimulated(home) ? milestone.word.replace('terraform', 'simulated') : milestone.word
    io.stdout.write(`${stamp()}${milestone.subject.padEnd(15)} ${word.padEnd(16)} ${milestone.evidence}\n`)
  }
  for (;;) {
    const objects = await readClusterObjects(clusterKind('v1beta2'), 'demo', connected)
    for (const milestone of milestonesOf(objects)) if (!reported.has(milestone.id)) print(milestone)
    const isReady = clusterTree(objects).state === 'ready'
    const node = isReady ? await pod.node() : undefined
    if (node) print({ id: 'node', subject: 'node pool', word: 'ready', evidence: `pod web-0 was pending → ${node}` })
    const isOver = io.clock.monotonic() - started > timeoutMs || io.signal.aborted
    if (node || isOver) {
      clearBar(io)
      finish(objects, io)
      return node !== undefined
    }
    bar(objects, stamp(), io)
    await sleep(io.clock, 200)
  }
}

/** A pod that fits on no node yet; the simulated Karpenter creates one. */
function pendingPod(home: Home): { node(): Promise<string | undefined> } {
  const key = { namespace: 'default', name: 'web-0' }
  let isThere = false
  return {
    async node() {
      const workload = await home.manager.workloads.open({ namespace: 'default', name: 'demo' })
      if (!workload) return undefined
      const { objects } = workload
      if (!isThere) {
        const spec = {
          containers: [
            { name: 'web', image: 'example.invalid/web:1', resources: { requests: { cpu: '1', memory: '1Gi' } } },
          ],
        }
        const pod = { apiVersion: 'v1', kind: 'Pod', metadata: key, spec, status: { phase: 'Pending' } }
        await objects.create<AnyObject>(PodKind, pod).catch(ignore('AlreadyExists'))
        isThere = true
      }
      const pod = await objects.get<UnknownObject>(PodKind, key)
      const { nodeName } = (pod?.['spec'] ?? {}) as { nodeName?: string }
      if (nodeName === undefined) return undefined
      const node = await objects.get<AnyObject>(NodeKind, { name: nodeName })
      const labels = node?.metadata.labels ?? {}
      const about = [
        labels['node.kubernetes.io/instance-type'],
        labels['karpenter.sh/capacity-type'],
        'simulated',
      ].filter(Boolean)
      return `node ${nodeName} (${about.join(', ')})`
    },
  }
}

function targetOf(home: Home, io: Io) {
  return { objects: home.objects, namespace: 'default', server: home.url, raw: home.raw, io }
}

function finish(objects: ClusterObjects, io: Io): void {
  const tree = clusterTree(objects)
  io.stdout.write(`\n${renderTree(tree, renderOptions(io))}`)
  io.stdout.write(renderStops(tree, renderOptions(io)))
}

function bar(objects: ClusterObjects, stamp: string, io: Io): void {
  const run = runningApply(objects)
  if (!run || !io.stdout.isTerminal) return
  const width = 14
  const full = run.of === 0 ? 0 : Math.round((run.done / run.of) * width)
  const text = `${stamp}${run.subject.padEnd(15)} ${run.verb.padEnd(16)} ▕${'█'.repeat(full).padEnd(width)}▏ ${run.done} of ${run.of}  ${run.address}`
  io.stdout.write(`\r\u001b[2K${text.slice(0, io.stdout.columns - 1)}`)
}

function clearBar(io: Io): void {
  if (io.stdout.isTerminal) io.stdout.write('\r\u001b[2K')
}

/** Processes that still use the folder, from /proc; 0 where there is none. */
function processesUsing(folder: string): number {
  try {
    return readdirSync('/proc').filter((name) => {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(folder)
      } catch {
        return false
      }
    }).length
  } catch {
    return 0
  }
}

function countFiles(folder: string): number {
  try {
    return readdirSync(folder, { recursive: true }).length
  } catch {
    return 0
  }
}

function fileSink(path: string) {
  return { write: (text: string) => writeFileSync(path, text, { flag: 'a', mode: 0o600 }) }
}
