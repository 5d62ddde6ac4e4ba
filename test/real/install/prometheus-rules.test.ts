// The alerts, read by the real promtool: they parse, each fires for the series of a broken thing, and none of them before.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { ALERT_CASES, alerts, dashboardQueries, rules } from '../../support/prometheus.ts'
import { binary, VERSIONS } from '../support/lab.ts'
import { prove } from '../support/proofs.ts'

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'capt-rules-'))
  writeFileSync(join(folder, 'rules.yaml'), stringify(rules))
})
after(() => rmSync(folder, { recursive: true, force: true }))

function promtool(...args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(binary('promtool'), args, { cwd: folder, encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

describe('the alerts', () => {
  it('are what Prometheus understands', () => {
    const { status, said } = promtool('check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml')
    assert.equal(status, 0, said)
    assert.match(said, new RegExp(`${alerts.length} rules found`))
  })

  it('and the queries of the dashboard too', () => {
    const groups = [{ name: 'dashboard', rules: dashboardQueries.map((expr, i) => ({ record: `query_${i}`, expr })) }]
    writeFileSync(join(folder, 'dashboard.yaml'), stringify({ groups }))
    const { status, said } = promtool('check', 'rules', 'dashboard.yaml')
    assert.equal(status, 0, said)
  })

  for (const [alert, { series, firesAt, labels = {} }] of Object.entries(ALERT_CASES))
    it(`${alert} fires when the thing is broken, and not at the beginning`, () => {
      const rule = alerts.find((one) => one.alert === alert)!
      const input = Object.entries(series).map(([name, values]) => ({ series: name, values }))
      const test = {
        rule_files: ['rules.yaml'],
        tests: [
          {
            interval: '1m',
            input_series: input,
            // Annotations are compared as text below: their values depend on the moment.
            alert_rule_test: [{ eval_time: '0m', alertname: alert, exp_alerts: [] }],
            promql_expr_test: [
              {
                expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
                eval_time: firesAt,
                exp_samples: [{ labels: '{}', value: 1 }],
              },
              {
                expr: `group by (alertname, severity, ${[...Object.keys(labels), 'none'].join(', ')}) (ALERTS{alertname="${alert}",alertstate="firing"})`,
                eval_time: firesAt,
                exp_samples: [
                  { labels: text({ alertname: alert, severity: rule.labels.severity, ...labels }), value: 1 },
                ],
              },
            ],
          },
        ],
      }
      writeFileSync(join(folder, `${alert}.yaml`), stringify(test))
      const { status, said } = promtool('test', 'rules', `${alert}.yaml`)
      assert.equal(status, 0, said)
      prove('promtool', VERSIONS.promtool, `${alert} fires`)
    })
})

const text = (labels: Readonly<Record<string, string>>): string =>
  `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',')}}`
