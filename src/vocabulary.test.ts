// The words of this project are those of Kubernetes, Terraform and computer science. The table holds words and identifiers
// that stood for ordinary ideas, each with what to write instead; a use that means something else is listed with its reason.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

interface Word {
  readonly write: string
  readonly not: RegExp
  /** Ordinary English elsewhere: only names of the product are meant. */
  readonly isName?: true
}

export const WORDS: readonly Word[] = [
  { write: 'resume, adopt', not: /\b(?:tak(?:e|es|en|ing)|took) (?:it |them )?up\b|\btakeUp\b|\bfound again\b/i },
  { write: 'notify, emit, report', not: /\b(?:tells?|telling|told|untold)\b|\b(?:tell|told|untold)[A-Z]/i },
  {
    write: 'report, message',
    not: /\bsay\(|\b(?:say|said|says)(?:: string)? = |\bsays?[A-Z]\w*/,
    isName: true,
  },
  { write: 'request, options, input', not: /\bwish(?:es)?\b|Wish(?:es)?\b|_WISH(?:ES)?\b/i },
  { write: 'desired state, request', not: /\bwhat is wanted\b/i },
  { write: 'observed, state, status', not: /\bsights?\b|[a-z]Sights?\b|\btoSight\b/i },
  { write: 'observed', not: /\bseen: \w*(?:Observed|Observation|Facts|State)\b|\bSeen\b/, isName: true },
  {
    write: 'read, poll, check, observe',
    not: /\blook\(|\blook(?:s|ed|ing)? = |\blookAt\b|\blookAgain\b|[a-z]Look(?:s|ed)?\b|\bLOOKS?\b|\bLOOK_|_LOOK\b/,
    isName: true,
  },
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
  { write: 'cache, store', not: /\bshel(?:f|ves)\b|\bShelf\b|recollection|\bmemories\b|'\.\/memory\.ts'/i },
  { write: 'retry policy, backoff, timeout', not: /\bpatien(?:ce|t)\b|patientObjects|\binsist/i },
  { write: 'grace period', not: /wait(?:ing)?[- ]?a[- ]?moment/i },
  { write: 'milestone, phase', not: /\bMoments?\b|\bmoments\.ts\b/ },
  { write: 'milestone, phase', not: /\bmoments?(?:: \w+)? = /, isName: true },
  { write: 'leadership term', not: /\breigns?\b|\breignsOf\b/i },
  { write: 'refresher', not: /\bkeepers?\b|[a-z]Keeper\b|Keeper\b|keep-alive\.ts/ },
  { write: 'decide, check', not: /\bjudg(?:e|es|ed|ing|ement)\b|\bjudge[A-Z]/i },
  { write: 'module, import', not: /\bthe house\b|\brooms?\b(?=.*\bdoors?\b)|\bDOORS\b/i },
  {
    write: 'plain names',
    not: /\b(?:contentAlone|tellContentAlone|hearEcho|reportsAtRest|waitingAMoment|lastWords|settleFor|strangerOwning)\b|--settled\b|life-conditions|\brivals?\b/,
  },
  { write: 'LZ, dictionary, match', not: /\b(?:class|new) Words\b|\blessons?\b/ },
  { write: 'plain verbs', not: /\b(?:agree|doubt|learn|lets)\(/ },
  { write: 'again, new, recreate', not: /\banew\b/i },
  { write: 'the caller, the user, who', not: /\bwhoever\b/i },
  { write: 'a sentence, not the label of a list that is elsewhere', not: /\([A-H]\d{1,2}(?:, [A-H]\d{1,2})*\)/ },
]

/** The "instead of" column of the style guide, and the names that once stood in the code: each in a use that is found. */
const RETIRED: readonly (readonly [word: string, use: string])[] = [
  ['take up', 'the next one may take up the run'],
  ['found again', 'a run that was found again'],
  ['tell', 'tell(watchers)'],
  ['told', 'watchers are told'],
  ['untold', 'const untold = 1'],
  ['say', 'say(reason)'],
  ['wish', 'interface ClusterWish {'],
  ['what is wanted', 'compares it with what is wanted'],
  ['sight', 'toSight(cluster)'],
  ['seen', 'decide(seen: Observed)'],
  ['look', 'await look()'],
  ['stranger', 'owned by a stranger'],
  ['strangerOwning', 'strangerOwning(object)'],
  ['carrier', 'interface Carrier {'],
  ['luggage', 'const luggage = 1'],
  ['harm', 'does harm to the cluster'],
  ['harm.ts', "from './harm.ts'"],
  ['findHarm', 'findHarm(cluster)'],
  ['brief', 'brief: true'],
  ['turn', 'class Turn {'],
  ['echo', 'hearEcho(event)'],
  ['echoes', 'const echoes = new Set()'],
  ['trace', 'class Trace {'],
  ['shelf', 'class Shelf {'],
  ['memory', "import { a } from './memory.ts'"],
  ['recollection', 'class Recollection {'],
  ['patience', 'has more patience'],
  ['patientObjects', 'patientObjects(objects)'],
  ['insist', 'insist(write)'],
  ['wait a moment', 'they wait a moment'],
  ['waitingAMoment', 'waitingAMoment()'],
  ['wait-a-moment.ts', "from './wait-a-moment.ts'"],
  ['moment', 'type Moment = string'],
  ['reign', 'reignsOf(lease)'],
  ['reigns.ts', "from './reigns.ts'"],
  ['keeper', 'class Keeper {'],
  ['keeper.ts', "from './keeper.ts'"],
  ['keep-alive', "import { a } from './keep-alive.ts'"],
  ['judge', 'judgeDelivery(observed)'],
  ['contentAlone', 'contentAlone: true'],
  ['tellContentAlone', 'tellContentAlone(event)'],
  ['agree', 'shelves.agree(other)'],
  ['reportsAtRest', 'reportsAtRest: true'],
  ['Words', 'new Words(text)'],
  ['lessons', 'const lessons = []'],
  ['learn', 'words.learn(text)'],
  ['life-conditions', "from './life-conditions.ts'"],
  ['doubt', 'known.doubt(key)'],
  ['settleFor', 'settleFor(1000)'],
  ['--settled', 'capt runner --settled'],
  ['lastWords', 'lastWords(run)'],
  ['WorkloadSight', 'interface WorkloadSight {'],
  ['StepSight', 'interface StepSight {'],
  ['carry.ts', "from './carry.ts'"],
  ['lets', 'lets(request)'],
  ['rivals', "from './rivals.ts'"],
  ['anew', 'the folder is made anew'],
  ['whoever', 'Whoever holds the lease'],
  ['a label of a list', "it('has no scheme (B11)', () => {"],
]

interface Allowed {
  readonly files: RegExp
  readonly text: RegExp
  readonly because: string
}

/** Uses that mean something else. */
const ALLOWED: readonly Allowed[] = [
  { files: /^src\/apiserver\/present\//, text: /(?:Last|First) Seen/, because: 'columns of kubectl get events' },
]

const root = join(import.meta.dirname, '..')
const files = globSync(
  ['src/**/*.{ts,tsx}', '{test,scripts,bench}/**/*.ts', 'docs/**/*.md', '{templates,modules}/**/*.{tf,md}', '*.md'],
  { cwd: root },
)
  .filter((file) => !/^(CHANGELOG\.md|src\/vocabulary\.test\.ts)$/.test(file))
  .sort()

const isProduct = (file: string): boolean =>
  /^(?:src\/(?!testing\/)|scripts\/)/.test(file) && !/\.test\.tsx?$/.test(file)

export function findUses(file: string, text: string, allowed: readonly Allowed[]): string[] {
  return text.split('\n').flatMap((line, i) =>
    WORDS.filter(({ not, isName }) => not.test(line) && (!isName || isProduct(file)))
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

  for (const [word, use] of RETIRED) it(`finds ${word}`, () => assert.notDeepEqual(findUses('src/a.ts', use, []), []))

  it('lets ordinary English stand in comments and tests', () => {
    const lines = ['// Says where to look, and what was seen.', 'const look = () => 1']
    assert.deepEqual(findUses('src/a.ts', lines[0]!, []), [])
    assert.deepEqual(findUses('src/a.test.ts', lines[1]!, []), [])
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
