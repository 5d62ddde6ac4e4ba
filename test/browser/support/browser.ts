// Debian's Chromium, driven by playwright-core. A page reports every console error, policy violation and request to
// another host, so that each test can assert that there was none.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findTool } from '../../support/tools.ts'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Undefined where it is not installed; the file then reports a skipped test that says so. */
export const chromiumPath = findTool('chromium')

/** With a new, empty profile. */
export const openBrowser = (): Promise<Browser> => chromium.launch({ executablePath: chromiumPath!, args: FLAGS })

export interface Opened {
  readonly page: Page
  /** Console errors, exceptions, policy violations and requests elsewhere. */
  readonly problems: readonly string[]
  close(): Promise<void>
}

export async function openPage(browser: Browser, link: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const problems: string[] = []
  const { origin } = new URL(link)
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`))
  page.on('console', (message) => {
    // A server that is gone is what some tests are about; the browser itself logs each failed request.
    const isGone = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/.test(
      message.text(),
    )
    if (message.type() === 'error' && !isGone) problems.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) problems.push(`request: ${request.url()}`)
  })
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error(`policy: ${violatedDirective} ${blockedURI}`),
    )
  })
  await page.goto(link)
  return { page, problems, close: () => context.close() }
}

/** Pictures for the documentation, where CAPT_PICTURES names the folder to write them to; whole pages on request. */
export async function takePicture(page: Page, name: string, { isWhole = false } = {}): Promise<void> {
  const folder = process.env['CAPT_PICTURES']
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: isWhole })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Violations of WCAG 2.2 A and AA, and of good practice, one sentence each. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe)
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: readonly { id: string; help: string; nodes: readonly { html: string; failureSummary: string }[] }[]
  }
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 160)} ${failureSummary}`),
  )
}

/** Whether something is wider than the window. */
export const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
