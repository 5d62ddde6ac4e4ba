// The controllers alone, against a management cluster.

import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { CONTROLLER_GROUPS, type ControllerGroup } from '#api'
import { type Manager, startManager } from '#app'
import { CaptError, isCaptError, messageOf, sleep } from '#lib'
import { APPROVAL_OPTIONS, approvalOf, type Command, ENGINE_OPTION, EXIT, type Io, type Option } from '../../command.ts'
import { shutdownOf, superviseFirstProcess } from '../../init-process.ts'
import { CONFIG_OPTION, readSettings } from '../../settings.ts'
import { addressOf } from './up.ts'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const TIME_HINT = 'a time in UTC, such as 2026-01-31T12:00:00Z'

const options = {
  kubeconfig: { type: 'string', value: 'FILE', about: 'Kubeconfig of the management cluster; in-cluster otherwise.' },
  context: { type: 'string', value: 'NAME', about: "Context to use; the file's current one otherwise." },
  namespace: { type: 'string', value: 'NAME', about: 'Look at this namespace only; every namespace otherwise.' },
  'watch-secrets': {
    type: 'boolean',
    about: 'With --namespace: notice at once when a kubeconfig Secret is changed. Its role must allow list and watch.',
  },
  'watch-filter': {
    type: 'string',
    value: 'VALUE',
    about: 'Only objects whose label cluster.x-k8s.io/watch-filter has this value.',
  },
  'enable-controller': {
    type: 'string',
    multiple: true,
    value: CONTROLLER_GROUPS.join('|'),
    about: 'Controllers to run; all of them otherwise.',
  },
  'leader-elect': { type: 'boolean', about: 'Work only while holding the Lease, so that several managers may run.' },
  'leader-elect-namespace': {
    type: 'string',
    value: 'NAME',
    about: 'Namespace of the Lease; $POD_NAMESPACE or capt-system otherwise.',
  },
  'health-probe-bind-address': {
    type: 'string',
    value: 'HOST:PORT',
    about: 'Where /healthz and /readyz answer; 127.0.0.1:8081 otherwise, 0 for nowhere.',
  },
  'metrics-bind-address': {
    type: 'string',
    value: 'HOST:PORT',
    about: 'Where /metrics answers over TLS; nowhere unless given.',
  },
  'work-dir': {
    type: 'string',
    value: 'DIR',
    about: 'Folder for Terraform runs; a folder below the home folder otherwise.',
  },
  engine: {
    type: 'string',
    value: 'job|local|terraform|tofu|simulated',
    about:
      'What runs Terraform: a Kubernetes Job for each run (the default in a pod), or beside the manager what is on the PATH (local, the default elsewhere) or the program named.',
    check: (value) => (['job', 'local'].includes(value) ? undefined : engineFault(value)),
  },
  'runner-image': {
    type: 'string',
    value: 'IMAGE',
    about: 'Image of the runs in Jobs, with Terraform and capt; $CAPT_RUNNER_IMAGE otherwise.',
  },
  'run-namespace': {
    type: 'string',
    value: 'NAME',
    about: "Namespace of the Jobs, which exists; the manager's own otherwise.",
  },
  'run-service-account': {
    type: 'string',
    multiple: true,
    value: '[NAMESPACE=]NAME',
    about: 'Account that runs have towards the cloud, for all namespaces or for one; capt-run otherwise.',
  },
  'run-memory': { type: 'string', value: 'QUANTITY', about: 'Memory of a run in a Job; 2Gi at most otherwise.' },
  'run-storage': { type: 'string', value: 'QUANTITY', about: 'Disk of a run in a Job; 8Gi at most otherwise.' },
  ...APPROVAL_OPTIONS,
  'restored-at': {
    type: 'string',
    value: 'TIME',
    about:
      'When the management cluster was restored from a backup: the first plan of every workspace since then waits for approval unless it is empty.',
    check: (value) => (TIME.test(value) && !Number.isNaN(Date.parse(value)) ? undefined : TIME_HINT),
  },
  'concurrent-runs': {
    type: 'string',
    value: 'NUMBER',
    about:
      'Terraform runs at once; 20 in Jobs and as many as the machine has cores otherwise. Beside the manager, a run of more than a minute gives its slot to the next one, for at most as many again.',
  },
  'concurrent-runs-per-namespace': {
    type: 'string',
    value: 'NUMBER',
    about: 'Terraform runs at once for one namespace; 10 otherwise.',
  },
  'concurrent-runs-per-identity': {
    type: 'string',
    value: 'NUMBER',
    about: 'Terraform runs at once with the same credentials; 5 otherwise.',
  },
  'notification-secret': {
    type: 'string',
    value: 'NAMESPACE/NAME',
    about: 'Secret with the webhook of namespaces that have no Secret capt-notification of their own; none otherwise.',
    check: (value) =>
      /^[^/\s]+\/[^/\s]+$/.test(value) ? undefined : 'a namespace and a name, such as capt-system/webhook',
  },
  'allow-shared-runner': {
    type: 'boolean',
    about: "In a cluster: run Terraform for several namespaces, which then share the manager's identity and disk.",
  },
  'shutdown-grace': {
    type: 'string',
    value: 'DURATION',
    about:
      'How long Terraform runs may go on after SIGTERM before they are asked to stop and save; 150s in a pod. Elsewhere runs outlive the manager unless this is given.',
  },
  'log-level': { type: 'string', value: 'LEVEL', about: 'debug, info, warn or error; info otherwise.' },
  ...CONFIG_OPTION,
} as const satisfies Record<string, Option>

function engineFault(value: string): string | undefined {
  const fault = ENGINE_OPTION.engine.check(value)
  return fault?.replace('one of: ', 'one of: job, local, ')
}

export const command: Command = {
  name: 'manager',
  summary: 'Run the controllers against a management cluster',
  examples: {
    'manager --kubeconfig mgmt.yaml': 'All controllers, from this machine',
    'manager --enable-controller infrastructure --leader-elect': 'Some of them, one of several',
  },
  options,
  onSignal: 'stops',
  async run(args, io) {
    const settings = await readSettings(options, args, io)
    const text = (name: keyof typeof options) =>
      typeof settings[name] === 'string' ? (settings[name] as string) : undefined
    const address = (name: keyof typeof options, fallback: string | undefined) => {
      const value = text(name) ?? fallback
      return value === undefined || value === '0' ? undefined : addressOf(value, '::')
    }
    // Runs have folders of their own: what is relative here would be another path there.
    const path = (name: 'kubeconfig' | 'work-dir') => {
      const value = text(name)
      return value === undefined ? undefined : resolve(io.cwd, value)
    }
    superviseFirstProcess(io)
    const shutdown = shutdownOf(text('shutdown-grace'), io)
    const start = () =>
      startManager({
        kubeconfig: path('kubeconfig'),
        context: text('context'),
        namespace: text('namespace'),
        watchFilter: text('watch-filter'),
        watchSecrets: settings['watch-secrets'] === true,
        allowSharedRunner: settings['allow-shared-runner'] === true,
        controllers: groupsOf(settings['enable-controller']),
        leaderElection:
          settings['leader-elect'] === true
            ? (text('leader-elect-namespace') ?? io.env['POD_NAMESPACE'] ?? 'capt-system')
            : undefined,
        health: address('health-probe-bind-address', '127.0.0.1:8081'),
        metrics: address('metrics-bind-address', undefined),
        workDir: path('work-dir') ?? join(io.env['HOME'] ?? homedir(), '.capt', 'runs'),
        engine: text('engine'),
        approval: { ...approvalOf(settings), restoredAt: text('restored-at') },
        notificationSecret: text('notification-secret'),
        limits: {
          ...countOf('total', 'concurrent-runs', text('concurrent-runs')),
          ...countOf('perNamespace', 'concurrent-runs-per-namespace', text('concurrent-runs-per-namespace')),
          ...countOf('perIdentity', 'concurrent-runs-per-identity', text('concurrent-runs-per-identity')),
        },
        jobs: {
          runNamespace: text('run-namespace'),
          image: text('runner-image') ?? io.env['CAPT_RUNNER_IMAGE'],
          accounts: Array.isArray(settings['run-service-account']) ? settings['run-service-account'] : [],
          memory: text('run-memory'),
          storage: text('run-storage'),
        },
        logLevel: text('log-level') ?? 'info',
        logTo: io.stderr,
        env: io.env,
        shutdown,
      })
    for (let isFirst = true; ; isFirst = false) {
      const manager = isFirst ? await start() : await startWithRetry(start, io)
      try {
        await manager.failed(io.signal)
        return EXIT.fine
      } catch (error) {
        // Runners would end with this process: it stays, and leads again as soon as the API server answers.
        if (!shutdown || !isCaptError(error, 'CAPT_LEADERSHIP_LOST') || !manager.engine?.running) throw error
        io.stderr.write(`${error.message}; ${manager.engine.running} Terraform runs go on\n`)
        await untilWorkable(manager, io)
        if (io.signal.aborted || !manager.engine.running) throw error
        await manager.stop({ leaveRunners: true })
      } finally {
        await manager.stop()
      }
    }
  },
}

const POLL_MS = 500
const START_AGAIN_MS = 2_000

/** What could start before can start again; an API server that comes back may go away once more. */
async function startWithRetry(start: () => Promise<Manager>, { signal, clock, stderr }: Io): Promise<Manager> {
  for (;;) {
    try {
      return await start()
    } catch (error) {
      if (signal.aborted) throw error
      stderr.write(`Starting again failed: ${messageOf(error)}\n`)
      await sleep(clock, START_AGAIN_MS, signal)
    }
  }
}

/** Waits until the API server answers, the runs have ended, or the process is to end. */
async function untilWorkable(manager: Manager, { signal, clock }: Io): Promise<void> {
  const over = new AbortController()
  const isOver = () => signal.aborted || !manager.engine?.running || over.signal.aborted
  const answers = manager.answers(over.signal).then(() => over.abort())
  while (!isOver()) await sleep(clock, POLL_MS)
  over.abort()
  await answers
}

function groupsOf(value: unknown): readonly ControllerGroup[] {
  const words = Array.isArray(value) ? (value as readonly string[]).flatMap((word) => word.split(',')) : []
  for (const word of words) {
    if (!CONTROLLER_GROUPS.includes(word as ControllerGroup))
      throw new CaptError('CAPT_USAGE', `There is no controller "${word}"`, {
        hint: `one of: ${CONTROLLER_GROUPS.join(', ')}`,
      })
  }
  return words.length === 0 ? CONTROLLER_GROUPS : (words as ControllerGroup[])
}

function countOf(limit: string, flag: string, text: string | undefined): Readonly<Record<string, number>> {
  if (text === undefined) return {}
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1)
    throw new CaptError('CAPT_USAGE', `--${flag} ${text} is not a count`, { hint: 'write a number of at least 1' })
  return { [limit]: count }
}
