// Begins one run: starts the runner's process, names it in the record, and only then instructs it.
import type { ChildProcess } from 'node:child_process'
import { CaptError, messageOf, toTimestamp } from '#lib'
import { identityOf } from '../lock/processes.ts'
import type { StartRequest } from '../port.ts'
import type { RunRecord } from '../record/record.ts'
import type { Versioned } from '../record/record-store.ts'
import { toolFor } from '../tool/choose-tool.ts'
import type { Tool } from '../tool/find-terraform.ts'
import { lastTool } from '../tool/last-tool.ts'
import type { ObjectKey } from '../workspace.ts'
import { launchRunner, prepareHandover, startFailure, writeRequest } from './launch.ts'
import type { LocalServices } from './services.ts'

export class RunStarter {
  readonly #services: LocalServices

  constructor(services: LocalServices) {
    this.#services = services
  }

  /** Called with a slot taken. The runner's process exists before the record names it, and waits until that is written. */
  async begin(request: StartRequest, seen: Versioned | undefined, record: RunRecord): Promise<void> {
    const { owner, workspace } = request
    const run = record.run!
    let child: ChildProcess | undefined
    try {
      const tool = await this.#toolOf(request, record)
      child = launchRunner(run.folder, this.#services.options)
      if (child.pid === undefined) throw await startFailure(child)
      const runner = identityOf(child.pid)
      // A run that waited in the queue starts now.
      const startedAt = run.phase === 'Queued' ? toTimestamp(this.#services.options.clock.now()) : run.startedAt
      const claimed: RunRecord = runner ? { ...record, run: { ...run, phase: 'Init', startedAt, runner } } : record
      const written = await this.#services.records.write(owner, seen, claimed)
      if (!written) {
        this.#dismiss(owner, child)
        return
      }
      this.#services.options.log.info('Starting run', {
        WorkspaceTemplateApply: `${owner.namespace}/${owner.name}`,
        run: run.id,
        verb: run.verb,
        attempt: run.attempt,
      })
      const key = { namespace: owner.namespace, name: owner.name }
      this.#services.watcher.watchChild(key, run.id, run.folder, child, workspace?.logToManager ?? false)
      if (runner) this.#services.hung.expect(key, runner, run.timeoutSeconds * 1000)
      void this.#instruct(child, request, written, tool)
      this.#services.notify(owner)
    } catch (error) {
      this.#dismiss(owner, child)
      throw error
    }
  }

  /** A controller has asked before; between then and now a template may have changed. */
  async #toolOf(request: StartRequest, record: RunRecord): Promise<Tool> {
    const { tools, options } = this.#services
    const choice = toolFor(tools, request, await lastTool(options.objects, request, record))
    if (choice.ok) return choice.tool
    const { code, message, hint } = choice.refusal
    throw new CaptError(code, message, { hint })
  }

  #dismiss(owner: ObjectKey, child: ChildProcess | undefined): void {
    child?.kill('SIGKILL')
    this.#services.queue.leave(owner)
  }

  /** Whatever goes wrong here, the runner finds out by itself. */
  async #instruct(child: ChildProcess, request: StartRequest, written: Versioned, tool: Tool): Promise<void> {
    try {
      writeRequest(request, written, tool, this.#services.options)
      child.stdin?.end(JSON.stringify(await prepareHandover(written, request, tool, this.#services.options)))
    } catch (error) {
      this.#services.options.log.warn('Preparing a run for its runner failed', { error: messageOf(error) })
      child.stdin?.end()
    }
  }
}
