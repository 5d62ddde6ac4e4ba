// The whole story on this machine: an embedded home in a temporary folder, real Terraform runs, a simulated cloud.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Home, startHome } from '#app'
import { CaptError, messageOf, parseDuration } from '#lib'
import { clusterTree, renderStops, renderTree } from '#view'
import { type Arguments, type Command, ENGINE_OPTION, EXIT, type Io } from '../../command.ts'
import { showCluster } from '../../demo/chapters/cluster.ts'
import { showDeletion } from '../../demo/chapters/deletion.ts'
import { showFailure } from '../../demo/chapters/failure.ts'
import { showNodes } from '../../demo/chapters/nodes.ts'
import { showUpgrade } from '../../demo/chapters/upgrade.ts'
import { countFiles, processesUsing } from '../../demo/leftovers.ts'
import { drawTranscript } from '../../demo/picture.ts'
import { createScreen, type Screen } from '../../demo/screen.ts'
import { createStory, Ended, type Story } from '../../demo/story.ts'
import type { HomePage } from '../../home-page.ts'

/** Terraform of a simulated cloud stops within seconds when it is asked to. */
const STOP_MS = 5_000
const LAST_WARNINGS = 10

export const command: Command = {
  name: 'demo',
  summary: 'See all of it on this machine, without a cluster, a cloud account or Docker',
  examples: {
    demo: 'A cluster, nodes, a failure, an upgrade and a clean deletion, in about a minute',
    'demo --keep': 'The same without the deletion, and leave it running for kubectl and the browser',
    'demo --record demo.svg': 'The same, and draw what it showed',
  },
  options: {
    keep: { type: 'boolean', about: 'Do not delete the cluster; leave it running until Ctrl-C.' },
    record: { type: 'string', value: 'FILE', about: 'Write what was shown as a picture, in SVG.' },
    timeout: { type: 'string', value: 'DURATION', default: '5m', about: 'How long everything may take.' },
    ...ENGINE_OPTION,
  },
  onSignal: 'stops',
  async run(args, io) {
    const timeoutMs = parseDuration(String(args.values['timeout']))
    const picture = pictureOf(args, io)
    const isKept = args.values['keep'] === true
    const folder = mkdtempSync(join(tmpdir(), 'capt-demo-'))
    const screen = createScreen(io, picture !== undefined)
    let home: Home | undefined
    let page: HomePage | undefined
    try {
      home = await start(args, folder, io)
      greet(home, screen)
      if (isKept) page = await openPage(home, io)
      const story = createStory({ home, io, screen, timeoutMs })
      const code = await perform(story, isKept, join(folder, 'capt.log'))
      if (code === EXIT.fine && isKept) await stayOpen(home, page, folder, io)
      return code
    } finally {
      screen.clear()
      await page?.close()
      await home?.stop()
      const left = processesUsing(folder)
      rmSync(folder, { recursive: true, force: true })
      const next = isKept ? '' : 'Next: capt demo --keep leaves it running, with its page in the browser.\n'
      screen.text(`\n${next}Left behind: ${countFiles(folder)} files, ${left} processes.\n`)
      if (picture !== undefined) writeFileSync(picture, drawTranscript(screen.transcript(), 'capt demo'))
    }
  },
}

/** The path of --record; refused before anything starts when its folder does not exist. */
function pictureOf({ values }: Arguments, { cwd }: Io): string | undefined {
  if (typeof values['record'] !== 'string') return undefined
  const path = resolve(cwd, values['record'])
  if (existsSync(dirname(path))) return path
  throw new CaptError('CAPT_USAGE', `--record ${values['record']}: its folder does not exist`, {
    hint: `make it first: mkdir -p ${dirname(path)}`,
  })
}

async function start({ values: { engine } }: Arguments, folder: string, io: Io): Promise<Home> {
  const log = join(folder, 'capt.log')
  return await startHome({
    dataDir: join(folder, 'home'),
    host: '127.0.0.1',
    port: 0,
    ...(typeof engine === 'string' ? { engine } : { simulateWithoutTerraform: true }),
    logLevel: 'info',
    logTo: { write: (text: string) => writeFileSync(log, text, { flag: 'a', mode: 0o600 }) },
    env: io.env,
    // Nothing of a demo is worth keeping: its runs end with it.
    shutdown: { askAfterMs: 0, killAfterMs: STOP_MS },
  })
}

function greet(home: Home, screen: Screen): void {
  const name = home.manager.engine?.name ?? ''
  const isSimulated = name.startsWith('simulated')
  const engine = isSimulated
    ? 'Terraform runs are simulated: it was not found on the PATH, or simulation was asked for'
    : `${name} is real`
  const without = isSimulated ? '\nThe approval of a plan needs Terraform and is left out.' : ''
  screen.text(
    `capt demo: everything runs on this machine. ${engine};\nthe cloud and the workload cluster are simulated.${without}\n`,
  )
}

async function openPage(home: Home, io: Io): Promise<HomePage> {
  const { openHomePage } = await import('../../home-page.ts')
  return await openHomePage({ access: home.access, at: { host: '127.0.0.1', port: 0 } }, io)
}

async function perform(story: Story, isKept: boolean, log: string): Promise<number> {
  const chapters = [showCluster, showNodes, showFailure, showUpgrade, ...(isKept ? [] : [showDeletion])]
  try {
    for (const show of chapters) await show(story)
    return EXIT.fine
  } catch (error) {
    if (!(error instanceof Ended)) throw error
    if (!story.io.signal.aborted) await explain(story, error, log)
    return EXIT.notReady
  }
}

/** It does not go on, or the time is over: how far it came, why it stopped, and the last warnings of the log, which goes with the folder. */
async function explain({ screen, io, read }: Story, ended: Ended, log: string): Promise<void> {
  const objects = await read()
  screen.text('\n')
  if (objects) {
    const tree = clusterTree(objects)
    screen.block((options) => renderTree(tree, options) + renderStops(tree, options))
  }
  io.stderr.write(`\nNot ready: ${messageOf(ended)}. --timeout gives a slow machine longer\n`)
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []
  const warnings = lines.filter((line) => /"level":"(warn|error)/.test(line)).slice(-LAST_WARNINGS)
  for (const line of warnings) io.stderr.write(`  ${line}\n`)
}

async function stayOpen(home: Home, page: HomePage | undefined, folder: string, io: Io): Promise<void> {
  const kubeconfig = join(folder, 'kubeconfig')
  const endFile = home.keepKubeconfig(kubeconfig)
  // The first link has scrolled away.
  const link = page?.link === undefined ? '' : `  page      ${page.link}\n`
  const terminals = `  capt      capt --kubeconfig ${kubeconfig} describe cluster demo\n  kubectl   kubectl --kubeconfig ${kubeconfig} get clusters\n`
  io.stdout.write(`\nIt keeps running until Ctrl-C.\n${link}${terminals}`)
  try {
    await home.failed(io.signal)
  } finally {
    endFile()
  }
}
