// Translations have the commands, the headings and the table rows of the English page, in its order.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readSteps } from '../../../support/docs-pages.ts'

const root = join(import.meta.dirname, '../../../..')
const TRANSLATED = ['README.md', 'docs/karpenter.md']
const LANGUAGES = {
  ja: { name: '日本語', script: /[\u3040-\u30ff\u4e00-\u9fff]/u },
  ko: { name: '한국어', script: /[\uac00-\ud7af]/u },
} as const

const read = (page: string): string => readFileSync(join(root, page), 'utf8')
const translationOf = (page: string, language: string): string => page.replace(/\.md$/, `.${language}.md`)
const withoutBlocks = (text: string): readonly string[] => text.replace(/^```[\s\S]*?^```$/gm, '').split('\n')
/** The levels of the headings, in order. */
const headingsOf = (text: string): readonly number[] =>
  withoutBlocks(text).flatMap((line) => /^(#+) /.exec(line)?.[1]?.length ?? [])
/** What is in backquotes in each row of a table: flags, names and commands are never translated. */
const rowsOf = (text: string): readonly string[] =>
  withoutBlocks(text)
    .filter((line) => line.startsWith('| '))
    .map((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, code]) => code).join(' '))
const blocksOf = (page: string) =>
  readSteps(page, read(page)).map(({ language, text, notRun, mark }) => ({ language, text, notRun, mark }))

for (const page of TRANSLATED)
  describe(`Translations of ${page}`, () => {
    for (const [language, { name, script }] of Object.entries(LANGUAGES)) {
      const translated = translationOf(page, language)

      it(`${translated} has the same blocks in the same order`, () => {
        assert.ok(blocksOf(page).length > 0)
        assert.deepEqual(blocksOf(translated), blocksOf(page))
      })

      it(`${translated} has as many headings of each level, and the same rows in its tables`, () => {
        assert.deepEqual(headingsOf(read(translated)), headingsOf(read(page)))
        assert.deepEqual(rowsOf(read(translated)), rowsOf(read(page)))
      })

      it(`${translated} is in ${name}: every paragraph that is long enough`, () => {
        const paragraphs = withoutBlocks(read(translated))
          .join('\n')
          .split('\n\n')
          .filter((text) => text.length > 80 && !text.startsWith('<!--'))
        assert.ok(paragraphs.length >= 5)
        assert.deepEqual(
          paragraphs.filter((text) => !script.test(text)),
          [],
        )
      })
    }

    it('are linked from each other', () => {
      const pages = [page, ...Object.keys(LANGUAGES).map((language) => translationOf(page, language))]
      for (const one of pages)
        for (const other of pages.filter((name) => name !== one))
          assert.ok(read(one).includes(`](${other.split('/').at(-1)})`), `${one} does not link ${other}`)
    })
  })
