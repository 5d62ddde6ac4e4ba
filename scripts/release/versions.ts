// Every file that carries the version of capt, and how it is written there. Pure: text in, text out.
import { parse as parseVersion, valid } from 'semver'
import { parse } from 'yaml'

export function checkVersion(text: string | undefined): string {
  if (text !== undefined && valid(text) === text) return text
  throw new Error(`VERSION must be a version such as 1.2.3, not ${text ? JSON.stringify(text) : 'empty'}`)
}

interface VersionedFile {
  readonly path: string
  /** Undefined when the file carries none. */
  readonly read: (text: string) => string | undefined
  readonly write: (text: string, version: string) => string
}

const first = (pattern: RegExp) => (text: string) => pattern.exec(text)?.[1]

interface Series {
  readonly major: number
  readonly minor: number
  readonly contract: string
}

/** A new minor keeps the contract of the last one. */
function withSeries(text: string, version: string): string {
  const { releaseSeries } = parse(text) as { releaseSeries: readonly Series[] }
  const { major, minor } = parseVersion(version)!
  if (releaseSeries.some((series) => series.major === major && series.minor === minor)) return text
  const { contract } = releaseSeries.at(-1)!
  return `${text.trimEnd()}\n  - major: ${major}\n    minor: ${minor}\n    contract: ${contract}\n`
}

export const VERSIONED_FILES: readonly VersionedFile[] = [
  {
    path: 'package.json',
    read: first(/^ {2}"version": "([^"]+)",$/m),
    write: (text, version) => text.replace(/^( {2}"version": ")[^"]+/m, `$1${version}`),
  },
  {
    path: 'package-lock.json',
    read: (text) => {
      const lock = JSON.parse(text) as { version: string; packages: { '': { version: string } } }
      return lock.version === lock.packages[''].version ? lock.version : undefined
    },
    // The first two are those of capt itself: the file's own and that of the root package.
    write: (text, version) => {
      let left = 2
      return text.replace(/^( {2}| {6})"version": "[^"]+"/gm, (line, indent: string) =>
        left-- > 0 ? `${indent}"version": "${version}"` : line,
      )
    },
  },
  {
    path: 'config/manager/kustomization.yaml',
    read: first(/^ {4}newTag: v(\S+)$/m),
    write: (text, version) => text.replace(/^( {4}newTag: v)\S+$/m, `$1${version}`),
  },
  {
    path: 'config/manager-job-engine/kustomization.yaml',
    read: first(/^ {10}value: \S+-runner:v(\S+)$/m),
    write: (text, version) => text.replace(/^( {10}value: \S+-runner:v)\S+$/m, `$1${version}`),
  },
  {
    path: 'docs/get-capt.md',
    read: first(/^VERSION=(\S+)$/m),
    write: (text, version) => text.replace(/^(VERSION=)\S+$/m, `$1${version}`),
  },
  // Generated from package.json: update-version writes it by make generate.
  { path: 'charts/capt/Chart.yaml', read: first(/^appVersion: (\S+)$/m), write: (text) => text },
]

/** The release series of clusterctl has no patch level, so it is compared by its minor. */
export const SERIES_FILE = 'config/metadata.yaml'

/** What `make update-version` writes, by path. */
export function withVersion(read: (path: string) => string, version: string): Map<string, string> {
  const files = new Map(VERSIONED_FILES.map(({ path, write }) => [path, write(read(path), version)]))
  files.set(SERIES_FILE, withSeries(read(SERIES_FILE), version))
  return new Map([...files].filter(([path, text]) => text !== read(path)))
}

/** Files that carry another version than this one. */
export function disagreements(read: (path: string) => string, version: string): readonly string[] {
  const others = VERSIONED_FILES.flatMap((file) => {
    const found = file.read(read(file.path))
    return found === version ? [] : [`${file.path} has version ${found ?? 'none'}, not ${version}`]
  })
  const isListed = withSeries(read(SERIES_FILE), version) === read(SERIES_FILE)
  return isListed ? others : [...others, `${SERIES_FILE} does not list the minor of ${version}`]
}
