// Updates of machines: where they are, their history, and how to stop, undo or repeat them.
import { CAPTMachineDeployment, RESTARTED_AT_ANNOTATION } from '#api'
import type { Connected } from '#kube'
import { CaptError, closest, formatDuration, parseDuration, sleep } from '#lib'
import { renderTable } from '#view'
import {
  type Arguments,
  CONNECTION_OPTIONS,
  type Command,
  EXIT,
  Interrupted,
  type Io,
  withConnection,
} from '../../command.ts'
import { createReporter } from '../../progress/reporter.ts'
import {
  chooseRevision,
  type DeploymentKey,
  progressOf,
  readDeployment,
  readRevisions,
  revisionOf,
  toTemplate,
} from '../../rollout.ts'

const VERBS = ['status', 'history', 'undo', 'pause', 'resume', 'restart'] as const
type Verb = (typeof VERBS)[number]

const POLL_MS = 500
const DEFAULT_TIMEOUT = '10m'

export const command: Command = {
  name: 'rollout',
  summary: 'Follow, undo, pause, resume or repeat the update of a CAPTMachineDeployment',
  positionals: 'VERB NAME',
  examples: {
    'rollout status workers': 'Wait until the update is over, or has failed',
    'rollout history workers': 'The templates that it can go back to',
    'rollout undo workers --to-revision 2': 'Go back to a template; the one before without the option',
    'rollout pause workers': 'Change the template several times, then: rollout resume workers',
    'rollout restart workers': 'Replace every machine by a new one of the same template',
  },
  options: {
    ...CONNECTION_OPTIONS,
    'to-revision': {
      type: 'string',
      value: 'NUMBER',
      about: 'For undo: the revision to go back to; the one before otherwise.',
      check: (value) => (/^[1-9]\d*$/.test(value) ? undefined : 'a number from 1; capt rollout history lists them'),
    },
    timeout: {
      type: 'string',
      value: 'DURATION',
      about: `For status: how long to wait; ${DEFAULT_TIMEOUT} otherwise. 0s looks once.`,
    },
  },
  async run(args, io) {
    const [word, name] = args.positionals
    const verb = VERBS.find((one) => one === word)
    if (!verb || !name) throw misused(word, name)
    refuseOption(args, verb, 'to-revision', 'undo')
    refuseOption(args, verb, 'timeout', 'status')
    return withConnection(args, io, async (connected) => {
      const key = { namespace: connected.namespace, name: name.replace(/^(captmachinedeployments?)\//i, '') }
      return await ACTIONS[verb]({ args, io, connected, key })
    })
  },
}

function misused(word: string | undefined, name: string | undefined): CaptError {
  const verbs = `one of: ${VERBS.join(', ')}`
  if (word === undefined) return new CaptError('CAPT_USAGE', 'rollout needs a verb and a name', { hint: verbs })
  if (!VERBS.some((one) => one === word)) {
    const near = closest(word, VERBS)
    return new CaptError('CAPT_USAGE', `rollout does not know "${word}"`, {
      hint: near ? `did you mean ${near}? ${verbs}` : verbs,
    })
  }
  return new CaptError('CAPT_USAGE', `rollout ${word} needs the name of a CAPTMachineDeployment`, {
    hint: name === undefined ? 'capt get captmachinedeployments' : verbs,
  })
}

function refuseOption(args: Arguments, verb: Verb, option: string, of: Verb): void {
  if (args.values[option] !== undefined && verb !== of)
    throw new CaptError('CAPT_USAGE', `--${option} is for rollout ${of}`, { hint: `leave it out of rollout ${verb}` })
}

interface Context {
  readonly args: Arguments
  readonly io: Io
  readonly connected: Connected
  readonly key: DeploymentKey
}

const ACTIONS: Readonly<Record<Verb, (context: Context) => Promise<number>>> = {
  status: showStatus,
  history: showHistory,
  undo,
  pause: (context) => setPaused(context, true),
  resume: (context) => setPaused(context, false),
  restart,
}

async function showStatus({ args, io, connected, key }: Context): Promise<number> {
  const { timeout = DEFAULT_TIMEOUT } = args.values
  const waitMs = parseDuration(String(timeout))
  const reporter = createReporter(io)
  for (;;) {
    const progress = progressOf(await readDeployment(connected, key))
    if (progress.is !== 'working') reporter.close()
    if (progress.is === 'complete') {
      io.stdout.write(`${key.name} is rolled out: ${progress.message}\n`)
      return EXIT.fine
    }
    if (progress.is === 'failed') {
      io.stdout.write(`${key.name} is not rolled out: ${progress.message}\n`)
      return EXIT.failed
    }
    if (reporter.elapsedMs() >= waitMs) {
      reporter.close()
      io.stdout.write(`${key.name} is not rolled out after ${formatDuration(waitMs)}: ${progress.message}\n`)
      return EXIT.notReady
    }
    reporter.note(key.name, progress.message)
    reporter.live(`${key.name}: ${progress.message}`)
    await sleep(io.clock, POLL_MS, io.signal).catch(() => {
      reporter.close()
      throw new Interrupted('the update goes on without this command')
    })
  }
}

async function showHistory({ io, connected, key }: Context): Promise<number> {
  const deployment = await readDeployment(connected, key)
  const current = revisionOf(deployment)
  const rows = (await readRevisions(connected, deployment)).map(({ revision, set }) => [
    String(revision),
    revision === current ? 'current' : '',
    set.metadata.name,
    set.spec.template.spec.instanceType,
    String(set.status?.replicas ?? 0),
    set.metadata.creationTimestamp ?? '',
  ])
  io.stdout.write(renderTable(['REVISION', '', 'SET', 'TYPE', 'MACHINES', 'CREATED'], rows))
  return EXIT.fine
}

async function undo({ args, io, connected, key }: Context): Promise<number> {
  const deployment = await readDeployment(connected, key)
  if (deployment.spec.paused)
    throw new CaptError('CAPT_ROLLOUT_PAUSED', `${key.name} is paused: an undo would not be rolled out`, {
      hint: `capt rollout resume ${key.name}`,
    })
  const wanted = args.values['to-revision']
  const revisions = await readRevisions(connected, deployment)
  const chosen = chooseRevision(revisions, revisionOf(deployment), wanted === undefined ? undefined : Number(wanted))
  const body = [
    { op: 'test', path: '/metadata/resourceVersion', value: deployment.metadata.resourceVersion },
    { op: 'replace', path: '/spec/template', value: toTemplate(chosen.set) },
  ]
  await connected.objects.patch(CAPTMachineDeployment, key, { type: 'json', body })
  const { instanceType } = chosen.set.spec.template.spec
  io.stdout.write(`${key.name} goes back to revision ${chosen.revision} (${instanceType})\n`)
  return EXIT.fine
}

async function setPaused({ io, connected, key }: Context, paused: boolean): Promise<number> {
  const deployment = await readDeployment(connected, key)
  const word = paused ? 'paused' : 'resumed'
  if ((deployment.spec.paused ?? false) === paused) {
    io.stdout.write(paused ? `${key.name} is paused already\n` : `${key.name} is not paused\n`)
    return EXIT.fine
  }
  const body = { spec: { paused: paused ? true : null } }
  await connected.objects.patch(CAPTMachineDeployment, key, { type: 'merge', body })
  io.stdout.write(`${key.name} is ${word}\n`)
  return EXIT.fine
}

async function restart({ io, connected, key }: Context): Promise<number> {
  const deployment = await readDeployment(connected, key)
  if (deployment.spec.paused)
    throw new CaptError('CAPT_ROLLOUT_PAUSED', `${key.name} is paused: a restart would not be rolled out`, {
      hint: `capt rollout resume ${key.name}`,
    })
  const annotations = { [RESTARTED_AT_ANNOTATION]: new Date(io.clock.now()).toISOString() }
  const body = { spec: { template: { metadata: { annotations } } } }
  await connected.objects.patch(CAPTMachineDeployment, key, { type: 'merge', body })
  io.stdout.write(`${key.name} replaces its ${deployment.spec.replicas} machines\n`)
  return EXIT.fine
}
