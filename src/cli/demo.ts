// The whole story on this machine: an embedded home in a temporary folder, a real Terraform run, a simulated cloud.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CaptError, parseDuration, sleep } from '#lib'
import { type ClusterObjects, clusterTree, type Moment, momentsOf, renderStops, renderTree, runningApply } from '#view'
import { type Home, startHome } from '../app.ts'
import { applyFiles } from './apply.ts'
import { type Command, EXIT, type Io } from './command.ts'
import { readClusterObjects } from './describe.ts'
import { painter } from './output.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/simulation.yaml', import.meta.url))

export const command: Command = {
  name: 'demo',
  summary: 'See all of it on this machine, without a cluster, a cloud account or Docker',
  examples: [
    { run: 'demo', about: 'From manifest to a node for a pending pod, then clean up' },
    { run: 'demo --keep', about: 'The same, and leave it running for kubectl' },
  ],
  options: {
    keep: { type: 'boolean', about: 'Leave it running until Ctrl-C.' },
    timeout: { type: 'string', value: 'DURATION', default: '3m', about: 'How long everything may take.' },
    engine: {
      type: 'string',
      value: 'terraform|tofu|simulated',
      about: 'What runs Terraform; what is on the PATH otherwise.',
    },
  },
  async run(args, io) {
    const folder = mkdtempSync(join(tmpdir(), 'capt-demo-'))
    const { engine } = args.values
    const log = join(folder, 'capt.log')
    const home = await startHome({
      dataDir: join(folder, 'home'),
      host: '127.0.0.1',
      port: 0,
      ...(typeof engine === 'string' ? { engine } : {}),
      logLevel: 'info',
      logTo: fileSink(log),
      clock: io.clock,
      env: io.env,
    }).catch((error: unknown) => {
      rmSync(folder, { recursive: true, force: true })
      throw error
    })
    try {
      const kubeconfig = join(folder, 'kubeconfig')
      writeFileSync(kubeconfig, home.kubeconfig, { mode: 0o600 })
      greet(home, kubeconfig, io)
      await applyFiles([EXAMPLE], { objects: home.objects, namespace: 'default', io, quiet: true })
      const ready = await tell(home, parseDuration(String(args.values['timeout'])), io)
      if (!ready) {
        io.stderr.write(`\nNot ready in time; the log is ${log}\n`)
        return EXIT.notReady
      }
      if (args.values['keep'] === true) {
        io.stdout.write(`\nIt keeps running: kubectl --kubeconfig ${kubeconfig} get clusters; Ctrl-C ends it.\n`)
        await home.failed(io.signal)
      }
      return EXIT.fine
    } finally {
      await home.stop()
      const left = home.processes()
      if (args.values['keep'] !== true || io.signal.aborted) rmSync(folder, { recursive: true, force: true })
      const files = countFiles(folder)
      if (args.values['keep'] !== true)
        io.stdout.write(
          `\nNext: capt demo --keep leaves this running. Left behind: ${files} files, ${left} processes.\n`,
        )
    }
  },
}

function greet(home: Home, kubeconfig: string, io: Io): void {
  const engine = home.engine.simulated
    ? 'Terraform is not on the PATH, so its runs are simulated too'
    : `${home.engine.name} is real (${home.engine.version})`
  io.stdout.write(
    `capt demo: everything runs on this machine. ${engine}; the cloud and the workload cluster are simulated.\n\n`,
  )
  io.stdout.write(`  api server      ${home.url}   (kubectl --kubeconfig ${kubeconfig} …)\n`)
  io.stdout.write('  manifest        examples/simulation.yaml   Cluster/demo with Flux and Karpenter\n\n')
}

/** Prints each moment once, with a live bar for the run under way; true when the whole tree is ready. */
async function tell(home: Home, timeoutMs: number, io: Io): Promise<boolean> {
  const started = io.clock.monotonic()
  const told = new Set<string>()
  const connected = { ...home, namespace: 'default', server: home.url, raw: home.raw, close: async () => undefined }
  const stamp = () => `  ${((io.clock.monotonic() - started) / 1000).toFixed(1).padStart(4, '0')}  `
  const say = (moment: Moment) => {
    told.add(moment.id)
    clearBar(io)
    io.stdout.write(`${stamp()}${moment.subject.padEnd(15)} ${moment.word.padEnd(16)} ${moment.evidence}\n`)
  }
  let objects: ClusterObjects | undefined
  for (;;) {
    objects = await readClusterObjects('demo', connected)
    for (const moment of [...momentsOf(objects), ...(await home.simulation.moments())])
      if (!told.has(moment.id)) say(moment)
    const tree = clusterTree(objects)
    if (tree.state === 'ready' && (await home.simulation.finished())) break
    if (tree.state === 'ready') await home.simulation.askForNode()
    if (io.clock.monotonic() - started > timeoutMs || io.signal.aborted) {
      finish(objects, io)
      return false
    }
    bar(objects, stamp(), io)
    await Promise.race([home.changed(), sleep(io.clock, 250)])
  }
  clearBar(io)
  finish(objects, io)
  return true
}

function finish(objects: ClusterObjects, io: Io): void {
  const tree = clusterTree(objects)
  io.stdout.write(`\n${renderTree(tree, { width: io.stdout.columns, now: io.clock.now(), paint: painter(io) })}`)
  io.stdout.write(renderStops(tree, io.stdout.columns))
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

function countFiles(folder: string): number {
  try {
    return readdirSync(folder, { recursive: true }).length
  } catch {
    return 0
  }
}

function fileSink(path: string) {
  return {
    write: (text: string) => writeFileSync(path, text, { flag: 'a', mode: 0o600 }),
    isTerminal: false,
    columns: 120,
  }
}

/** The manifest of the demo, for tests that apply the same. */
export function demoManifest(): string {
  try {
    return readFileSync(EXAMPLE, 'utf8')
  } catch (cause) {
    throw new CaptError('CAPT_NOT_BUILT', 'examples/simulation.yaml is missing beside the program', {
      cause,
      hint: 'run make generate',
    })
  }
}
