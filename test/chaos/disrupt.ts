// What happens to processes, disks, networks and clocks while a run is on: stopped and continued, cut off and connected
// again, replaced as a pod is, out of space, an hour early or late. Each ends with a manager that can work.
import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AnyObject, NamespaceKind, PodKind } from '#api'
import { declareGone, findOwner, isOpen } from '#engine'
import { systemClock } from '#lib'
import { livenessOf, type ProcessIdentity } from '../../src/engine/lock/processes.ts'
import { ledgerModule } from '../support/engine/ledger.ts'
import { isReady } from '../support/engine/world.ts'
import { type Damages, damage } from './damage.ts'
import type { Disruption } from './disruptions.ts'
import { startProxy } from './proxy.ts'
import { attempt, type TrialWorld } from './trial-world.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const SLOW = 'sleep $((i / 2)).$((i + 3));'

/** Returns the run that was the last one before, where it matters. */
export async function disrupt(
  world: TrialWorld,
  fault: Disruption,
  resources: number,
  proceed: () => Promise<void>,
): Promise<undefined> {
  const begin = async (more = '') => {
    await world.engine.make(world.name, `${ledgerModule(world.file, resources, SLOW)}${more}`)
    await world.poll('the first run', async () => (await world.record())?.run?.runner !== undefined)
    if (fault.from === 'first') await world.poll('the first resource', () => world.ledger.made.length > 0)
    await pause(fault.afterMs)
    await world.observe()
  }
  switch (fault.is) {
    case 'stop':
      await stop(world, fault, begin, proceed)
      break
    case 'partition':
      await partition(world, fault, begin, proceed)
      break
    case 'pod':
      await replacePod(world, fault, begin, proceed)
      break
    case 'kill':
      await kill(world, fault, begin, proceed)
      break
    case 'disk':
      await fillDisk(world, fault, begin, proceed)
      break
    case 'clock':
      await skewClocks(world, fault, begin, proceed)
  }
  return undefined
}

type Begin = (more?: string) => Promise<void>
type Proceed = () => Promise<void>
type Of<Is extends Disruption['is']> = Extract<Disruption, { readonly is: Is }>

const send = (pid: number | undefined, signal: NodeJS.Signals) => {
  if (pid !== undefined) attempt(() => process.kill(pid, signal))
}

/** The operator declares that the runner is gone; the next manager works in another folder. */
async function takeOver(world: TrialWorld, damages?: Damages['damages']): Promise<void> {
  const { owner } = await findOwner(world.objects, world.key)
  await declareGone(world.objects, systemClock, owner)
  await damage(world, damages)
  world.moveElsewhere()
  await world.startManager()
}

/** Whatever the first runner still does, it has ended by then. */
async function untilEnded(world: TrialWorld, who: ProcessIdentity | undefined): Promise<void> {
  await world.poll('the end of the runner that was replaced', () => !who || livenessOf(who) !== 'alive')
}

async function stop(world: TrialWorld, fault: Of<'stop'>, begin: Begin, proceed: Proceed): Promise<void> {
  const { victim, until, damages } = fault
  if (victim === 'manager') return stopManager(world, until, begin, proceed)
  await world.startManager()
  await begin()
  const run = (await world.record())?.run
  const who = victim === 'runner' ? run?.runner : world.terraform()
  send(who?.pid, 'SIGSTOP')
  if (until === 'before') {
    await damage(world, damages)
    await proceed()
    await pause(1500)
    send(who?.pid, 'SIGCONT')
    return
  }
  await world.stopManager()
  if (victim === 'runner') {
    await takeOver(world, damages)
    await world.settle('the successor', isReady)
    send(who?.pid, 'SIGCONT')
    await untilEnded(world, who)
  } else {
    // The next runner waits for the Terraform that it finds.
    send(run?.runner?.pid, 'SIGKILL')
    await damage(world, damages)
    await world.startManager()
    // On a busy machine the run may have ended before it was stopped: then nobody comes.
    const isReplaced = async () => {
      const now = (await world.record())?.run
      return now?.runner?.pid !== run?.runner?.pid || (now !== undefined && !isOpen(now))
    }
    await world.poll('the successor', isReplaced)
    await pause(1000)
    send(who?.pid, 'SIGCONT')
  }
  await proceed()
}

async function kill(world: TrialWorld, fault: Of<'kill'>, begin: Begin, proceed: Proceed): Promise<void> {
  const { victims, damages } = fault
  await world.startManager()
  await begin()
  const runner = (await world.record())?.run?.runner
  if (victims.includes('manager')) await world.stopManager()
  if (victims.includes('runner')) send(runner?.pid, 'SIGKILL')
  if (victims.includes('terraform')) send(world.terraform()?.pid, 'SIGKILL')
  await damage(world, damages)
  await proceed()
  if (victims.includes('manager')) await world.startManager()
}

async function stopManager(
  world: TrialWorld,
  until: 'before' | 'after',
  begin: Begin,
  proceed: Proceed,
): Promise<void> {
  const first = await world.spawnManager()
  await begin()
  send(first.pid, 'SIGSTOP')
  await proceed()
  if (until === 'before') {
    await pause(1500)
    send(first.pid, 'SIGCONT')
    return
  }
  await world.startManager()
  await pause(3000)
  send(first.pid, 'SIGCONT')
  // Both see the same object now; an election would make the first one leave.
  await pause(1000)
  await end(first)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

async function partition(world: TrialWorld, fault: Of<'partition'>, begin: Begin, proceed: Proceed): Promise<void> {
  const text = readFileSync(world.engine.kubeconfig, 'utf8')
  const port = Number(/server: "?https:\/\/[^:\s]+:(\d+)/.exec(text)![1])
  const proxy = await startProxy(port)
  world.onClose(() => proxy.close())
  const kubeconfigForRunner = join(world.engine.folder, 'kubeconfig-of-runners')
  writeFileSync(kubeconfigForRunner, text.replace(`:${port}`, `:${proxy.port}`), { mode: 0o600 })
  await world.startManager({ kubeconfigForRunner })
  await begin()
  const who = (await world.record())?.run?.runner
  proxy.cut()
  if (fault.until === 'before') {
    await proceed()
    await pause(fault.forMs)
    proxy.heal()
    return
  }
  await pause(fault.forMs)
  await world.stopManager()
  await takeOver(world)
  await world.settle('the successor', isReady)
  proxy.heal()
  await untilEnded(world, who)
  await proceed()
}

const POD = { namespace: 'capt-system', name: 'capt-a' }

/** A pid namespace and a host name of its own; everything in it dies with its first process. */
function podCommand(name: string): readonly string[] {
  const unshare = ['unshare', '--pid', '--uts', '--fork', '--mount-proc', '--kill-child']
  return [...unshare, 'sh', '-c', `hostname ${name}; exec "$@"`, 'pod']
}

async function replacePod(world: TrialWorld, fault: Of<'pod'>, begin: Begin, proceed: Proceed): Promise<void> {
  const { death, damages } = fault
  const { objects } = world
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: POD.namespace } } as AnyObject
  await objects.create(NamespaceKind, namespace).catch(() => undefined)
  const containers = [{ name: 'manager', image: 'capt' }]
  const pod = await objects.create(PodKind, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: POD,
    spec: { containers },
  } as unknown as AnyObject)
  const identity = (name: string, uid: string) => ({
    CAPT_POD: JSON.stringify({ namespace: POD.namespace, name, uid }),
  })
  const first = await world.spawnManager({
    env: identity(POD.name, pod.metadata.uid!),
    within: podCommand(POD.name),
  })
  await begin()
  send(Number(readFileSync(`/proc/${first.pid}/task/${first.pid}/children`, 'utf8').split(' ')[0]), 'SIGKILL')
  if (first.exitCode === null && first.signalCode === null) await once(first, 'exit')
  rmSync(world.workDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
  if (death === 'status')
    await objects.patch(PodKind, POD, { type: 'merge', body: { status: { phase: 'Failed' } } }, {
      subresource: 'status',
    } as never)
  if (death === 'silence') await objects.delete(PodKind, POD)
  if (death === 'declared') {
    const { owner } = await findOwner(objects, world.key)
    await declareGone(objects, systemClock, owner)
  }
  await damage(world, damages)
  world.moveElsewhere()
  await proceed()
  const env = { ...identity('capt-b', 'another'), ...(death === 'silence' ? { CAPT_TEST_CLOCK_SPEED: '30' } : {}) }
  await world.spawnManager({ env, within: podCommand('capt-b') })
}

async function fillDisk(world: TrialWorld, { moment }: Of<'disk'>, begin: Begin, proceed: Proceed): Promise<void> {
  mkdirSync(world.workDir, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', world.workDir], { stdio: 'pipe' })
  world.onClose(() => void execFileSync('umount', ['-l', world.workDir], { stdio: 'pipe' }))
  const ballast = join(world.workDir, 'ballast')
  await world.startManager()
  if (moment === 'before') {
    fill(ballast)
    await world.engine.make(world.name, ledgerModule(world.file, 2))
    await world.poll('a word about the disk', async () => (await world.find())?.status?.lastError !== undefined, 30_000)
  } else {
    await begin()
    fill(ballast)
    await pause(2500)
  }
  await proceed()
  rmSync(ballast)
  if (isOpen((await world.record())?.run)) return
  await world.retry()
}

function fill(path: string): void {
  for (const size of [1024 * 1024, 4096])
    attempt(() => {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
    })
}

const SKEW = join(import.meta.dirname, 'skew.ts')

async function skewClocks(world: TrialWorld, fault: Of<'clock'>, begin: Begin, proceed: Proceed): Promise<void> {
  const options = (hours: number) => ({
    env: { NODE_OPTIONS: `--import ${SKEW}`, CAPT_TEST_SKEW_MS: `${hours * 3_600_000}` },
  })
  const flag = join(world.engine.folder, 'has-failed')
  const failing = `
resource "terraform_data" "fails_once" {
  provisioner "local-exec" { command = "test -f ${flag} || { touch ${flag}; exit 1; }" }
}`
  const first = await world.spawnManager(options(fault.skews[0]))
  await begin(fault.fails ? failing : '')
  if (fault.fails)
    await world.poll('the first failure', async () => (await world.find())?.status?.lastError !== undefined, 30_000)
  const run = (await world.record())?.run
  await end(first)
  if (fault.killed === 'all') {
    send(run?.runner?.pid, 'SIGKILL')
    send(world.terraform()?.pid, 'SIGKILL')
  }
  await proceed()
  await world.spawnManager(options(fault.skews[1]))
}
