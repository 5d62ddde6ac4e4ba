// The words of this project are those of Kubernetes, Terraform and computer science. The table holds words and identifiers
// that stood for ordinary ideas, each with what to write instead; a use that means something else is listed with its reason.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

interface Word {
  readonly write: string
  readonly not: RegExp
}

export const WORDS: readonly Word[] = [
  { write: 'resume, adopt', not: /\b(?:tak(?:e|es|en|ing)|took) (?:it |them )?up\b|\btakeUp\b|\bfound again\b/i },
  { write: 'notify, emit, report', not: /\b(?:tells?|telling|told|untold)\b|\b(?:tell|told|untold)[A-Z]/i },
  { write: 'request, options, input', not: /\bwish(?:es)?\b|Wish(?:es)?\b|_WISH(?:ES)?\b/i },
  { write: 'observed, state, status', not: /\bsights?\b|[a-z]Sights?\b|\btoSight\b/i },
  { write: 'foreign owner', not: /stranger/i },
  { write: 'payload', not: /carriers?\b|\bcarry\.ts\b|luggage/i },
  { write: 'preflight check, blocker', not: /\bharm\b|\bfindHarm\b/i },
  { write: 'snapshot, summary', not: /\bbriefs?\b|[a-z]Briefs?\b/ },
  {
    write: 'mutex, slot, reconcile',
    not: /\bTurn\b|\b(?:a|one|each|every|its|this|per|whose|the same|take|takes) turns?\b/,
  },
  { write: 'own-write suppression', not: /\bhearEcho\b|\bechoes\b|[a-z]Echo\b/ },
  { write: 'context (of a run)', not: /\bTrace\b|\btrace\.\w/ },
  { write: 'cache, store', not: /\bshel(?:f|ves)\b|\bShelf\b|recollection/i },
  { write: 'retry policy, backoff, timeout', not: /\bpatien(?:ce|t)\b|patientObjects|\binsist/i },
  { write: 'grace period', not: /wait(?:ing)?[- ]?a[- ]?moment/i },
  { write: 'milestone, phase', not: /\bMoments?\b|\bmoments\.ts\b/ },
  { write: 'leadership term', not: /\breigns?\b|\breignsOf\b/i },
  { write: 'refresher', not: /\bkeepers?\b|[a-z]Keeper\b|Keeper\b|keep-alive\.ts/ },
  { write: 'decide, check', not: /\bjudg(?:e|es|ed|ing|ement)\b|\bjudge[A-Z]/i },
  { write: 'module, import', not: /\bthe house\b|\brooms?\b(?=.*\bdoors?\b)|\bDOORS\b/i },
  {
    write: 'plain names',
    not: /\b(?:contentAlone|tellContentAlone|hearEcho|reportsAtRest|waitingAMoment|lastWords|settleFor|strangerOwning)\b|--settled\b|life-conditions|\brivals?\b/,
  },
]

interface Allowed {
  readonly files: RegExp
  readonly text: RegExp
  readonly because: string
}

/** Uses that mean something else. None is needed today. */
const ALLOWED: readonly Allowed[] = []

const root = join(import.meta.dirname, '..')
const files = globSync(['src/**/*.ts', 'test/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts', 'docs/**/*.md', '*.md'], {
  cwd: root,
})
  .filter((file) => !/^(CHANGELOG\.md|src\/vocabulary\.test\.ts)$/.test(file))
  .sort()

export function findUses(file: string, text: string, allowed: readonly Allowed[]): string[] {
  return text.split('\n').flatMap((line, i) =>
    WORDS.filter(({ not }) => not.test(line))
      .filter(() => !allowed.some((one) => one.files.test(file) && one.text.test(line)))
      .map(({ not, write }) => `${file}:${i + 1}: "${not.exec(line)![0]}": write ${write}`),
  )
}

describe('The vocabulary', () => {
  it('has no word of its own where an established one exists', () => {
    assert.ok(files.length > 500, 'the test must see the files it checks')
    assert.deepEqual(
      files.flatMap((file) => findUses(file, readFileSync(join(root, file), 'utf8'), ALLOWED)),
      [],
    )
  })

  const shelf = 'const shelf = new Map()'
  const allowed = { files: /^src\/library\//, text: /shelf/, because: 'a library has shelves' }
  for (const [what, file, text, line, uses] of [
    ['an identifier', 'src/a.ts', `\n${shelf}`, [], ['src/a.ts:2: "shelf": write cache, store']],
    [
      'a compound name',
      'src/a.ts',
      'type ClusterWish = string',
      [],
      ['src/a.ts:1: "Wish": write request, options, input'],
    ],
    ['nothing in an allowed use', 'src/library/a.ts', shelf, [allowed], []],
    ['an allowed word in another file', 'src/a.ts', shelf, [allowed], ['src/a.ts:1: "shelf": write cache, store']],
    ['nothing in a plain line', 'src/a.ts', 'const store = new Map()', [], []],
  ] as const)
    it(`finds ${what}`, () => assert.deepEqual(findUses(file, text, line), uses))
})
