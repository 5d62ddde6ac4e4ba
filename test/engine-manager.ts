// Engine and controllers as a process of their own, for tests that kill it.
import { workspaceApplyController, workspaceTemplateController } from '#controllers'
import { createLocalEngine } from '#engine'
import { connect, createEvents, loadKubeconfig } from '#kube'
import { type Log, systemClock } from '#lib'
import { type AnyController, runControllers } from '#runtime'

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
const connection = connect(await loadKubeconfig({ path: kubeconfig }))
const { objects, informers } = connection
const engine = await createLocalEngine({
  objects,
  workDir,
  clock: systemClock,
  log,
  terraform: { binary },
  kubeconfigForRunner: kubeconfig,
  runner: [process.execPath, runner],
  graceSeconds: Number(graceSeconds),
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
engine.onChange((key) => running.wake('workspacetemplateapply', key))
await running.synced()
process.stdout.write('ready\n')
setInterval(() => undefined, 2 ** 30)
