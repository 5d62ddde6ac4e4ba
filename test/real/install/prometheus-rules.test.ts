// The alerts, read by the real promtool: they parse, each fires for the series of a broken thing, and none of them before.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ALERT_CASES, alerts, dashboardQueries } from '../../support/prometheus.ts'
import { VERSIONS } from '../support/lab.ts'
import { openRules, type Rules } from '../support/managers/alerts.ts'
import { prove } from '../support/proofs.ts'

let rules: Rules
before(() => {
  rules = openRules()
})
after(() => rules.close())

describe('the alerts', () => {
  it('are what Prometheus understands', () => {
    const { status, said } = rules.promtool('check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml')
    assert.equal(status, 0, said)
    assert.match(said, new RegExp(`${alerts.length} rules found`))
  })

  it('and the queries of the dashboard too', () => {
    const groups = [{ name: 'dashboard', rules: dashboardQueries.map((expr, i) => ({ record: `query_${i}`, expr })) }]
    rules.write('dashboard.yaml', { groups })
    const { status, said } = rules.promtool('check', 'rules', 'dashboard.yaml')
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
      rules.write(`${alert}.yaml`, test)
      const { status, said } = rules.promtool('test', 'rules', `${alert}.yaml`)
      assert.equal(status, 0, said)
      prove('promtool', VERSIONS.promtool, `${alert} fires`)
    })
})

const text = (labels: Readonly<Record<string, string>>): string =>
  `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',')}}`
