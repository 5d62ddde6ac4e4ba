// Memory as a gate. The figures are the kernel's; the manager is the real client, informers, queue, loop, metrics and
// log, bundled and run with the flags of the image. docs: 128 MiB is the limit of its container.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { weigh } from '../../../bench/memory/measure.ts'
import { reportMissing } from '../../support/tools.ts'

const EMPTY_MIB = 72
const LOADED_MIB = 110

const isLinux = existsSync('/proc/self/status')
if (!isLinux) reportMissing('/proc', 'the figures of the kernel are read from /proc, which Linux alone has')

describe('a manager', { skip: !isLinux }, () => {
  it(`stays within ${EMPTY_MIB} MiB when there is nothing to watch`, async () => {
    const { peakMiB } = await weigh({ objects: 0 })
    assert.ok(peakMiB <= EMPTY_MIB, `${peakMiB.toFixed(1)} MiB`)
  })

  it(`stays within ${LOADED_MIB} MiB over 10,000 objects of 4.6 KB, through a new list of every kind`, async () => {
    const { peakMiB, objects, bytesPerObject, lists } = await weigh({ objects: 10_000 })
    assert.equal(objects, 10_000)
    assert.ok(bytesPerObject > 4500 && bytesPerObject < 4900, `${bytesPerObject} bytes each`)
    assert.ok(
      lists.every((count) => count >= 2),
      `lists per kind: ${lists}`,
    )
    assert.ok(peakMiB <= LOADED_MIB, `${peakMiB.toFixed(1)} MiB`)
  })

  it('would be caught wasting memory', async () => {
    const { peakMiB } = await weigh({ objects: 0, wasteMiB: 20 })
    assert.ok(peakMiB > EMPTY_MIB, `20 MiB of waste showed as ${peakMiB.toFixed(1)} MiB`)
  })
})
