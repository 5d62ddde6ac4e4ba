// Executes the documentation: every fenced command and manifest of the README and of the pages, in page order, in a fresh
// folder with the shipped program. Commands run in a shell; manifests are sent to the embedded home, where the server
// checks them, or applies them where the page says so. AWS is moto with the stand-in for what moto lacks. What cannot run
// here is marked in the page with its reason, and listed at the end.
import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments, stringify } from 'yaml'
import { type Account, openAccount, openAccountWith } from '../support/aws/account.ts'
import { findAwsCommand, findMoto } from '../support/aws/moto.ts'
import { missingParts, readSteps, type Step } from '../support/docs-pages.ts'
import { run } from '../support/tools.ts'
import { kubectlPath, type Running, type Shipped, shippedProgram, type UpHome } from './support.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** Their blocks are those of the English page: test/stories/files/pages/translations.test.ts. */
const isTranslation = (page: string): boolean => /\.(ja|ko)\.md$/.test(page)
/** Pages that hold no steps for a reader to take. */
const NO_STEPS: Readonly<Record<string, string>> = {
  'docs/commands.md': 'generated: usage of every command; its examples name files and clusters of the reader',
  'docs/errors.md': 'generated: an index of errors, nothing to type',
}
/** Begun first, so that it does not run alone at the end. */
const LONGEST = 'docs/tutorial.md'
const PAGES = [
  'README.md',
  LONGEST,
  'CONTRIBUTING.md',
  'modules/karpenter/README.md',
  ...pagesBelow('docs').filter((page) => page !== LONGEST),
]

function pagesBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
    .filter((page) => !Object.hasOwn(NO_STEPS, page) && !isTranslation(page))
    .sort()
}

const all = PAGES.flatMap((page) => readSteps(page, readFileSync(join(ROOT, page), 'utf8')))
const isRun = ({ notRun }: Step): boolean => notRun === undefined
const where = ({ page, line }: Step) => `${page}:${line}`
const inAws = ({ mark }: Step): boolean => mark === 'in AWS'
const moto = findMoto()
const awsCommand = moto && findAwsCommand(moto)

/** Pages wait more than they work, and each has a folder and a home of its own. */
const PAGES_AT_ONCE = 3

describe('documentation', {
  skip: kubectlPath ? false : 'kubectl is not on the PATH',
  concurrency: PAGES_AT_ONCE,
}, () => {
  it('says of each block what it is', () => {
    const unknown = all.filter((step) => isRun(step) && !['sh', 'yaml'].includes(step.language))
    assert.deepEqual(unknown.map(where), [], 'a block is sh, yaml, or marked with the reason why it is not run')
    assert.ok(all.filter(isRun).length >= 10, 'blocks are run at all')
  })

  it('makes only files that git ignores: they hold the token of an administrator', () => {
    const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')
    const readme = all.filter(({ page }) => page === 'README.md').map(({ text }) => text)
    const made = [...readme.join('\n').matchAll(/--(?:data|kubeconfig) \.\/(\S+)/g)].map(([, name]) => name!)
    assert.deepEqual([...new Set(made)].sort(), ['home', 'home.kubeconfig'])
    assert.deepEqual(
      made.filter((name) => !ignored.includes(`/${name}`) && !ignored.includes(`/${name}/`)),
      [],
    )
  })

  it('names tests that are there as reasons why a block is not run', () => {
    const reasons = [...all.flatMap(({ notRun }) => notRun ?? []), ...Object.values(NO_STEPS)]
    const named = reasons.flatMap((reason) => reason.match(/\b(?:test|src)\/\S+\.ts\b/g) ?? [])
    assert.ok(named.length > 0)
    assert.deepEqual(
      named.filter((path) => !existsSync(join(ROOT, path))),
      [],
    )
  })

  for (const page of PAGES.filter((name) => all.some((step) => step.page === name && isRun(step))))
    describe(page, { concurrency: 1 }, () => {
      let shipped: Shipped
      let home: UpHome | undefined
      let background: Running | undefined
      let account: Account | undefined
      let isPrepared = false
      const steps = all.filter((one) => one.page === page && isRun(one))
      const missing = steps.some(inAws) && !awsCommand && 'not installed: moto, or the aws command'

      before(async () => {
        shipped = shippedProgram()
        if (steps.some(inAws) && !missing) {
          symlinkSync(awsCommand!, join(shipped.folder, 'tools', 'aws'))
          const { eksCluster } = steps.find((step) => step.eksCluster !== undefined) ?? {}
          account =
            eksCluster === undefined
              ? await openAccount(moto!, shipped)
              : await openAccountWith(eksCluster, moto!, shipped)
        }
        // What a reader has in the folder after make build, without sources.
        for (const name of ['examples', 'templates', 'config/iam'])
          cpSync(join(ROOT, name), join(shipped.folder, 'program', name), { recursive: true })
      })
      after(async () => {
        await account?.close()
        await shipped.end()
      })

      for (const step of steps)
        it(`${where(step)} works as it is written`, { skip: missing }, async () => {
          const cwd = join(shipped.folder, 'program')
          if (step.mark === 'keeps running') {
            const [program, ...args] = step.text.trim().split(/\s+/)
            assert.equal(program, 'bin/capt')
            background = shipped.start(args, { cwd })
            return await background.untilSaid(/capt is ready at/)
          }
          // The README brings its own home; every other page is read by somebody who has one.
          if (!background) home ??= await shipped.up('home', [], { env: account?.env ?? {} })
          // A page may have applied the shipped templates, which need the AWS provider.
          const templates = inAws(step) && (step.language === 'yaml' || !isPrepared) ? account?.templates : undefined
          if (templates !== undefined) {
            await shipped.captOk(['apply', '-f', '-', '--kubeconfig', home!.kubeconfig], { input: templates })
            isPrepared = true
          }
          if (step.language === 'yaml') return await sendManifests(shipped, home!, step)
          const env = {
            ...shipped.env,
            ...account?.env,
            PATH: `${join(cwd, 'bin')}:${shipped.env['PATH']}`,
            ...(home ? { KUBECONFIG: home.kubeconfig } : {}),
          }
          const { code, out, err } = await run('bash', ['-e', '-o', 'pipefail', '-c', step.text], {
            cwd,
            env,
            timeoutMs: 240_000,
          })
          assert.equal(code, 0, `${step.text}\n${out}${err}`)
        })
    })

  after(() => {
    const marked = all.filter((step) => !isRun(step)).map((step) => `${where(step)}: ${step.notRun}`)
    const pages = Object.entries(NO_STEPS).map(([page, why]) => `${page}: ${why}`)
    console.log(`Blocks of the documentation that are not run here:\n  ${[...marked, ...pages].join('\n  ')}`)
  })
})

/**
 * The server checks manifests and changes nothing, unless the page says that they are applied: then they become Ready. In
 * AWS, a part of a cluster is applied with its other parts, and the templates end at moto.
 */
async function sendManifests(shipped: Shipped, home: UpHome, step: Step): Promise<void> {
  const documents = parseAllDocuments(step.text)
  for (const { errors } of documents) assert.deepEqual(errors, [])
  const namespaces = new Set(documents.flatMap((one) => one.getIn(['metadata', 'namespace']) ?? []))
  for (const name of namespaces) await shipped.kubectl(home.kubeconfig, ['create', 'namespace', String(name)])
  const checked = ['apply', '--dry-run=server', '--validate=strict', '-f', '-']
  const applied = ['apply', '-f', '-', '--kubeconfig', home.kubeconfig, '--wait', '3m']
  const whole = [step.text, ...missingParts(step.text).map((one) => stringify(one))].join('\n---\n')
  const { code, out, err } =
    step.mark === undefined
      ? await shipped.kubectl(home.kubeconfig, checked, { input: step.text })
      : await shipped.capt(applied, { input: inAws(step) ? whole : step.text, timeoutMs: 200_000 })
  assert.equal(code, 0, `${step.text}\n${out}${err}`)
}
