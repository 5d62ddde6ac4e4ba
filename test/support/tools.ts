// Programs that tests use when they are there. A file that lacks one reports a skipped test that names it; in CI that is
// a failure (test/run.ts).
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'

export function findTool(name: string): string | undefined {
  const found = findOnPath(name)
  if (!found) reportMissing(name)
  return found
}

/** The program that does the runs: Terraform, unless CAPT_TEST_TOOL names tofu. */
export const RUN_TOOL = process.env['CAPT_TEST_TOOL'] ?? 'terraform'
/** For the spec of a template, which names the program where it is not the default. */
export const TOOL_OF_TEMPLATE = RUN_TOOL === 'terraform' ? {} : { tool: { name: RUN_TOOL } }

export function findOnPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

const reported = new Set<string>()

/** A skipped test in the calling file, once: the tests that need the tool may not even be defined. */
export function reportMissing(tool: string, reason = `${tool} is not installed`): void {
  if (reported.has(tool)) return
  reported.add(tool)
  test(`needs ${tool}`, { skip: reason }, () => undefined)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly input?: string
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Runs a program to its end. A program that hangs is killed, and its code is -1. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      {
        ...(options.cwd ? { cwd: options.cwd } : {}),
        env: { ...process.env, ...options.env },
        timeout: options.timeoutMs ?? 30_000,
        killSignal: 'SIGKILL',
        maxBuffer: 16 * 1024 * 1024,
      },
      (error, out, err) => {
        const code = error ? (typeof error.code === 'number' ? error.code : -1) : 0
        resolve({ code, out, err })
      },
    )
    child.stdin?.end(options.input ?? '')
  })
}
