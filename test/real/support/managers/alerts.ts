// Asks the real promtool whether an alert of config/prometheus fires for a manager that was scraped.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { alerts, metricsIn, rules } from '../../../support/prometheus.ts'
import { binary } from '../lab.ts'

/** What a manager answered on /metrics, and when by its own clock. A manager that is gone has no samples. */
export interface Scrape {
  readonly atMs: number
  /** Values by series, as promtool writes them: name{label="value"}. */
  readonly samples: ReadonlyMap<string, string>
}

export interface Rules {
  promtool(...args: readonly string[]): { readonly status: number | null; readonly said: string }
  write(name: string, content: object): void
  /** Whether the alert fires at some time, when the last scrape is repeated for as long as the rule waits. */
  fires(alert: string, scrapes: readonly Scrape[]): boolean
  close(): void
}

const MINUTE_MS = 60_000
/** After five minutes Prometheus takes a sample that was not repeated for gone. */
const STALE_MINUTES = 6
const NAMES: ReadonlySet<string> = new Set(alerts.flatMap(({ expr }) => metricsIn(expr)))

export function scrapeOf(atMs: number, text: string): Scrape {
  const found = [...text.matchAll(/^(([a-z_]+)(?:\{.*\})?) (\S+)$/gm)].filter(([, , name]) => NAMES.has(name!))
  return { atMs, samples: new Map(found.map(([, series, , value]) => [series!, value!])) }
}

/** The rules in a folder of their own, as Prometheus reads them. */
export function openRules(): Rules {
  const folder = mkdtempSync(join(tmpdir(), 'capt-rules-'))
  const write = (name: string, content: object) => writeFileSync(join(folder, name), stringify(content))
  write('rules.yaml', rules)
  const promtool: Rules['promtool'] = (...args) => {
    const { status, stdout, stderr } = spawnSync(binary('promtool'), args, { cwd: folder, encoding: 'utf8' })
    return { status, said: stdout + stderr }
  }
  const holds = (test: object) => {
    write('test.yaml', { rule_files: ['rules.yaml'], tests: [test] })
    return promtool('test', 'rules', 'test.yaml')
  }
  return {
    promtool,
    write,
    fires(alert, scrapes) {
      const isFiring = holds(timeline(alert, scrapes, true))
      if (isFiring.status === 0) return true
      // A test that promtool cannot read fails too: the opposite must hold then.
      const isSilent = holds(timeline(alert, scrapes, false))
      if (isSilent.status === 0) return false
      throw new Error(isFiring.said + isSilent.said)
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A test of promtool: each scrape lasts until the next one. */
function timeline(alert: string, scrapes: readonly Scrape[], fires: boolean): object {
  const start = scrapes[0]!.atMs
  let minute = -1
  const placed = scrapes.map(({ atMs, samples }) => {
    minute = Math.max(minute + 1, Math.round((atMs - start) / MINUTE_MS))
    return { minute, samples }
  })
  const end = minute + minutesOf(alerts.find((one) => one.alert === alert)!.for) + STALE_MINUTES
  const during = Array.from({ length: end + 1 }, (_, at) => placed.findLast((scrape) => scrape.minute <= at)!.samples)
  const names = new Set(scrapes.flatMap(({ samples }) => [...samples.keys()]))
  return {
    interval: '1m',
    start_timestamp: Math.floor(start / 1000),
    input_series: [...names].map((series) => ({
      series,
      values: during.map((samples) => samples.get(series) ?? '_').join(' '),
    })),
    promql_expr_test: [
      {
        expr: `group(last_over_time(ALERTS{alertname="${alert}",alertstate="firing"}[${end}m]))`,
        eval_time: `${end}m`,
        exp_samples: fires ? [{ labels: '{}', value: 1 }] : [],
      },
    ],
  }
}

const minutesOf = (text: string): number => Number(/^(\d+)m$/.exec(text)![1])
