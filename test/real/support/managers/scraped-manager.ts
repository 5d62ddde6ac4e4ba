// The built manager at a management cluster of its own, whose clock the test moves on, and what it answers on /metrics.
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { ALL_KINDS, NamespaceKind, toCustomResourceDefinition } from '#api'
import { writeSecret } from '#lib'
import { freePort, type Running, shippedProgram, waitUntil } from '../../../shipped/support.ts'
import { type ManagementCluster, startManagementCluster } from '../../../support/management-cluster.ts'
import { type Scrape, scrapeOf } from './alerts.ts'

const CLOCK = join(import.meta.dirname, '../../../support/shifted-clock.mjs')
const MINUTES_OF_A_DAY = 1440

export interface ScrapedManager {
  readonly folder: string
  readonly cluster: ManagementCluster
  /** Starts the manager, and waits until it answers. */
  start(env: Readonly<Record<string, string>>): Promise<void>
  /** What it logged. */
  log(): string
  scrape(): Promise<Scrape>
  /** What /healthz answers. */
  health(): Promise<{ readonly status: number; readonly said: string }>
  /** Its machine is lost: the manager, its runs and what they started end without a word. */
  lose(): Promise<void>
  /** Moves its clock on. */
  pass(minutes: number): void
  end(): Promise<void>
}

export async function scrapedManager(): Promise<ScrapedManager> {
  const shipped = shippedProgram()
  const { folder } = shipped
  const [kubeconfig, days] = [join(folder, 'kubeconfig'), join(folder, 'days')]
  const cluster = await startManagementCluster(join(folder, 'home'), ALL_KINDS.map(toCustomResourceDefinition))
  await cluster.objects.create(NamespaceKind, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'capt-system' },
  })
  writeFileSync(kubeconfig, cluster.server.kubeconfig(), { mode: 0o600 })
  writeSecret(days, '0')
  let minutes = 0
  let port = 0
  let healthPort = 0
  let running: Running | undefined

  async function scrape(): Promise<Scrape> {
    const text = await metrics(port, cluster.server.token)
    return scrapeOf(Date.now() + minutes * 60_000, text)
  }
  return {
    folder,
    cluster,
    scrape,
    async health() {
      const answer = await fetch(`http://127.0.0.1:${healthPort}/healthz`)
      return { status: answer.status, said: await answer.text() }
    },
    log: () => running?.err().slice(-3000) ?? '',
    async start(env) {
      port = await freePort()
      healthPort = await freePort()
      const probes = `--health-probe-bind-address=127.0.0.1:${healthPort}`
      const words = ['manager', '--kubeconfig', kubeconfig, probes, '--concurrent-runs=1']
      const clock = { NODE_OPTIONS: `--import=${CLOCK}`, SHIFTED_DAYS: days }
      running = shipped.start([...words, `--metrics-bind-address=127.0.0.1:${port}`], { env: { ...clock, ...env } })
      const answers = async () => (await scrape()).samples.size > 0
      await waitUntil('the manager answers', answers, 120_000, running.err)
    },
    pass(more) {
      minutes += more
      writeSecret(days, String(minutes / MINUTES_OF_A_DAY))
    },
    async lose() {
      for (const pid of shipped.processes()) process.kill(pid, 'SIGKILL')
      await waitUntil('the end of every process', () => shipped.processes().length === 0)
    },
    async end() {
      await shipped.end()
      await cluster.close()
    },
  }
}

/** Empty when nobody listens, as for Prometheus. */
function metrics(port: number, token: string): Promise<string> {
  const options = { rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` }, timeout: 30_000 }
  return new Promise((resolve) => {
    const call = request(`https://127.0.0.1:${port}/metrics`, options, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.once('end', () => resolve(answer.statusCode === 200 ? Buffer.concat(parts).toString() : ''))
    })
    call.once('timeout', () => call.destroy())
    call.once('error', () => resolve(''))
    call.end()
  })
}
