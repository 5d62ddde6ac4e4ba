// One cluster's life on the page, by the program as it ships: a plan is read and approved in the browser, its run is
// followed, and the page goes on by itself after the home was started again.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { type Shipped, shippedProgram, type UpHome } from '../shipped/support.ts'
import { chromiumPath, findBarriers, openBrowser, openPage } from './support/browser.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/simulation.yaml')
const MORE = ['--engine', 'simulated', '--approval', 'Manual']

describe('The page of a cluster', { skip: !chromiumPath && 'chromium is not installed' }, () => {
  let shipped: Shipped
  let home: UpHome
  let browser: Browser
  let writable: string
  before(async () => {
    shipped = shippedProgram()
    home = await shipped.up('home', [...MORE, '-f', EXAMPLE])
    const running = shipped.start(['dashboard', '--allow-writes', '--kubeconfig', home.kubeconfig])
    await running.untilSaid(/Dashboard: \S+/)
    writable = /Dashboard: (\S+)/.exec(running.out())![1]!
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await shipped?.end()
  })
  const homeLink = () => readFileSync(join(home.dataDir, 'dashboard-url'), 'utf8').trim()
  const at = (link: string, path: string) => link.replace('/#', `${path}#`)
  const RUN = '/clusters/default/demo/runs/demo-vpc'

  it('of capt up is read-only, names the command instead, and its link is for its owner alone', async () => {
    assert.ok(!home.out().includes('token='), 'a log of capt up does not hold the token')
    assert.equal(statSync(join(home.dataDir, 'dashboard-url')).mode & 0o077, 0)
    const { page, problems, close } = await openPage(browser, at(homeLink(), RUN))
    await page
      .getByRole('button', { name: /Copy the command capt approve demo-vpc -n default --plan \w{16}/ })
      .waitFor()
    assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).count(), 0)
    assert.deepEqual(await findBarriers(page), [])
    assert.deepEqual(problems, [])
    await close()
  })

  it('approves exactly the plan that it shows, and shows its run without being loaded again', async () => {
    const { page, problems, close } = await openPage(browser, writable)
    await page.getByText('plan to approve').waitFor()
    await page.getByRole('link', { name: 'demo' }).click()
    await page.getByRole('link', { name: 'Review the plan' }).click()
    const plan = page.getByRole('region', { name: 'Plan to approve' })
    await plan.getByText('9 to add').waitFor()
    assert.match(await plan.innerText(), /terraform_data\.vpc will be created[\s\S]*nat_gateway\[0\] will be created/)
    await plan.getByRole('button', { name: 'Approve' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Terraform starts at once').waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await plan.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click()
    await page.getByText('9 of 9 done').waitFor()
    await page.locator('.badge', { hasText: 'applied' }).waitFor()
    assert.equal(await page.getByRole('region', { name: 'Plan to approve' }).count(), 0)
    await page.getByRole('log').getByText('Done').waitFor()
    assert.deepEqual(problems, [])
    await close()
    const apply = await shipped.captOk(['get', 'wtapply', 'demo-vpc', '-o', 'json', '--kubeconfig', home.kubeconfig])
    assert.match(apply, /"capt.appthrust.com\/approved-by": "\S+"/)
  })

  it('says that capt does not answer, and goes on by itself when the home is started again', async () => {
    const { page, close } = await openPage(browser, at(homeLink(), '/clusters/default/demo'))
    await page.locator('.live.is-live').waitFor()
    const before = homeLink()
    await home.stop('SIGTERM')
    await page.getByRole('alert').getByText('capt does not answer').waitFor()
    home = await shipped.up('home', MORE)
    await page.locator('.live.is-live').waitFor()
    assert.equal(homeLink(), before, 'a home keeps the link of its page')
    assert.equal(await page.getByRole('alert').count(), 0)
    await page.getByRole('treeitem', { name: /^CAPTControlPlane/ }).waitFor()
    await close()
  })
})
