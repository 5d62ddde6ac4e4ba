// Alerts and dashboard name only numbers that the program has, and every alert says what to do. test/real lets each fire.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ALERT_CASES, alerts, dashboardQueries, metricsIn, registeredMetrics } from '../../support/prometheus.ts'

/** The type of a line that Terraform's own output gets between its lines. */
const NO_METRIC = 'capt_mark'

describe('config/prometheus', () => {
  const registered = registeredMetrics()
  const queries = [...alerts.map(({ expr }) => expr), ...dashboardQueries]

  it('names only metrics that exist', () => {
    for (const query of queries) assert.ok(metricsIn(query).length > 0, query)
    assert.deepEqual(
      queries.flatMap(metricsIn).filter((name) => !registered.has(name)),
      [],
    )
  })

  it('shows or alerts on every metric of capt', () => {
    const used = new Set(queries.flatMap(metricsIn))
    const ours = [...registered].filter((name) => name.startsWith('capt_') && /_(total|seconds|info)$/.test(name))
    // How often a token was replaced is read together with its age and expiry.
    assert.deepEqual(
      ours.filter((name) => !used.has(name)),
      ['capt_kubeconfig_refreshes_total'],
    )
  })

  it('leaves out no metric in the table of docs/operations.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8')
    assert.deepEqual(
      [...registered].filter((name) => name.startsWith('capt_') && name !== NO_METRIC && !page.includes(`\`${name}\``)),
      [],
    )
  })

  it('gives every alert a severity, a sentence and a next step', () => {
    for (const { alert, labels, annotations } of alerts) {
      assert.match(labels.severity, /^(warning|critical)$/, alert)
      assert.ok(annotations.summary.endsWith('.') && annotations.description.length > 20, alert)
    }
  })

  it('has a case in which each alert fires', () =>
    assert.deepEqual(
      Object.keys(ALERT_CASES),
      alerts.map(({ alert }) => alert),
    ))
})
