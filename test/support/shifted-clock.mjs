// Preloaded into the shipped program (NODE_OPTIONS=--import=…): its date is the machine's plus the days in the file that
// SHIFTED_DAYS names (they only grow; write it in one step), and timers of SHIFTED_TIMERS_MS (five minutes) or more end by that date.
// Shorter ones run as ever.
import { readFileSync } from 'node:fs'

const DAY_MS = 86_400_000
const LONG_MS = Number(process.env.SHIFTED_TIMERS_MS ?? 300_000)
const LOOK_MS = 20
const Real = Date
const { setTimeout: after, clearTimeout: cancel } = globalThis
let offsetMs = 0
const now = () => Real.now() + offsetMs
const waiting = new Set()
const elapsed = performance.now.bind(performance)
let startMs

globalThis.Date = class extends Real {
  constructor(...parts) {
    if (parts.length === 0) super(now())
    else super(...parts)
  }
  static now() {
    return now()
  }
}
performance.now = () => elapsed() + offsetMs - (startMs ?? offsetMs)
globalThis.setTimeout = Object.assign((callback, ms = 0, ...values) => {
  if (ms < LONG_MS) return after(callback, ms, ...values)
  const entry = { at: now() + ms, callback, ref: () => entry, unref: () => entry }
  waiting.add(entry)
  return entry
}, after)
globalThis.clearTimeout = (handle) => (waiting.delete(handle) ? undefined : cancel(handle))

function look() {
  const days = Number(readFileSync(process.env.SHIFTED_DAYS, 'utf8'))
  if (Number.isFinite(days)) offsetMs = days * DAY_MS
  startMs ??= offsetMs
  for (const entry of [...waiting]) if (entry.at <= now() && waiting.delete(entry)) entry.callback()
  after(look, LOOK_MS).unref()
}
look()
