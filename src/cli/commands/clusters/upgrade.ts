// Upgrades a cluster, or those that labels select in waves: in lockstep, step by step, each seen to work before the next.
import { type AnyObject, clusterKind } from '#api'
import { type Connected, servedKind } from '#kube'
import { CaptError, counted, formatDuration, parseDuration } from '#lib'
import {
  complaintOf,
  type FleetOutcome,
  groupWaves,
  type Outcome,
  performUpgrade,
  performWaves,
  planUpgrade,
  readState,
  type UpgradePorts,
} from '#upgrade'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  EXIT,
  Interrupted,
  type Io,
  withConnection,
} from '../../command.ts'
import { confirm, endDryRun, YES_OPTION } from '../../output.ts'
import { createReporter, type Reporter } from '../../progress/reporter.ts'
import { renderPlan, TARGET_OPTIONS, targetOf } from './upgrade-plan.ts'

export const command: Command = {
  name: 'upgrade',
  summary: 'Upgrade Kubernetes, and before it the Flux and Karpenter that it would strand',
  positionals: '[CLUSTER]',
  examples: {
    'upgrade demo --kubernetes 1.35 --wait 2h': 'All steps, each seen to work before the next begins',
    'upgrade demo --kubernetes 1.35': 'Begin the first step; run it again for the next one',
    'upgrade demo --node-image al2023@v20261102 --wait 1h': "Another image for Karpenter's nodes",
    'upgrade demo --dry-run': 'Show the steps and change nothing',
    'upgrade -l env=dev --wave-label wave --at-once 2 --soak 30m --wait 2h':
      'Many clusters in waves; the first one that is not healthy ends it',
  },
  options: {
    ...CONNECTION_OPTIONS,
    ...TARGET_OPTIONS,
    selector: {
      type: 'string',
      short: 'l',
      value: 'LABELS',
      about: 'Clusters with these labels, in waves; needs --wait.',
    },
    'wave-label': {
      type: 'string',
      value: 'KEY',
      about: 'Label whose values are the waves, in their order. One wave otherwise.',
    },
    'at-once': {
      type: 'string',
      value: 'COUNT',
      default: '1',
      about: 'Clusters of a wave that are upgraded at the same time.',
      check: (value) => (/^[1-9][0-9]{0,2}$/.test(value) ? undefined : 'a number from 1 to 999'),
    },
    soak: {
      type: 'string',
      value: 'DURATION',
      default: '10m',
      about: 'How long the clusters of a wave must stay healthy before the next wave.',
    },
    wait: {
      type: 'string',
      value: 'DURATION',
      about:
        'Follow every step to its end, at most this long for each cluster. Only the first step is begun otherwise.',
    },
    'dry-run': { type: 'boolean', about: 'Show the steps and change nothing.' },
    ...YES_OPTION,
  },
  async run(args, io) {
    const [name] = args.positionals
    const { selector } = args.values
    if ((name === undefined) === (selector === undefined))
      throw usage('upgrade needs the name of a cluster, or labels with -l', 'capt upgrade demo --kubernetes 1.35')
    const isFleet = typeof selector === 'string'
    if (isFleet && args.values['wait'] === undefined && args.values['dry-run'] !== true)
      throw usage('upgrade -l needs --wait: a wave begins when the one before is through', 'add --wait 2h')
    return withConnection(args, io, async (connected) => {
      const reporter = createReporter(io)
      const ports = await portsOf(connected, io, reporter)
      try {
        return isFleet ? await upgradeFleet(args, io, ports, selector) : await upgradeOne(args, io, ports, name!)
      } catch (error) {
        if (io.signal.aborted)
          throw new Interrupted('what was begun goes on without this command; run it again to go on')
        throw error
      } finally {
        reporter.close()
      }
    })
  },
}

const usage = (message: string, hint: string) => new CaptError('CAPT_USAGE', message, { hint })

const waitOf = ({ values }: Arguments): number =>
  typeof values['wait'] === 'string' ? parseDuration(values['wait']) : 0

async function portsOf(connected: Connected, io: Io, reporter: Reporter): Promise<UpgradePorts> {
  const kind = await servedKind(connected, clusterKind)
  const { objects, namespace } = connected
  const { live, line: progress } = reporter
  return { objects, namespace, clusterKind: kind, clock: io.clock, signal: io.signal, progress, live }
}

async function upgradeOne(args: Arguments, io: Io, ports: UpgradePorts, name: string): Promise<number> {
  const { target, image } = targetOf(args)
  const plan = planUpgrade(await readState(ports.clusterKind, name, ports), target, image)
  io.stdout.write(renderPlan(plan))
  if (args.values['dry-run'] === true) return endDryRun(io)
  if (plan.steps.length === 0) return EXIT.fine
  if (
    !(await confirm(`Upgrade cluster ${ports.namespace}/${name} in ${counted(plan.steps.length, 'step')}?`, args, io))
  )
    return EXIT.failed
  const started = io.clock.monotonic()
  const outcome = await performUpgrade(ports, name, { target: plan.to, image, waitMs: waitOf(args) })
  if (outcome.is === 'done') {
    const took = formatDuration(io.clock.monotonic() - started)
    io.stdout.write(`Cluster ${name} runs Kubernetes ${outcome.kubernetes} (${took})\n`)
  } else io.stderr.write(`${describe(outcome, name)}\n`)
  return exitOf(outcome)
}

function describe(outcome: Outcome, name: string): string {
  switch (outcome.is) {
    case 'done':
      return `Cluster ${name} runs Kubernetes ${outcome.kubernetes}`
    case 'begun': {
      const { step, left } = outcome
      const rest = left > 0 ? `; ${left} more to go: run the command again, or with --wait` : ''
      return `Begun: ${step.name} ${step.from} -> ${step.to}${rest}. capt describe cluster ${name} shows it`
    }
    case 'stopped':
      return `Stopped: ${outcome.message}\n  hint ${outcome.hint}`
    case 'late':
      return `Not through in time: ${outcome.message}\n  hint what was begun goes on by itself; run the command again to go on`
  }
}

const exitOf = ({ is }: Outcome): number => (is === 'stopped' ? EXIT.failed : is === 'late' ? EXIT.notReady : EXIT.fine)

async function upgradeFleet(args: Arguments, io: Io, ports: UpgradePorts, selector: string): Promise<number> {
  const { objects, namespace, clusterKind: kind } = ports
  const selected = await Array.fromAsync(objects.list<AnyObject>(kind, { namespace, labelSelector: selector }))
  const members = selected.map(({ metadata: { name, labels = {} } }) => ({ name, labels }))
  if (members.length === 0)
    throw new CaptError('CAPT_UPGRADE_REFUSED', `No Cluster of namespace ${namespace} has the labels ${selector}`, {
      hint: 'capt get clusters shows those that there are',
    })
  const label = args.values['wave-label'] as string | undefined
  const waves = groupWaves(members, label)
  const { target, image } = targetOf(args)
  for (const [index, wave] of waves.entries()) {
    io.stdout.write(`Wave ${index + 1} of ${waves.length}\n`)
    for (const name of wave) io.stdout.write(renderPlan(planUpgrade(await readState(kind, name, ports), target, image)))
  }
  if (args.values['dry-run'] === true) return endDryRun(io)
  if (!(await confirm(`Upgrade ${counted(members.length, 'cluster')} in ${counted(waves.length, 'wave')}?`, args, io)))
    return EXIT.failed
  const upgrade = async (name: string) => {
    const { to } = planUpgrade(await readState(kind, name, ports), target, image)
    const progress = (text: string) => ports.progress(`${name}: ${text}`)
    const live = (text: string) => ports.live(`${name}: ${text}`)
    return await performUpgrade({ ...ports, progress, live }, name, { target: to, image, waitMs: waitOf(args) })
  }
  const outcome = await performWaves(
    { ...ports, upgrade, complaintOf: async (name) => complaintOf(await readState(kind, name, ports)) },
    waves,
    { maxConcurrent: Number(args.values['at-once']), soakMs: parseDuration(String(args.values['soak'])) },
  )
  return reportFleet(outcome, io)
}

function reportFleet({ done, failed, notReached }: FleetOutcome, io: Io): number {
  if (done.length > 0) io.stdout.write(`Upgraded: ${done.join(', ')}\n`)
  for (const { name, outcome } of failed) io.stderr.write(`${name}: ${describe(outcome, name)}\n`)
  if (notReached.length > 0) io.stdout.write(`Not reached: ${notReached.join(', ')}\n`)
  return failed.length === 0 ? EXIT.fine : Math.max(...failed.map(({ outcome }) => exitOf(outcome)))
}
