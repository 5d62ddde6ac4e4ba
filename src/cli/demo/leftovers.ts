// What the demo would leave behind: files of its folder, and processes that still use it.
import { readdirSync, readFileSync } from 'node:fs'

/** Processes that still use the folder, from /proc; 0 where there is none. */
export function processesUsing(folder: string): number {
  try {
    return readdirSync('/proc').filter((name) => {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(folder)
      } catch {
        return false
      }
    }).length
  } catch {
    return 0
  }
}

export function countFiles(folder: string): number {
  try {
    return readdirSync(folder, { recursive: true }).length
  } catch {
    return 0
  }
}
