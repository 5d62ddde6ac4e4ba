// Says what an error code means, what to check and how to put it right, without leaving the terminal.
import { codeForText } from '#catalog'
import { CaptError } from '#lib'
import { type Command, EXIT, type Io } from '../../command.ts'
import type { ErrorPage, ErrorPages } from '../../error-pages.ts'
import generated from '../../errors.generated.json' with { type: 'json' }
import { OUTPUT_OPTION, outputOf, printData } from '../../output.ts'

export const command: Command = {
  name: 'explain',
  summary: 'Say what an error code means, how to check it and how to fix it',
  positionals: '[CODE | TEXT...]',
  examples: {
    'explain CAPT_CHART_FORBIDDEN': 'What a code means, what to check, how to put it right',
    "explain 'pulling from host public.ecr.aws failed: 403 forbidden'": 'An error text of another program',
    'explain spot': 'Codes whose pages speak of a word',
    explain: 'All codes',
  },
  options: OUTPUT_OPTION,
  run: async (args, io) => explain(args.positionals, outputOf(args, ['json', 'yaml']), io, generated),
}

export async function explain(
  words: readonly string[],
  output: string | undefined,
  io: Io,
  pages: ErrorPages,
): Promise<number> {
  const asked = words.join(' ').trim()
  const found = find(asked, pages)
  if (found.length === 0)
    throw new CaptError('CAPT_EXPLAIN_UNKNOWN', `there is no page about "${asked}"`, {
      hint: 'capt explain lists every code',
    })
  if (output === 'json' || output === 'yaml') {
    await printData(
      found.length === 1 ? { code: found[0]![0], ...found[0]![1] } : Object.fromEntries(found),
      output,
      io,
    )
    return EXIT.fine
  }
  io.stdout.write(found.length === 1 ? renderPage(...found[0]!) : renderIndex(found))
  return EXIT.fine
}

function find(asked: string, pages: ErrorPages): [string, ErrorPage][] {
  const all = Object.entries(pages)
  if (asked === '') return all
  const code = all.filter(([name]) => name === asked.toUpperCase() || name === `CAPT_${asked.toUpperCase()}`)
  if (code.length > 0) return code
  const known = codeForText(asked)
  if (known && pages[known]) return [[known, pages[known]]]
  const words = asked.toLowerCase().split(/\s+/)
  return all.filter(([name, page]) => {
    const text = `${name} ${page.means} ${page.check} ${page.fix}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

function renderPage(code: string, page: ErrorPage): string {
  const part = (head: string, text: string) =>
    text === '' ? [] : [head, ...text.split('\n').map((line) => (line === '' ? '' : `  ${line}`)), '']
  return [code, '', ...part('What it means', page.means), ...part('Check', page.check), ...part('Fix', page.fix)].join(
    '\n',
  )
}

function renderIndex(found: readonly (readonly [string, ErrorPage])[]): string {
  const width = Math.max(...found.map(([code]) => code.length))
  return `${found.map(([code, page]) => `${code.padEnd(width)}  ${page.title}`).join('\n')}\n`
}
