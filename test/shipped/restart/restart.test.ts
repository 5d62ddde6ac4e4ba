// `capt up` is stopped, killed and started again with the same command line, as a user does it with the default port.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { restartedHome } from '../../support/restarted-home.ts'
import { findTool } from '../../support/tools.ts'
import { freePort, kubectlPath, type Shipped, shippedProgram } from '../support.ts'

describe('the port of an embedded home', () => {
  let shipped: Shipped
  before(() => {
    shipped = shippedProgram()
  })
  after(() => shipped.end())

  it('stays the same over SIGTERM and kill -9, so that kubectl goes on with the kubeconfig from before', async () => {
    const first = await shipped.up('kept')
    const copy = join(shipped.folder, 'my-kubeconfig')
    writeFileSync(copy, readFileSync(first.kubeconfig))
    const code = await first.stop('SIGTERM')
    const second = await shipped.up('kept')
    assert.equal(second.url, first.url)
    assert.equal(code, 0)
    await second.stop('SIGKILL')
    const third = await shipped.up('kept')
    assert.equal(third.url, first.url)
    assert.equal(readFileSync(third.kubeconfig, 'utf8'), readFileSync(copy, 'utf8'))
    if (kubectlPath) {
      const { code, err } = await shipped.kubectl(copy, ['get', 'clusters', '-A'])
      assert.equal(code, 0, err)
    }
    await third.stop()
  })

  it('is named when another program has taken it, and no other port is chosen', async () => {
    const home = await shipped.up('taken')
    const { port } = new URL(home.url)
    await home.stop()
    const other = createServer().listen(Number(port), '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    try {
      const { code, err } = await shipped.capt(['up', '--data', 'taken'])
      assert.equal(code, 1)
      assert.match(err, /CAPT_PORT_IN_USE/)
      assert.ok(err.includes(`127.0.0.1:${port}`), err)
    } finally {
      await new Promise((resolve) => other.close(resolve))
    }
    const again = await shipped.up('taken')
    assert.equal(again.url, home.url)
    await again.stop()
  })

  it('changes with --listen and is kept from then on', async () => {
    const home = await shipped.up('moved')
    await home.stop()
    const free = await freePort()
    const moved = await shipped.up('moved', ['--listen', `127.0.0.1:${free}`])
    await moved.stop()
    const again = await shipped.up('moved')
    assert.equal(again.url, `https://127.0.0.1:${free}`)
    await again.stop()
  })

  it('is found in the kubeconfig when the file is gone, and a damaged file is named', async () => {
    const home = await shipped.up('damaged')
    await home.stop()
    const file = join(home.dataDir, 'port')
    writeFileSync(file, 'nonsense')
    const { code, err } = await shipped.capt(['up', '--data', 'damaged'])
    assert.equal(code, 1)
    assert.ok(err.includes(file) && /CAPT_DATA_CORRUPT/.test(err), err)
    rmSync(file)
    const again = await shipped.up('damaged')
    assert.equal(again.url, home.url)
    await again.stop()
  })

  it('is not needed twice: a data folder that is open is refused with the process that holds it', async () => {
    const home = await shipped.up('held')
    const { code, err } = await shipped.capt(['up', '--data', 'held'])
    assert.equal(code, 1)
    assert.match(err, /CAPT_DATA_HELD/)
    assert.ok(err.includes(`process ${home.pid}`), err)
    await home.stop()
  })
})

describe('a simulated cluster of a home that is killed', {
  skip: kubectlPath && findTool('terraform') ? false : 'needs kubectl and terraform',
}, () => {
  let shipped: Shipped
  before(() => {
    shipped = shippedProgram()
  })
  after(() => shipped.end())

  it('is opened by its kubeconfig Secret as soon as the home is back', async () => {
    const story = await restartedHome(shipped, 'killed')
    await story.create()
    await story.untilReady()
    await story.assertKubeconfigWorks()
    await story.restart('SIGKILL')
    await story.assertKubeconfigWorks()
    await story.home().stop()
  })
})
