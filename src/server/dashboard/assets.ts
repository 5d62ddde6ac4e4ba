// The files of the page, read once, and the headers that keep a browser from loading or running anything else.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CaptError } from '#lib'

export interface Asset {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Beside the built program; from sources, the built page of the checkout. */
const FOLDERS = [new URL('./page/', import.meta.url), new URL('../../../dist/program/page/', import.meta.url)].map(
  (url) => fileURLToPath(url),
)

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'cache-control': 'no-store',
}

export function loadAssets(): ReadonlyMap<string, Asset> {
  const folder = FOLDERS.find((one) => existsSync(join(one, 'index.html')))
  if (folder === undefined)
    throw new CaptError('CAPT_PAGE_MISSING', 'The page in the browser is not built', { hint: 'run make build' })
  return new Map(
    Object.entries(TYPES).map(([name, type]) => [
      name,
      { body: readFileSync(join(folder, name)), headers: { 'content-type': type } },
    ]),
  )
}
