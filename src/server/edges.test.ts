import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { jsonLog } from './json-log.ts'
import { prometheusMetrics } from './prometheus.ts'

describe('the log', () => {
  const write = (level: 'debug' | 'info') => {
    const lines: Record<string, unknown>[] = []
    const log = jsonLog({ level, to: { write: (line) => void lines.push(JSON.parse(line)) } })
    return { log, lines }
  }

  it('is one JSON object per line: level, time, message and keys', () => {
    const { log, lines } = write('info')
    log.with({ controller: 'widget' }).warn('Reconcile failed', { Widget: 'default/w', attempts: 3 })
    const { time, ...rest } = lines[0]!
    assert.deepEqual(rest, {
      level: 'warn',
      controller: 'widget',
      Widget: 'default/w',
      attempts: 3,
      message: 'Reconcile failed',
    })
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  it('leaves out what is below its level, and masks what looks like a secret', () => {
    const { log, lines } = write('info')
    log.debug('Quiet')
    log.error('Loud', { error: 'Authorization: Bearer abcdefghijkl' })
    assert.equal(lines.length, 1)
    assert.equal(lines[0]!['error'], 'Authorization: Bearer …redacted…')
  })
})

describe('Prometheus metrics', () => {
  it('sample gauges when asked, and give one metric for one name', async () => {
    const metrics = prometheusMetrics({ processMetrics: false })
    let depth = 1
    const definition = { name: 'workqueue_depth', about: 'Keys.', labels: ['name'] }
    metrics.gauge(definition).sample({ name: 'a' }, () => depth)
    metrics.gauge(definition).sample({ name: 'b' }, () => 7)
    depth = 5
    const text = await metrics.text()
    assert.match(text, /workqueue_depth\{name="a"\} 5\nworkqueue_depth\{name="b"\} 7/)
  })

  it('count into buckets', async () => {
    const metrics = prometheusMetrics({ processMetrics: false })
    const seconds = metrics.histogram({ name: 'turn_seconds', about: 'Reconciles.', labels: ['c'], buckets: [0.1, 1] })
    seconds.observe({ c: 'x' }, 0.5)
    assert.match(await metrics.text(), /turn_seconds_bucket\{le="0.1",c="x"\} 0\nturn_seconds_bucket\{le="1",c="x"\} 1/)
  })

  it('include those of the process', async () => {
    assert.match(await prometheusMetrics().text(), /process_resident_memory_bytes \d+/)
  })
})
