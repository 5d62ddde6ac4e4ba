// The faults a server reports, in its words. A path of '' is the object itself, which the server calls <nil>.

import { quote } from './go-text.ts'
import type { Fault, FaultType } from './index.ts'

const TITLES: Readonly<Record<FaultType, string>> = {
  Required: 'Required value',
  Invalid: 'Invalid value',
  TypeInvalid: 'Invalid value',
  NotSupported: 'Unsupported value',
  Duplicate: 'Duplicate value',
  TooLong: 'Too long',
  TooMany: 'Too many',
  Forbidden: 'Forbidden',
}

/** `value` is the offending value already printed; left out where the server does not show it. */
export function fault(type: FaultType, path: string, value: string | undefined, detail = ''): Fault {
  const where = path === '' ? '<nil>' : path
  const shown = value === undefined ? TITLES[type] : `${TITLES[type]}: ${value}`
  return { path: where, type, message: `${where}: ${shown}${detail === '' ? '' : `: ${detail}`}` }
}

export function required(path: string, detail = ''): Fault {
  return fault('Required', path, undefined, detail)
}

export function notSupported(path: string, value: string, supported: readonly string[]): Fault {
  const detail = supported.length === 0 ? '' : `supported values: ${supported.map(quote).join(', ')}`
  return fault('NotSupported', path, value, detail)
}

const BLOCKING = new Set<FaultType>(['NotSupported', 'Required', 'TooLong', 'TooMany', 'TypeInvalid'])

/** CEL rules are not run on an object with such a fault: they could not trust its types. */
export function isBlocking(one: Fault): boolean {
  return BLOCKING.has(one.type)
}

export const RULES_NOT_CHECKED: Fault = fault(
  'Invalid',
  '',
  '"null"',
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
)
