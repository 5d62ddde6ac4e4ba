// The suites as data, which test file belongs to which, and the closing summary of a run.
import { matchesGlob } from 'node:path'

export interface Suite {
  readonly name: string
  readonly globs: readonly string[]
  /** On two cores, by the wall clock. Together the suites of `make test` stay within 18 minutes. */
  readonly budgetSeconds: number
  /** Test files that run side by side; one per core but one when left out. Three or four keep two cores busy where tests wait. */
  readonly filesAtOnce?: number
  /** The longest test files: started first, so that none of them runs alone at the end. */
  readonly longest?: readonly string[]
  readonly by: 'make test' | 'make test-real' | 'make chaos'
}

export const SUITES: readonly Suite[] = [
  { name: 'unit', globs: ['src/**/*.test.ts'], budgetSeconds: 110, filesAtOnce: 2, by: 'make test' },
  {
    name: 'engine',
    globs: ['test/engine/**/*.test.ts'],
    budgetSeconds: 240,
    filesAtOnce: 2,
    longest: ['test/engine/recovery/recovery.test.ts', 'test/engine/job-moves.test.ts'],
    by: 'make test',
  },
  {
    name: 'cli',
    globs: ['test/cli/**/*.test.ts'],
    budgetSeconds: 25,
    filesAtOnce: 2,
    longest: ['test/cli/demo.test.ts'],
    by: 'make test',
  },
  {
    name: 'stories',
    globs: ['test/{stories,support}/**/*.test.ts'],
    budgetSeconds: 285,
    filesAtOnce: 3,
    longest: ['test/stories/karpenter/existing-cluster.test.ts', 'test/stories/files/installer.test.ts'],
    by: 'make test',
  },
  {
    name: 'shipped',
    globs: ['test/shipped/**/*.test.ts'],
    budgetSeconds: 360,
    filesAtOnce: 4,
    longest: [
      'test/shipped/docs.test.ts',
      'test/shipped/aws.test.ts',
      'test/shipped/demo.test.ts',
      'test/shipped/pod.test.ts',
    ],
    by: 'make test',
  },
  { name: 'browser', globs: ['test/browser/**/*.test.ts'], budgetSeconds: 60, by: 'make test' },
  {
    name: 'real',
    globs: ['test/real/**/*.test.ts'],
    budgetSeconds: 2400,
    filesAtOnce: 3,
    longest: [
      'test/real/manager/machines.test.ts',
      'test/real/manager/life.test.ts',
      'test/real/addons/addons.test.ts',
      'test/real/install/move.test.ts',
      'test/real/manager/two-managers.test.ts',
    ],
    by: 'make test-real',
  },
  { name: 'chaos', globs: ['test/chaos/**/*.test.ts'], budgetSeconds: 7200, by: 'make chaos' },
]

export interface Skip {
  readonly file: string
  readonly name: string
  readonly reason: string
}

/** What may be skipped in CI too, because the machine cannot have it. */
export const ALLOWED_SKIPS: readonly { readonly name: RegExp; readonly because: string }[] = [
  { name: /^needs tofu$/, because: 'OpenTofu is an alternative to Terraform; both pass the same contract' },
  { name: /^needs \/proc$/, because: 'the figures of the kernel are read from /proc, which Linux alone has' },
]

export const suiteOf = (file: string): Suite | undefined =>
  SUITES.find(({ globs }) => globs.some((glob) => matchesGlob(file, glob)))

/** The files of a suite in the order in which they are started. */
export function filesOf({ name, longest = [] }: Suite, files: readonly string[]): readonly string[] {
  const own = files.filter((file) => suiteOf(file)?.name === name)
  return [...longest.filter((file) => own.includes(file)), ...own.filter((file) => !longest.includes(file))]
}

/** Test files that no suite runs, or that two suites run. */
export function findMisplaced(files: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    const owners = SUITES.filter(({ globs }) => globs.some((glob) => matchesGlob(file, glob))).map(({ name }) => name)
    return owners.length === 1
      ? []
      : [`  ${file}: ${owners.length === 0 ? 'in no suite' : `in ${owners.join(' and ')}`}`]
  })
}

/** Skipped tests in what the spec reporter printed. */
export const skipsIn = (output: string): readonly Omit<Skip, 'file'>[] =>
  [...output.matchAll(/^\s*﹣ (.+?) \([\d.]+ms\)(?: # (.*))?$/gm)].map((match) => ({
    name: match[1]!,
    reason: match[2] ?? '',
  }))

export const isAllowed = ({ name }: Pick<Skip, 'name'>, allowed: typeof ALLOWED_SKIPS): boolean =>
  allowed.some((one) => one.name.test(name))

export interface Summary {
  readonly seconds: ReadonlyMap<string, number>
  /** Seconds of each file. */
  readonly files: ReadonlyMap<string, number>
  readonly skips: readonly Skip[]
  /** Skips that are failures. */
  readonly refused: readonly Skip[]
  /** Secrets of the suites that were printed: each is a failure. */
  readonly leaks?: readonly string[]
  readonly counts: {
    readonly passed: number
    readonly failed: number
    readonly cancelled: number
  }
}

const SLOWEST = 8

export function renderSummary({ seconds, files, skips, refused, leaks = [], counts }: Summary): string {
  const rows = SUITES.filter(({ name }) => seconds.has(name)).map(({ name, budgetSeconds }) => {
    const actual = Math.round(seconds.get(name)!)
    const over = actual > budgetSeconds ? '  over budget' : ''
    return `  ${name.padEnd(8)} ${String(actual).padStart(5)} s of ${String(budgetSeconds).padStart(4)} s${over}`
  })
  const skipped = skips.map((skip) => {
    const why = skip.reason === '' ? '' : `: ${skip.reason}`
    return `  ${refused.includes(skip) ? 'failed, skipped in CI' : 'skipped'}  ${skip.file}: ${skip.name}${why}`
  })
  const slowest = [...files].sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
  const slow = slowest.map(([file, took]) => `  ${String(Math.round(took)).padStart(5)} s  ${file}`)
  const failed = counts.failed + counts.cancelled + refused.length + leaks.length
  const last = `${counts.passed} passed, ${failed} failed, ${skips.length - refused.length} skipped`
  const times = slow.length > 0 ? ['slowest files', ...slow] : []
  const named = skips.length > 0 ? ['skipped', ...skipped] : []
  const secrets = leaks.length > 0 ? ['secrets that were printed', ...leaks.map((leak) => `  ${leak}`)] : []
  return ['', 'suites', ...rows, ...times, ...named, ...secrets, last, ''].join('\n')
}
