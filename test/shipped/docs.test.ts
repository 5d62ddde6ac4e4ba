// Executes the documentation: every fenced command and manifest of the README and of the pages, in page order, in a fresh
// folder with the shipped program. Commands run in a shell; manifests are sent to the embedded home, where the server
// checks them, or applies them where the page says so. What cannot run here is marked in the page with its reason, and
// listed at the end.
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { readSteps, type Step } from '../support/docs-pages.ts'
import { run } from '../tools.ts'
import { kubectlPath, type Running, type Shipped, shippedProgram, type UpHome } from './support.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** Pages that hold no steps for a reader to take. */
const NO_STEPS: Readonly<Record<string, string>> = {
  'docs/commands.md': 'generated: usage of every command, with examples that name files of the reader',
  'docs/errors.md': 'generated: an index of errors',
}
const PAGES = ['README.md', 'CONTRIBUTING.md', 'modules/karpenter/README.md', ...pagesBelow('docs')]

function pagesBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
    .filter((page) => !Object.hasOwn(NO_STEPS, page))
    .sort()
}

const all = PAGES.flatMap((page) => readSteps(page, readFileSync(join(ROOT, page), 'utf8')))
const isRun = ({ notRun }: Step): boolean => notRun === undefined
const where = ({ page, line }: Step) => `${page}:${line}`

describe('documentation', { skip: kubectlPath ? false : 'kubectl is not on the PATH' }, () => {
  it('says of each block what it is', () => {
    const unknown = all.filter((step) => isRun(step) && !['sh', 'yaml'].includes(step.language))
    assert.deepEqual(unknown.map(where), [], 'a block is sh, yaml, or marked with the reason why it is not run')
    assert.ok(all.filter(isRun).length >= 10, 'blocks are run at all')
  })

  for (const page of PAGES.filter((name) => all.some((step) => step.page === name && isRun(step))))
    describe(page, () => {
      let shipped: Shipped
      let home: UpHome | undefined
      let background: Running | undefined

      before(() => {
        shipped = shippedProgram()
        // What a reader has in the folder after make build, without sources.
        for (const name of ['examples', 'templates'])
          cpSync(join(ROOT, name), join(shipped.folder, 'program', name), { recursive: true })
      })
      after(async () => await shipped.end())

      for (const step of all.filter((one) => one.page === page && isRun(one)))
        it(`${where(step)} works as it is written`, async () => {
          const cwd = join(shipped.folder, 'program')
          if (step.mark === 'keeps running') {
            const [program, ...args] = step.text.trim().split(/\s+/)
            assert.equal(program, 'bin/capt')
            background = shipped.start(args, { cwd })
            return await background.untilSaid(/capt is ready at/)
          }
          // The README brings its own home; every other page is read by somebody who has one.
          if (!background) home ??= await shipped.up()
          if (step.language === 'yaml') return await sendManifests(shipped, home!, step)
          const env = {
            ...shipped.env,
            PATH: `${join(cwd, 'bin')}:${shipped.env['PATH']}`,
            ...(home ? { KUBECONFIG: home.kubeconfig } : {}),
          }
          const { code, out, err } = await run('bash', ['-e', '-o', 'pipefail', '-c', step.text], { cwd, env })
          assert.equal(code, 0, `${step.text}\n${out}${err}`)
        })
    })

  after(() => {
    const marked = all.filter((step) => !isRun(step)).map((step) => `${where(step)}: ${step.notRun}`)
    const pages = Object.entries(NO_STEPS).map(([page, why]) => `${page}: ${why}`)
    console.log(`Blocks of the documentation that are not run here:\n  ${[...marked, ...pages].join('\n  ')}`)
  })
})

/** The server checks manifests and changes nothing, unless the page says that they are applied: then they become Ready. */
async function sendManifests(shipped: Shipped, home: UpHome, step: Step): Promise<void> {
  const documents = parseAllDocuments(step.text)
  for (const { errors } of documents) assert.deepEqual(errors, [])
  const namespaces = new Set(documents.flatMap((one) => one.getIn(['metadata', 'namespace']) ?? []))
  for (const name of namespaces) await shipped.kubectl(home.kubeconfig, ['create', 'namespace', String(name)])
  const input = { input: step.text }
  const checked = ['apply', '--dry-run=server', '--validate=strict', '-f', '-']
  const applied = ['apply', '-f', '-', '--wait', '3m', '--kubeconfig', home.kubeconfig]
  const { code, out, err } =
    step.mark === 'applied'
      ? await shipped.capt(applied, input)
      : await shipped.kubectl(home.kubeconfig, checked, input)
  assert.equal(code, 0, `${step.text}\n${out}${err}`)
}
