// A thousand clusters in a real browser, by the page as it ships: how fast it paints, that it stays smooth while the fleet
// changes, and what it shows of a cluster that failed.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { type Shipped, shippedProgram, waitUntil } from '../shipped/support.ts'
import { chromiumPath, findBarriers, isTooWide, openBrowser, openPage, takePicture } from './support/browser.ts'
import { CANARY, type Fleet, nameOf, startFleet } from './support/fleet.ts'

const CLUSTERS = 1_000
const UPDATES_PER_SECOND = 50

describe('The page of a fleet', { skip: !chromiumPath && 'chromium is not installed' }, () => {
  let shipped: Shipped
  let fleet: Fleet
  let browser: Browser
  let link: string
  before(async () => {
    shipped = shippedProgram()
    fleet = await startFleet(shipped.folder, CLUSTERS)
    const running = shipped.start(['dashboard', '--kubeconfig', fleet.kubeconfig])
    await running.untilSaid(/Dashboard: \S+/)
    link = /Dashboard: (\S+)/.exec(running.out())![1]!
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await shipped?.end()
    await fleet?.close()
  })
  const at = (path: string) => link.replace('/#', `${path}#`)

  it(`paints ${CLUSTERS} clusters within two seconds, and only those on screen`, async () => {
    const times: number[] = []
    // The best of three: other work on the machine is not the page's.
    for (let round = 0; round < 3; round++) {
      const { page, problems, close } = await openPage(browser, link)
      await page.waitForSelector('[data-index="0"]')
      times.push(await page.evaluate(() => performance.now()))
      assert.ok((await page.locator('[data-index]').count()) < 60)
      assert.equal(await page.locator('[role=table]').getAttribute('aria-rowcount'), String(CLUSTERS + 1))
      assert.deepEqual(problems, [])
      if (round === 2) await takePicture(page, 'dashboard-fleet')
      await close()
    }
    assert.ok(Math.min(...times) < 2_000, times.join(', '))
  })

  it(`shows ${UPDATES_PER_SECOND} changes a second while 95 of 100 frames take at most 50 ms`, async () => {
    const { page, problems, close } = await openPage(browser, link)
    await page.selectOption('select', 'name')
    await page.waitForSelector('[data-index="0"]')
    const rounds: number[] = []
    for (let round = 0; round < 2 && (rounds.at(-1) ?? 99) > 50; round++) {
      const frames = measureFrames(page, 3_000)
      for (let i = 0; i < 3 * UPDATES_PER_SECOND; i++) {
        const due = new Promise((resolve) => setTimeout(resolve, 1_000 / UPDATES_PER_SECOND))
        await Promise.all([due, fleet.report(nameOf(i % 30), `change ${round} ${i}`)])
      }
      rounds.push((await frames).toSorted((a, b) => a - b).at(-Math.ceil((await frames).length / 20))!)
    }
    assert.ok(Math.min(...rounds) <= 50, `p95 ${rounds.join(', ')} ms`)
    await page.waitForFunction(() => document.body.innerText.includes('change'))
    assert.deepEqual(problems, [])
    await close()
  })

  it('finds a cluster, keeps what is shown live, and is used by the keyboard alone', async () => {
    const { page, problems, close } = await openPage(browser, link)
    await page.waitForSelector('[data-index="0"]')
    await page.keyboard.press('/')
    await page.keyboard.type('cluster-0101')
    await page.waitForFunction(() => document.querySelectorAll('[data-index]').length === 1)
    await fleet.report('cluster-0101', 'Its network is being made')
    await page.getByText('Its network is being made').waitFor()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('shop')
    await page.waitForFunction(() => document.querySelector('[data-index="0"]')?.textContent?.includes('shop'))
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'shop', exact: true }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/clusters/default/shop')
    await page.locator('[role=treeitem]').first().focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'shop-vpc' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Clusters' }).waitFor()
    assert.deepEqual(problems, [])
    await close()
  })

  it('moves through the long list with the arrow keys, beyond what was on screen', async () => {
    const { page, close } = await openPage(browser, link)
    await page.selectOption('select', 'name')
    await page.locator('[data-index="0"] a').focus()
    for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowDown')
    await page.waitForFunction(
      () => document.activeElement?.closest('[data-index]')?.getAttribute('data-index') === '40',
    )
    await close()
  })

  it('shows what failed, why, what to do and the command for it, add-ons with evidence, and events', async () => {
    const { page, problems, close } = await openPage(browser, at('/clusters/default/shop'))
    const problem = page.getByRole('region', { name: 'Problem of shop-vpc' })
    await problem.getByText('aws_vpc.main: no route to host').waitFor()
    assert.match(await problem.innerText(), /check the network/i)
    await problem.getByRole('button', { name: 'Copy the command capt retry shop-vpc' }).waitFor()
    const addons = page.getByRole('region', { name: 'Add-ons' })
    assert.match(await addons.innerText(), /2 Deployments available[\s\S]*Waiting for the network/)
    assert.match(await page.getByRole('region', { name: 'Timeline' }).innerText(), /RunFailed/)
    await takePicture(page, 'dashboard-cluster', { isWhole: true })
    assert.deepEqual(problems, [])
    await close()
  })

  it('shows the nodes of a cluster: pools, deployments with their machines, and node pools of Karpenter', async () => {
    const { page, problems, close } = await openPage(browser, at('/clusters/default/shop'))
    const nodes = page.getByRole('region', { name: 'Nodes' })
    await nodes.getByRole('row', { name: /^shop-pool/ }).waitFor()
    const rows = await nodes.getByRole('row').allInnerTexts()
    assert.deepEqual(
      rows.map((text) => text.split(/\s*[\n\t]\s*/).filter(Boolean)),
      [
        ['Name', 'Ready', 'Instance type', 'Version', 'State'],
        ['shop-pool', 'CAPTMachinePool', '2 of 3', 'm7i.large, m6i.large', '1.35', 'waiting', '2 of 3 nodes are ready'],
        ['batch', 'CAPTMachineDeployment', '1 of 1', 'c7g.xlarge', '–', 'ready'],
        ['batch-1', 'CAPTMachineSet', '1 of 1', 'c7g.xlarge', '–', 'ready'],
        ['batch-1-x', 'CAPTMachine', '1 of 1', 'c7g.xlarge', '–', 'ready', 'ip-10-0-0-7, i-0a1b'],
        ['spot', 'NodePool of Karpenter', '–', '–', '–', 'healthy'],
      ],
    )
    assert.deepEqual(problems, [])
    await close()
  })

  it('never gets a secret: neither a value of a spec, an output nor a Secret', async () => {
    const bodies: Promise<string>[] = []
    const { page, close } = await openPage(browser, link)
    page.on('response', (response) => {
      if (!response.url().includes('/api/stream')) bodies.push(response.text().catch(() => ''))
    })
    // The stream has no end: its events are collected where they arrive.
    const streamed = await page.evaluate(async () => {
      const token = localStorage.getItem('capt-token')
      const paths = ['', '?cluster=default%2Fshop', '?cluster=default%2Fshop&run=shop-vpc']
      const texts = paths.map(async (path) => {
        const response = await fetch(`/api/stream${path}`, { headers: { authorization: `Bearer ${token}` } })
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        const end = Date.now() + 1_500
        while (Date.now() < end) {
          const next = reader.read()
          const late = new Promise<undefined>((resolve) => setTimeout(resolve, end - Date.now(), undefined))
          text += (await Promise.race([next, late]))?.value ?? ''
        }
        return text
      })
      return (await Promise.all(texts)).join('\n')
    })
    assert.match(streamed, /no route to host/)
    assert.ok(!streamed.includes(CANARY))
    assert.ok(!(await Promise.all(bodies)).join('').includes(CANARY))
    await close()
  })

  it('has no barrier that axe-core finds, light and dark, and fits a narrow screen', async () => {
    const { page, problems, close } = await openPage(browser, link, { reducedMotion: 'reduce' })
    const base = link.replace(/\/#.*/, '')
    for (const path of [
      '/',
      '/clusters/default/shop',
      '/clusters/default/shop/runs/shop-vpc',
      '/clusters/default/none',
    ]) {
      await page.goto(base + path)
      await page.waitForSelector('h1')
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await findBarriers(page), [], `${path} ${colorScheme}`)
      }
      await page.setViewportSize({ width: 360, height: 740 })
      assert.equal(await isTooWide(page), false, path)
      await page.setViewportSize({ width: 1280, height: 800 })
    }
    assert.deepEqual(problems, [])
    await close()
  })

  it('asks for the link when it is opened without the token', async () => {
    const { page, close } = await openPage(browser, at('/').replace(/#.*/, ''))
    await page.getByRole('heading', { name: 'Open the link that capt printed' }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await page.getByLabel('Link or token').fill(link)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.waitForSelector('[data-index="0"]')
    await waitUntil('no token in the address', () => !page.url().includes('token'))
    await close()
  })
})

/** Milliseconds between frames. */
const measureFrames = (page: Page, ms: number): Promise<readonly number[]> =>
  page.evaluate(
    (duration) =>
      new Promise<number[]>((resolve) => {
        const gaps: number[] = []
        const start = performance.now()
        let last = start
        const frame = (time: number) => {
          gaps.push(time - last)
          last = time
          if (time - start < duration) requestAnimationFrame(frame)
          else resolve(gaps)
        }
        requestAnimationFrame(frame)
      }),
    ms,
  )
