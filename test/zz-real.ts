import { spawnSync } from 'node:child_process'
import { startKube } from './real/lab.ts'
const kube = await startKube({ name: 'engine' })
const run = spawnSync(process.execPath, ['--test', '--test-name-pattern=changes only', '--test-concurrency=1', ...process.argv.slice(2)], { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8', env: { ...process.env, CAPT_REAL_KUBECONFIG: kube.kubeconfig }, maxBuffer: 64 << 20 })
console.log(run.stdout.slice(0, 12000))
await (kube as any).stop?.()
process.exit()
