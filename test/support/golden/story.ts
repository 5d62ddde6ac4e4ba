// A story as a person types and reads it: the command lines of capt and kubectl with what they printed, compared with a golden file.
// Progress is left out: its lines and their order depend on time.
import type { Shipped } from '../../shipped/support.ts'
import type { Ran, RunOptions } from '../tools.ts'
import { assertGolden } from './file.ts'

export interface Story {
  capt(args: readonly string[], options?: RunOptions): Promise<Ran>
  kubectl(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Something that happened between two commands. */
  note(text: string): void
  /** `name` of a file in test/cli/golden, without its ending. */
  assertGolden(name: string): void
}

/** `kubeconfig` is where the home is now. `steady` makes what differs from run to run the same. */
export function storyOf(
  shipped: Shipped,
  kubeconfig: () => string,
  steady: (text: string) => string = (text) => text,
): Story {
  const parts: string[] = []
  const record = (program: string, args: readonly string[], { code, out, err }: Ran): void => {
    const errors = err.split('\n').filter((line) => line !== '' && !/^ {2}(\d\d\.\d|\d+s|\d+m\w*) /.test(line))
    const words = args.map((word) => (/[\s'"*{}]|^$/.test(word) ? `'${word}'` : word)).join(' ')
    const text = `$ ${program} ${words}\n${out}${errors.map((line) => `! ${line}\n`).join('')}(${code})\n`
    parts.push(everywhere(steady(text.replaceAll(shipped.folder, 'FOLDER'))))
  }
  return {
    async capt(args, options) {
      const ran = await shipped.capt([...args, '--kubeconfig', kubeconfig()], { env: shipped.env, ...options })
      record('capt', args, ran)
      return ran
    },
    async kubectl(args, options) {
      const ran = await shipped.kubectl(kubeconfig(), args, options)
      record('kubectl', args, ran)
      return ran
    },
    note: (text) => void parts.push(`# ${everywhere(steady(text))}\n`),
    assertGolden: (name) => assertGolden(name, parts.join('\n')),
  }
}

/** Ids, addresses, and how long something took or is there; what a person typed stays. */
const everywhere = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replace(/https?:\/\/(127\.0\.0\.1|localhost):\d+/g, 'https://SERVER')
    .replace(/ deleted from \S+ namespace$/gm, ' deleted')
    .replace(/\d+\w* ago \([^)]*\)/g, 'AGO')
    .replace(/vpc-[0-9a-f]{8,}/g, 'vpc-ID')
    .replace(/\(\d+(\.\d+)?(ms|s|m|m\d+s)\)/g, '(TIME)')
    .replace(/^(?!\$)(.*[^:\s]) +\d+(ms|s|m|m\d+s)$/gm, '$1 AGE')
