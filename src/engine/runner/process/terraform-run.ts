// The Terraform part of a run: init, plan into a file, apply exactly that file. Knows commands and their answers, and
// nothing about records, locks or where state is kept.

import { execFile } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clock, Json } from '#lib'
import { parseJson } from '#lib'
import { type Stage, toFault } from '../../faults/faults.ts'
import { type Message, type PlanCounts, Progress, readMessage } from '../../messages.ts'
import type { Verb } from '../../record/record.ts'
import type { Tool } from '../../tool/find-terraform.ts'
import { folderGone, killed, oomKills, RunFailure } from '../failure.ts'
import type { Folder } from '../inputs/folder.ts'
import { initFingerprint, isInitialized, type Layout, markInitialized, needsNoInit } from '../inputs/layout.ts'
import type { Outputs } from '../record/outputs.ts'
import { runStep } from './terraform-process.ts'

interface TerraformRunOptions {
  readonly folder: Folder
  readonly tool: Tool
  readonly env: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly graceMs: number
  readonly note: (text: string) => void
  readonly onProgress: (progress: Progress) => void
  /** What to blame when Terraform was asked to stop. */
  readonly stopped: () => RunFailure
}

interface StepOptions {
  /** Exit codes that are not a failure. */
  readonly fine?: readonly number[]
  readonly onProgress?: (() => void) | undefined
}

const STDERR_TAIL_CHARS = 4096
const MAX_ANSWER_BYTES = 256 * 1024 * 1024

export class TerraformRun {
  readonly progress = new Progress()
  readonly #options: TerraformRunOptions
  #stderrTail = ''
  #wasKilled = false
  #isFolderGone = false
  #hasApplied = false

  constructor(options: TerraformRunOptions) {
    this.#options = options
  }

  /** Terraform did not end by itself: what it was working on is in doubt. */
  get wasKilled(): boolean {
    return this.#wasKilled
  }

  /** Terraform wrote to files that nobody finds any more, and may even have ended well. */
  get isFolderGone(): boolean {
    return this.#isFolderGone
  }

  /** Terraform was asked to change something, whatever came of it. */
  get hasApplied(): boolean {
    return this.#hasApplied
  }

  /** Downloads a Remote module into an empty folder. */
  async fetch(cwd: string, address: string): Promise<void> {
    await this.#run('init', cwd, [
      'init',
      '-json',
      '-input=false',
      '-backend=false',
      '-get=false',
      `-from-module=${address}`,
    ])
  }

  /** `finish` belongs to it: an init whose packages were not put in order is done again. */
  async init(layout: Layout, frozen: boolean, finish: () => void): Promise<void> {
    const { folder, tool } = this.#options
    const { root, workspace } = layout
    const fingerprint = initFingerprint(root, workspace, `${tool.name} ${tool.version}`)
    if (isInitialized(folder, root, fingerprint) || needsNoInit(root, workspace)) return
    const hasModules = existsSync(join(root, '.terraform', 'modules', 'modules.json'))
    const args = ['init', '-json', '-input=false', ...(frozen && hasModules ? ['-get=false'] : []), ...layout.initArgs]
    await this.#run('init', root, args)
    finish()
    markInitialized(folder, root, fingerprint)
  }

  /** Returns what would change; undefined when nothing would. */
  async plan(layout: Layout, verb: Verb): Promise<PlanCounts | undefined> {
    const { folder } = this.#options
    const { root, varArgs, planArgs, destroyVarArgs, destroyArgs } = layout
    rmSync(folder.plan, { force: true })
    const base = ['plan', '-json', '-input=false', '-detailed-exitcode', `-out=${folder.plan}`]
    const args =
      verb === 'destroy' ? [...base, '-destroy', ...destroyVarArgs, ...destroyArgs] : [...base, ...varArgs, ...planArgs]
    const code = await this.#run('plan', root, args, { fine: [0, 2] })
    return code === 2 ? this.progress.counts : undefined
  }

  /** A destroy must end even when a data source or provider cannot be asked any more: plan it from the state alone. */
  async planDestroy(layout: Layout): Promise<PlanCounts | undefined> {
    try {
      return await this.plan(layout, 'destroy')
    } catch (error) {
      const helps = error instanceof RunFailure && error.kind === 'user' && !this.#options.stop.aborted
      if (!helps || layout.destroyArgs.includes('-refresh=false')) throw error
      this.#options.note(`Planning failed (${error.message}); planning again from the state alone`)
      this.progress.errors.length = 0
      return this.plan({ ...layout, destroyArgs: [...layout.destroyArgs, '-refresh=false'] }, 'destroy')
    }
  }

  /** `onProgress` is called beside the one of the options. */
  async apply(layout: Layout, verb: Verb, onProgress?: () => void): Promise<void> {
    const { folder } = this.#options
    this.#hasApplied = true
    const args = ['apply', '-json', '-input=false', ...layout.applyArgs, folder.plan]
    await this.#run(verb === 'destroy' ? 'destroy' : 'apply', layout.root, args, { onProgress })
  }

  /** The plan in the folder, with all its values. They never touch a file or the log. */
  show(layout: Layout): Promise<Json> {
    return this.#ask(layout, ['show', '-json', this.#options.folder.plan])
  }

  async #ask({ root }: Layout, args: readonly string[]): Promise<Json> {
    const { tool, env, stop } = this.#options
    if (stop.aborted) throw this.#options.stopped()
    const options = { cwd: root, env, maxBuffer: MAX_ANSWER_BYTES }
    const { stdout } = await promisify(execFile)(tool.binary, args, options)
    return parseJson(stdout) as Json
  }

  /** Asks Terraform for the outputs: only where it keeps the state itself. They never touch a file or the log. */
  async outputs(layout: Layout): Promise<Outputs> {
    const parsed = (await this.#ask(layout, ['output', '-json'])) as Record<
      string,
      { value?: Json; sensitive?: boolean }
    >
    return Object.fromEntries(
      Object.entries(parsed).map(([name, { value = null, sensitive = false }]) => [name, { value, sensitive }]),
    )
  }

  async #run(
    stage: Stage,
    cwd: string,
    args: readonly string[],
    { fine = [0], onProgress }: StepOptions = {},
  ): Promise<number> {
    const { folder, tool, env, clock, stop, graceMs, note } = this.#options
    if (stop.aborted) throw this.#options.stopped()
    const oomBefore = oomKills()
    this.#stderrTail = ''
    note(`${tool.name} ${args[0]}${args.includes('-destroy') ? ' -destroy' : ''}`)
    const ended = await runStep(
      folder,
      { binary: tool.binary, args, cwd, env, name: stage },
      {
        clock,
        stop,
        graceMs,
        onLine: (line) => this.#onLine(line, stage, onProgress),
        onError: (line) => this.#onErrorLine(line),
      },
    )
    if (ended.signal !== null) this.#wasKilled = true
    if (!existsSync(cwd)) this.#isFolderGone = true
    if (this.#isFolderGone) throw new RunFailure(folderGone())
    if (stop.aborted && !fine.includes(ended.code ?? -1)) throw this.#options.stopped()
    if (ended.signal !== null) throw new RunFailure(killed(ended.signal, this.#stderrTail, oomBefore))
    if (fine.includes(ended.code ?? -1)) return ended.code ?? 0
    throw new RunFailure(
      toFault(this.progress.errors, stage) ?? {
        kind: 'internal',
        code: 'CAPT_TF_FAILED',
        message: `${tool.name} ${args[0]} ended with code ${ended.code}: ${lastLine(this.#stderrTail)}`,
        hint: 'capt logs shows the whole output',
      },
    )
  }

  #onLine(line: string, stage: Stage, onProgress: (() => void) | undefined): void {
    const message = readMessage(line)
    if (!message) return
    this.progress.add(message)
    // Applying a saved plan repeats it line by line; the log has it once.
    if (message.is !== 'planned' || stage === 'plan') this.#options.note(textOf(message))
    if (message.is === 'text') return
    onProgress?.()
    this.#options.onProgress(this.progress)
  }

  #onErrorLine(line: string): void {
    this.#stderrTail = `${this.#stderrTail}${line}\n`.slice(-STDERR_TAIL_CHARS)
    this.#options.note(line)
  }
}

function textOf(message: Message): string {
  if (message.is === 'planned') return `${message.address}: plan to ${message.action}`
  if (message.is !== 'diagnostic') return message.text
  const { summary, detail, address } = message.diagnostic
  const level = message.level === 'error' ? 'Error' : 'Warning'
  return `${level}: ${address === '' ? '' : `${address}: `}${summary}${detail === '' ? '' : `\n${detail}`}`
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
