// What may come next on a command line, from the words before it. Kinds, options and commands are known; names are asked
// for. Pure but for the lookup that it is given.
import type { Command, Option } from '../command.ts'
import { CONNECTION_OPTIONS } from '../command.ts'
import type { Entry } from '../help.ts'
import { kindWords } from '../resources.ts'

interface Candidate {
  readonly text: string
  readonly about?: string
}

/** Files are completed by the shell itself. */
type Completion = readonly Candidate[] | 'files'

/** Names on the server, and what else only the world knows; `values` are the options given so far. */
export interface Lookup {
  namesOf(kindWord: string, values: Readonly<Record<string, string>>): Promise<readonly string[]>
  namespaces(values: Readonly<Record<string, string>>): Promise<readonly string[]>
  contexts(values: Readonly<Record<string, string>>): Promise<readonly string[]>
  codes(): Promise<readonly string[]>
}

/** `words` are those after `capt`; the last one is being written. */
export async function complete(
  words: readonly string[],
  commands: readonly Entry[],
  lookup: Lookup,
): Promise<Completion> {
  const given = words.filter((word) => word !== '=')
  const current = given.at(-1) ?? ''
  const before = given.slice(0, -1)
  const named = findCommand(before, commands)
  const command = named && (await named.entry.load()).command
  const options: Readonly<Record<string, Option>> = command?.options ?? CONNECTION_OPTIONS
  const read = readWords(before, options)
  const inline = /^--([\w-]+)=(.*)$/s.exec(current)
  const [option, start, prefix] = inline ? [inline[1], inline[2] ?? '', `--${inline[1]}=`] : [read.pending, current, '']
  if (option !== undefined) return matching(await valuesOf(option, options[option], read.values, lookup), start, prefix)
  if (current.startsWith('-') && current !== '-') return matching(optionCandidates(options), current)
  if (!command) return matching(commandCandidates(read.positionals, commands), current)
  const positionals = read.positionals.slice(command.name.split(' ').length)
  return matching(await positionalCandidates(command, positionals, current, read.values, lookup), current)
}

function matching(found: Completion, start: string, prefix = ''): Completion {
  if (found === 'files') return found
  return found
    .filter(({ text }) => text.startsWith(start))
    .map(({ text, about }) => ({ text: `${prefix}${text}`, ...(about === undefined ? {} : { about }) }))
}

interface Read {
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string>>
  /** The option whose value comes next. */
  readonly pending: string | undefined
}

function readWords(words: readonly string[], options: Readonly<Record<string, Option>>): Read {
  const positionals: string[] = []
  const values: Record<string, string> = {}
  let pending: string | undefined
  for (const word of words) {
    const [, long, inline] = /^--([\w-]+)(?:=(.*))?$/s.exec(word) ?? []
    const name = long ?? Object.keys(options).find((one) => `-${options[one]?.short}` === word)
    if (pending !== undefined) {
      values[pending] = word
      pending = undefined
    } else if (name === undefined) {
      if (!word.startsWith('-')) positionals.push(word)
    } else if (inline !== undefined) values[name] = inline
    else if (options[name]?.type === 'string') pending = name
  }
  return { positionals, values, pending }
}

function findCommand(words: readonly string[], commands: readonly Entry[]) {
  const { positionals } = readWords(words, CONNECTION_OPTIONS)
  for (const length of [2, 1]) {
    const entry = commands.find(({ name }) => name === positionals.slice(0, length).join(' '))
    if (entry) return { entry }
  }
  return undefined
}

function commandCandidates(words: readonly string[], commands: readonly Entry[]): readonly Candidate[] {
  const shown = commands.filter(({ hidden }) => hidden !== true)
  const inGroup = words.length === 1 ? shown.filter(({ name }) => name.startsWith(`${words[0]} `)) : []
  if (words.length > 0) return inGroup.map(({ name, summary }) => ({ text: name.split(' ')[1]!, about: summary }))
  const first = new Map<string, string>()
  for (const { name, summary } of shown) {
    const [word = '', second] = name.split(' ')
    first.set(word, second === undefined ? summary : `${word} commands`)
  }
  return [...first].map(([text, about]) => ({ text, about }))
}

const optionCandidates = (options: Readonly<Record<string, Option>>): readonly Candidate[] =>
  [...Object.entries(options), ['help', { about: 'Usage, examples and options.' }] as const].map(
    ([name, { about }]) => ({
      text: `--${name}`,
      about,
    }),
  )

const toCandidates = (texts: readonly string[]): readonly Candidate[] => texts.map((text) => ({ text }))

async function valuesOf(
  name: string,
  option: Option | undefined,
  values: Read['values'],
  lookup: Lookup,
): Promise<Completion> {
  if (name === 'namespace') return toCandidates(await lookup.namespaces(values))
  if (name.endsWith('context')) return toCandidates(await lookup.contexts(values))
  const value = option?.value ?? ''
  if (/^(FILE|DIR|FOLDER)$/.test(value)) return 'files'
  if (value === 'FORMAT') return toCandidates(['json', 'yaml', 'wide', 'name', 'jsonpath='])
  return toCandidates(value.split('|').filter((word) => word !== '' && !/^[A-Z:]+$/.test(word)))
}

async function positionalCandidates(
  { name: command, positionals: usage = '' }: Command,
  before: readonly string[],
  current: string,
  values: Read['values'],
  lookup: Lookup,
): Promise<Completion> {
  if (/\bFILE\b|\bFOLDER\b/.test(usage)) return 'files'
  if (usage.includes('CODE')) return toCandidates(await lookup.codes())
  const words = usage.split(' | ')[0]!.split(' ')
  const word = (words[before.length] ?? words.at(-1) ?? '').replace(/[[\]]|\.\.\./g, '')
  const isMore = before.length < words.length || /\.\.\./.test(usage)
  const [kind, name] = current.split('/')
  if (usage.includes('KIND') && name !== undefined && kind)
    return toCandidates((await lookup.namesOf(kind, values)).map((one) => `${kind}/${one}`))
  if (!isMore) return []
  const kinds = () => kindWords().map((known) => known.split('/')[0]!)
  if (usage.startsWith('[CLUSTER | KIND')) {
    if (before.length === 0) return toCandidates([...(await lookup.namesOf('clusters', values)), ...kinds()])
    return toCandidates(await lookup.namesOf(before[0]!, values))
  }
  if (word === 'KIND') {
    const applies = command === 'retry' ? await lookup.namesOf('wtapply', values) : []
    return toCandidates([...applies, ...kinds()])
  }
  if (word === 'CLUSTER') return toCandidates(await lookup.namesOf('clusters', values))
  if (word === 'NAME|CLUSTER')
    return toCandidates([...(await lookup.namesOf('wtapply', values)), ...(await lookup.namesOf('clusters', values))])
  if (word === 'NAME') {
    const ofKind = usage.includes('KIND') && before[0] !== undefined ? before[0] : 'wtapply'
    return toCandidates(await lookup.namesOf(ofKind, values))
  }
  return toCandidates(word.split('|').filter((one) => /^[a-z]/.test(one)))
}
