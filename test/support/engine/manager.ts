// Engine and controllers as a process of their own, for tests that kill it. With `job` as its runner its runs are Jobs.

import { applyOfChecks, createLocalEngine } from '#engine'
import { connect, createEvents, loadKubeconfig } from '#kube'
import { type Clock, type Log, systemClock } from '#lib'
import { type AnyController, runControllers } from '#runtime'
import { workspaceApplyController } from '../../../src/controllers/workspace-apply/index.ts'
import { workspaceTemplateController } from '../../../src/controllers/workspace-template/index.ts'
import { openJobEngine } from './job-world.ts'

const [kubeconfig, workDir, binary, runner, graceSeconds] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
]

const write = (level: string) => (message: string, keys?: object) =>
  process.stderr.write(`${JSON.stringify({ level, message, ...keys })}\n`)
const log: Log = {
  debug: () => undefined,
  info: write('info'),
  warn: write('warn'),
  error: write('error'),
  with: () => log,
}
/** Its engine lives faster, so that three lease durations of silence pass within seconds. Its runners do not. */
const speed = Number(process.env['CAPT_TEST_CLOCK_SPEED'] ?? 1)
const clock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * speed,
  after: (delayMs, action) => systemClock.after(delayMs / speed, action),
}
const access = await loadKubeconfig({ path: kubeconfig })
const connection = connect(access)
const { objects, informers } = connection
const grace = { graceSeconds: Number(graceSeconds) }
const engine =
  runner === 'job'
    ? openJobEngine(access, connection, { clock, log, ...grace })
    : await createLocalEngine({
        objects,
        workDir,
        clock,
        log,
        terraform: { binary },
        kubeconfigForRunner: kubeconfig,
        runner: [process.execPath, runner],
        ...grace,
      })
const running = runControllers({
  controllers: [
    workspaceApplyController({ engine, backoff: () => 1 }),
    workspaceTemplateController(),
  ] as unknown as AnyController[],
  objects,
  informers,
  events: createEvents(objects, { controller: 'capt.appthrust.com/test', instance: String(process.pid) }),
  clock: systemClock,
  log,
})
engine.onChange((key) => running.wake('workspacetemplateapply', applyOfChecks(key)))
await running.synced()
process.stdout.write('ready\n')
setInterval(() => undefined, 2 ** 30)
