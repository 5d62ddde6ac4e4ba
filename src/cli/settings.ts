// One schema for flags, environment and config file: a flag wins over CAPT_<FLAG>, that over the file, that over the
// default. Unknown keys and wrong types in the file are refused, so that a typo is not silently a default.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CaptError, fileFaultOf, isPlainObject, ownValue } from '#lib'
import { type Arguments, checkValue, type Io, type Option } from './command.ts'

export const CONFIG_OPTION = {
  config: { type: 'string', value: 'FILE', about: 'YAML or JSON file with any of these options, by their names.' },
} as const satisfies Record<string, Option>

type Settings = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

export async function readSettings(
  options: Readonly<Record<string, Option>>,
  args: Arguments,
  io: Io,
): Promise<Settings> {
  const file = textOf(args.values['config']) ?? io.env['CAPT_CONFIG']
  const fromFile = file === undefined ? {} : await readFile(file, options, io)
  const settings: Settings = Object.fromEntries(
    Object.entries(options).map(([name, option]) => {
      const flag = args.values[name]
      // parseArgs does not distinguish a default from a flag, so a command that uses settings keeps its defaults to itself.
      if (flag !== undefined) return [name, flag]
      const variable = io.env[variableOf(name)]
      if (variable !== undefined) return [name, parseText(variable, option, variableOf(name))]
      return [name, ownValue(fromFile, name)]
    }),
  )
  for (const [name, option] of Object.entries(options)) checkValue(name, option, settings[name])
  return settings
}

const variableOf = (name: string): string => `CAPT_${name.toUpperCase().replaceAll('-', '_')}`

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

function parseText(text: string, option: Option, at: string): string | boolean | readonly string[] {
  if (option.multiple) return text.split(',').filter((item) => item !== '')
  if (option.type === 'string') return text
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0' || text === '') return false
  throw new CaptError('CAPT_SETTING_INVALID', `"${text}" is neither true nor false`, {
    at,
    hint: 'write true or false',
  })
}

async function readFile(file: string, options: Readonly<Record<string, Option>>, io: Io): Promise<Settings> {
  const path = resolve(io.cwd, file)
  let parsed: unknown
  try {
    const { parse } = await import('yaml')
    parsed = parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new CaptError('CAPT_SETTING_INVALID', `The config file cannot be read: ${fileFaultOf(cause)}`, {
      at: file,
      hint: 'name a YAML or JSON file with --config or CAPT_CONFIG',
      cause,
    })
  }
  if (parsed === null) return {}
  if (!isPlainObject(parsed))
    throw new CaptError('CAPT_SETTING_INVALID', 'The config file must hold options by name', { at: file })
  for (const [name, value] of Object.entries(parsed)) {
    const option = ownValue(options, name)
    if (!option || name === 'config') {
      const hint = `one of: ${Object.keys(options)
        .filter((known) => known !== 'config')
        .join(', ')}`
      throw new CaptError('CAPT_SETTING_INVALID', `${name} is not an option`, { at: `${file}: ${name}`, hint })
    }
    const fits = option.multiple
      ? Array.isArray(value) && value.every((item) => typeof item === 'string')
      : typeof value === option.type
    if (!fits) {
      const wanted = option.multiple ? 'a list of strings' : `a ${option.type}`
      throw new CaptError('CAPT_SETTING_INVALID', `${name} must be ${wanted}`, { at: `${file}: ${name}` })
    }
  }
  return parsed as Settings
}
