// The Terraform state of an apply and its copies: look at them, and decide which one holds.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { notFound, WorkspaceTemplateApply } from '#api'
import {
  copyId,
  discardCopy,
  findCopy,
  findOwner,
  loadCopy,
  loadState,
  type ObjectKey,
  readRecord,
  readState,
  restoreState,
  suffixOf,
} from '#engine'
import type { Connected } from '#kube'
import { CaptError, fileFaultOf, isCaptError } from '#lib'
import { type Arguments, CONNECTION_OPTIONS, type Command, EXIT, type Io, withConnection } from '../../command.ts'
import { confirm, endDryRun, YES_OPTION } from '../../output.ts'
import { applyNameOf } from '../../resources.ts'

export const command: Command = {
  name: 'state',
  summary: 'List, show and restore Terraform state',
  positionals: 'list|show|restore|discard NAME',
  examples: {
    'state list demo-vpc': 'The state that holds, and the copies made before each change',
    'state show demo-vpc': 'Addresses of what is in it',
    'state show demo-vpc --serial 7 --raw > state.json': 'A copy as it is; it holds secrets',
    'state restore demo-vpc --serial 7': 'Make a copy hold again; what holds now is copied first',
    'state discard demo-vpc --copy 7-1a2b3c4d': 'Drop a copy that a run saved after it lost its lock',
  },
  options: {
    ...CONNECTION_OPTIONS,
    serial: { type: 'string', value: 'NUMBER', about: 'Serial number of a copy; the state that holds otherwise.' },
    copy: { type: 'string', value: 'ID', about: 'A copy beside the state, saved by a run that had lost its lock.' },
    raw: { type: 'boolean', about: 'Print the state itself, secrets included.' },
    file: { type: 'string', value: 'FILE', about: 'Restore this file instead of a copy.' },
    ...YES_OPTION,
    'dry-run': { type: 'boolean', about: 'Show what would be restored and change nothing.' },
  },
  async run(args, io) {
    const [verb, word] = args.positionals
    const name = word === undefined ? undefined : applyNameOf(word, 'state')
    const work = { list, show, restore, discard }[verb ?? '']
    if (!work || name === undefined) {
      throw new CaptError('CAPT_USAGE', 'state needs list, show, restore or discard, and a name', {
        hint: 'capt state list demo-vpc',
      })
    }
    return withConnection(args, io, (connected) =>
      work({ connected, key: { namespace: connected.namespace, name }, args, io }),
    )
  },
}

interface Task {
  readonly connected: Connected
  readonly key: ObjectKey
  readonly args: Arguments
  readonly io: Io
}

async function list({ connected, key, io }: Task): Promise<number> {
  const record = (await readRecord(connected.objects, key))?.record
  const copies = [...(record?.side ?? []), ...(record?.backups ?? [])]
  const current = await currentState(connected.objects, key)
  if (!current && copies.length === 0) throw await nothingKept(connected.objects, key)
  const row = (serial: number, resources: number, when: string, what: string) =>
    io.stdout.write(`${String(serial).padStart(6)}  ${String(resources).padStart(9)}  ${when.padEnd(20)}  ${what}\n`)
  io.stdout.write('SERIAL  RESOURCES  SAVED                 WHAT\n')
  if (current)
    row(current.serial, current.addresses.length, record?.state?.savedAt ?? '', `holds, lineage ${current.lineage}`)
  for (const copy of copies) {
    const what = copy.run === undefined ? 'copy' : `copy ${copyId(copy)}, saved by a run that had lost its lock`
    row(copy.serial, copy.resources, copy.savedAt, what)
  }
  if (!current) io.stderr.write('The state that held is gone or damaged; capt state restore makes a copy hold\n')
  if (record?.backend === undefined) {
    const lines = [`namespace     = "${key.namespace}"`, `secret_suffix = "${suffixOf(key)}"`]
    io.stdout.write(`\nTerraform by hand reads it with backend "kubernetes" and\n  ${lines.join('\n  ')}\n`)
  }
  return EXIT.fine
}

/** Undefined when it is gone or damaged: a copy holds only after it was restored. */
async function currentState(objects: Connected['objects'], key: ObjectKey) {
  try {
    return readState((await loadState(objects, key)) ?? '')
  } catch (error) {
    if (isCaptError(error, 'CAPT_STATE_UNREADABLE')) return undefined
    throw error
  }
}

/** Drops a copy beside the state; its resources are then nobody's. */
async function discard({ connected, io, args, key }: Task): Promise<number> {
  const { copy } = args.values
  if (typeof copy !== 'string') {
    throw new CaptError('CAPT_USAGE', 'discard needs --copy', { hint: `capt state list ${key.name} shows the copies` })
  }
  const { owner } = await findOwner(connected.objects, key)
  const text = await findText({ connected, io, args, key })
  for (const address of readState(text ?? '')?.addresses ?? []) io.stderr.write(`  in this copy: ${address}\n`)
  if (args.values['dry-run'] === true) return endDryRun(io)
  if (!(await confirm(`Drop copy ${copy} of ${key.namespace}/${key.name}?`, args, io))) return EXIT.failed
  await discardCopy(connected.objects, owner, copy)
  io.stdout.write(`Dropped copy ${copy}; capt retry ${key.name} goes on without it\n`)
  return EXIT.fine
}

async function show(task: Task): Promise<number> {
  const { io, args } = task
  const text = await findText(task)
  const state = text === undefined ? undefined : readState(text)
  if (text === undefined || !state) throw await noState(task)
  if (args.values['raw'] === true) io.stdout.write(text)
  else for (const address of state.addresses) io.stdout.write(`${address}\n`)
  return EXIT.fine
}

async function restore(task: Task): Promise<number> {
  const { connected, io, args, key } = task
  const { file, serial, copy } = args.values
  if (typeof file !== 'string' && typeof serial !== 'string' && typeof copy !== 'string') {
    throw new CaptError('CAPT_USAGE', 'restore needs --serial, --copy or --file', {
      hint: `capt state list ${key.name} shows the copies`,
    })
  }
  const text = typeof file === 'string' ? readFile(resolve(io.cwd, file)) : await findText(task)
  const state = readState(text ?? '')
  if (text === undefined || !state) throw await noState(task)
  const record = (await readRecord(connected.objects, key))?.record
  const now = readState((await loadState(connected.objects, key, record?.backups ?? []).catch(() => '')) ?? '')
  const known = new Set(state.addresses)
  const forgotten = (now?.addresses ?? []).filter((address) => !known.has(address))
  io.stderr.write(
    `Serial ${state.serial} has ${state.addresses.length} resources; serial ${now?.serial ?? 'none'} holds now with ${now?.addresses.length ?? 0}\n`,
  )
  for (const address of forgotten) io.stderr.write(`  would be forgotten: ${address}\n`)
  if (args.values['dry-run'] === true) return endDryRun(io)
  if (!(await confirm(`Make serial ${state.serial} the state of ${key.namespace}/${key.name}?`, args, io)))
    return EXIT.failed
  const { owner } = await findOwner(connected.objects, key)
  const done = await restoreState(connected.objects, io.clock, owner, text)
  const isBeside = typeof file !== 'string' && record?.side?.some((one) => copyId(one) === copy)
  if (isBeside && typeof copy === 'string') await discardCopy(connected.objects, owner, copy)
  io.stdout.write(
    `Restored as serial ${done.serial}; capt retry ${key.name} brings the infrastructure in line with it\n`,
  )
  return EXIT.fine
}

async function findText({ connected, key, args }: Task): Promise<string | undefined> {
  const { serial, copy } = args.values
  const record = (await readRecord(connected.objects, key))?.record
  if (typeof copy === 'string') {
    const ref = record && findCopy(record, copy)
    return ref && loadCopy(connected.objects, key, ref)
  }
  if (typeof serial !== 'string') return loadState(connected.objects, key, record?.backups ?? [])
  if (!/^\d+$/.test(serial))
    throw new CaptError('CAPT_USAGE', `--serial cannot be "${serial}"`, {
      hint: `a number; capt state list ${key.name} shows them`,
    })
  const ref = (record && findCopy(record, serial)) ?? { serial: Number(serial) }
  const backup = await loadCopy(connected.objects, key, ref)
  if (backup !== undefined) return backup
  const current = await loadState(connected.objects, key, record?.backups ?? [])
  return current !== undefined && readState(current)?.serial === Number(serial) ? current : undefined
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CaptError('CAPT_FILE_UNREADABLE', `${path} cannot be read: ${fileFaultOf(error)}`, {
      hint: 'name a file with a Terraform state',
      cause: error,
    })
  }
}

/** A copy that does not exist, or nothing at all. */
async function noState({ connected, key, args }: Task): Promise<CaptError> {
  const { file, serial, copy } = args.values
  const { namespace, name } = key
  if (typeof file === 'string')
    return new CaptError('CAPT_STATE_UNREADABLE', `${file} is not a whole Terraform state of format version 4`, {
      hint: 'give a file as terraform state pull writes it; nothing was changed',
    })
  const id = copy ?? serial
  if (id === undefined) return await nothingKept(connected.objects, key)
  const what = copy === undefined ? `state of serial ${id}` : `copy ${id}`
  return new CaptError('CAPT_STATE_MISSING', `${namespace}/${name} has no ${what}`, {
    hint: `capt state list ${name} shows what there is`,
  })
}

/** An apply that does not exist is not one that has no state yet. */
async function nothingKept(objects: Connected['objects'], key: ObjectKey): Promise<CaptError> {
  if (!(await objects.get(WorkspaceTemplateApply, key))) return notFound(WorkspaceTemplateApply, key)
  return new CaptError('CAPT_STATE_MISSING', `${key.namespace}/${key.name} has no state yet`, {
    hint: `capt describe wtapply ${key.name} says what it waits for`,
  })
}
