// Mirrors every change of the state file to where it is kept, at once and in order, one write at a time. Between two
// writes only the newest state counts. What is not a whole state is never saved.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, type Log, messageOf, toTimestamp } from '#lib'
import type { SavedState } from '../../record/record.ts'
import { readState, type StateInfo } from '../../state/state-file.ts'
import { readText, writeWhole } from '../inputs/folder.ts'

const POLL_MS = 100

interface StateUploaderOptions {
  /** Folder that holds terraform.tfstate. */
  readonly root: string
  /** A whole copy beside it: the file itself is incomplete during every write. */
  readonly copy: string
  readonly clock: Clock
  readonly log: Log
  /** Whether this state may be saved, as long as nobody has decided that the file holds. */
  readonly isAllowed?: (info: StateInfo) => boolean
  /** Saves for good; may take long, and is called again with newer state only after it has ended. */
  save(text: string): Promise<void>
}

export class StateUploader {
  readonly #options: StateUploaderOptions
  readonly #file: string
  #seen = ''
  #newest: { text: string; info: StateInfo } | undefined
  #saved: { text: string; info: SavedState; addresses: readonly string[] } | undefined
  #saving: Promise<void> | undefined
  #polling: NodeJS.Timeout | undefined

  constructor(options: StateUploaderOptions, saved?: string) {
    this.#options = options
    this.#file = join(options.root, 'terraform.tfstate')
    if (saved !== undefined) this.#remember(saved)
  }

  start(): void {
    this.#polling ??= setInterval(() => this.check(), POLL_MS)
  }

  /** Reads the file now; starts saving when it changed. Clocks of file systems are coarse: `anyway` reads it in any case. */
  check(anyway = false): void {
    const stat = statSync(this.#file, { throwIfNoEntry: false })
    const mark = stat ? `${stat.ino}:${stat.size}:${stat.mtimeMs}` : ''
    if (mark === '' || (mark === this.#seen && !anyway)) return
    const text = readText(this.#file)
    const info = text === undefined ? undefined : readState(text)
    // In the middle of a write: the next poll finds it whole.
    if (text === undefined || !info) return
    this.#seen = mark
    if (text === this.#newest?.text || text === this.#saved?.text) return
    if (this.#options.isAllowed?.(info) === false) return
    this.#newest = { text, info }
    try {
      writeWhole(this.#options.copy, text)
    } catch (error) {
      this.#options.log.warn('Copying the state beside itself failed', { error: messageOf(error) })
    }
    if (this.#saving) return
    this.#saving = this.#saveAll()
    // flush() throws the failure; meanwhile it is in the log.
    this.#saving.catch(() => undefined)
  }

  async #saveAll(): Promise<void> {
    try {
      while (this.#newest && this.#newest.text !== this.#saved?.text) {
        const { text, info } = this.#newest
        await this.#options.save(text)
        this.#remember(text, info)
      }
    } catch (error) {
      this.#options.log.error('Saving the state failed', { error: messageOf(error) })
      throw error
    } finally {
      this.#saving = undefined
    }
  }

  #remember(text: string, info = readState(text)): void {
    if (!info) return
    const savedAt = toTimestamp(this.#options.clock.now())
    this.#saved = {
      text,
      info: { serial: info.serial, lineage: info.lineage, savedAt, resources: info.addresses.length },
      addresses: info.addresses,
    }
  }

  /** Everything that is in the file now is saved when this resolves; throws when it cannot be. */
  async flush(): Promise<void> {
    this.check(true)
    while (this.#saving) await this.#saving.catch(() => undefined)
    if (this.#newest && this.#newest.text !== this.#saved?.text) {
      this.#saving = this.#saveAll()
      await this.#saving
    }
  }

  stop(): void {
    clearInterval(this.#polling)
    this.#polling = undefined
  }

  get saved(): SavedState | undefined {
    return this.#saved?.info
  }

  get savedAddresses(): ReadonlySet<string> {
    return new Set(this.#saved?.addresses)
  }

  get savedText(): string | undefined {
    return this.#saved?.text
  }

  /** Also when it could not be saved. */
  get newestText(): string | undefined {
    return this.#newest?.text ?? this.#saved?.text
  }
}
