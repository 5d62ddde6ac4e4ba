// Starts `capt up` as a process of its own that outlives this one, and returns when its API is ready.
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CaptError, sleep } from '#lib'
import type { Arguments, Io, Option } from '../command.ts'

const POLL_MS = 100

interface Detached {
  readonly pid: number
  readonly log: string
  /** The line that the home prints when it is ready. */
  readonly ready: string
}

/** The options that were given, without those that only concern this process. */
export function optionWords(
  options: Readonly<Record<string, Option>>,
  { values }: Arguments,
  without: readonly string[],
): readonly string[] {
  return Object.entries(options)
    .filter(([name]) => !without.includes(name))
    .flatMap(([name, { type }]) => {
      const value = values[name]
      if (value === undefined || value === false) return []
      if (type === 'boolean') return [`--${name}`]
      return [value].flat().map((one) => `--${name}=${String(one)}`)
    })
}

export async function startDetached(words: readonly string[], dataDir: string, io: Io): Promise<Detached> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const log = join(dataDir, 'capt.log')
  const file = openSync(log, 'a', 0o600)
  const begin = statSync(log).size
  const program = [...process.execArgv, process.argv[1] ?? '']
  const child = spawn(process.execPath, [...program, 'up', ...words], {
    cwd: io.cwd,
    env: io.env as NodeJS.ProcessEnv,
    detached: true,
    stdio: ['ignore', file, file],
  })
  closeSync(file)
  let ended: string | undefined
  child.once('exit', (code, signal) => {
    ended = String(code ?? signal)
  })
  child.once('error', (error) => {
    ended = error.message
  })
  for (;;) {
    const text = readFileSync(log).subarray(begin).toString('utf8')
    const ready = /^capt is ready at .*$/m.exec(text)?.[0]
    if (ready !== undefined) {
      child.unref()
      return { pid: child.pid ?? 0, log, ready }
    }
    if (ended !== undefined)
      throw new CaptError('CAPT_HOME_ENDED', `the home ended with ${ended} before it was ready`, {
        at: log,
        hint: text.trimEnd().split('\n').slice(-3).join(' ').slice(0, 400) || 'see its log',
      })
    await sleep(io.clock, POLL_MS, io.signal)
  }
}
