// A Terraform provider for tests, served by this process: it manages pages of a notebook that the test can also change, which is
// what nobody can do to terraform_data. Terraform finds it by TF_REATTACH_PROVIDERS, so nothing is installed.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Page {
  readonly name: string
  readonly text: string | null
  readonly secret: string | null
}

export interface NoteProvider {
  /** What exists, by name. */
  readonly pages: Map<string, Page>
  /** Set: reading a page fails with this text. */
  failure: string | undefined
  /** From now on reads wait: until they are released, or until Terraform asks the provider to stop. */
  hold(): void
  release(): void
  /** Reads that wait. */
  readonly held: number
  /** Value of TF_REATTACH_PROVIDERS. */
  readonly reattach: string
  /** A program that Terraform may start as its plugin, with TF_DISABLE_PLUGIN_TLS set: it leads here. */
  readonly program: string
  readonly types: ResourceTypes
  close(): Promise<void>
}

/** For `required_providers`. */
export const NOTE_PROVIDER = `terraform {
  required_providers {
    note = { source = "capt.test/local/note" }
  }
}`

const PROTOCOL = 6

/** Attributes of each type of resource; all of them are texts, and `name` is required. */
type ResourceTypes = Readonly<Record<string, readonly string[]>>

interface ProviderOptions {
  /** Providers that this one stands for, as `required_providers` has them. */
  readonly sources: readonly string[]
  readonly types: ResourceTypes
}

const NOTE: ProviderOptions = { sources: ['capt.test/local/note'], types: { note_page: ['text', 'secret'] } }

export async function startNoteProvider({ sources, types }: ProviderOptions = NOTE): Promise<NoteProvider> {
  const folder = mkdtempSync(join(tmpdir(), 'capt-note-'))
  const socket = join(folder, 'provider.sock')
  const server = createServer()
  const address = { Network: 'unix', String: socket }
  const config = { Protocol: 'grpc', ProtocolVersion: PROTOCOL, Pid: process.pid, Test: true, Addr: address }
  let gate: PromiseWithResolvers<void> | undefined
  let held = 0
  const provider: NoteProvider = {
    pages: new Map(),
    failure: undefined,
    reattach: JSON.stringify(Object.fromEntries(sources.map((source) => [source, config]))),
    program: `#!/bin/sh\necho '1|${PROTOCOL}|unix|${socket}|grpc'\nexec sleep 600\n`,
    types,
    hold: () => {
      gate ??= Promise.withResolvers<void>()
    },
    release: () => {
      gate?.resolve()
      gate = undefined
    },
    get held() {
      return held
    },
    async close() {
      provider.release()
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  const beforeRead = async () => {
    if (!gate) return
    held++
    await gate.promise
    held--
  }
  server.on('stream', (stream, headers) => serve(provider, beforeRead, stream, String(headers[':path'])))
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  server.unref()
  return provider
}

/** gRPC: each message is preceded by a flag and its length. */
function serve(provider: NoteProvider, beforeRead: () => Promise<void>, stream: ServerHttp2Stream, path: string): void {
  const method = /^\/tfplugin6\.Provider\/(\w+)$/.exec(path)?.[1] ?? ''
  const chunks: Buffer[] = []
  stream.on('error', () => undefined)
  const headers = { ':status': 200, 'content-type': 'application/grpc' }
  if (METHODS[method] === undefined) {
    const unimplemented = '12'
    stream.respond({ ...headers, 'grpc-status': unimplemented }, { endStream: true })
    return
  }
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', async () => {
    if (method === 'ReadResource') await beforeRead()
    if (stream.destroyed) return
    const answer = METHODS[method]!(provider, readFields(Buffer.concat(chunks).subarray(5)))
    const head = Buffer.alloc(5)
    head.writeUInt32BE(answer.length, 1)
    stream.respond(headers, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.concat([head, answer]))
  })
}

type Message = ReadonlyMap<number, Buffer>
const NOTHING = Buffer.alloc(0)
const bytesOf = (message: Message, field: number): Buffer => message.get(field) ?? NOTHING

/** The numbers of the fields are those of tfplugin6.proto. */
const METHODS: Readonly<Record<string, (provider: NoteProvider, request: Message) => Buffer>> = {
  GetProviderSchema({ types }) {
    const entries = Object.entries(types).map(([type, names]) => field(2, entry(type, schema(attributes(names)))))
    return Buffer.concat([field(1, schema([])), ...entries])
  },
  ValidateProviderConfig: () => NOTHING,
  ConfigureProvider: () => NOTHING,
  ValidateResourceConfig: () => NOTHING,
  StopProvider(provider) {
    provider.release()
    return NOTHING
  },
  UpgradeResourceState: (_, request) => field(1, field(2, bytesOf(readFields(bytesOf(request, 3)), 1))),
  ReadResource({ pages, failure }, request) {
    if (failure !== undefined) return field(2, Buffer.concat([number(1, 1), field(2, Buffer.from(failure))]))
    const found = pages.get(pageOf(bytesOf(request, 2))?.name ?? '')
    return field(1, field(2, Buffer.from(JSON.stringify(found ?? null))))
  },
  PlanResourceChange: (_, request) => field(1, bytesOf(request, 3)),
  ApplyResourceChange({ pages }, request) {
    const before = pageOf(bytesOf(request, 2))
    const after = pageOf(bytesOf(request, 3))
    if (before) pages.delete(before.name)
    if (after) pages.set(after.name, after)
    return field(1, bytesOf(request, 3))
  },
}

/** 4: required. 5: optional. */
const attributes = (names: readonly string[]) => [
  attribute('name', 4),
  ...names.map((name) => attribute(name, 5, name === 'secret')),
]

function attribute(name: string, presence: number, isSensitive = false): Buffer {
  const type = field(2, Buffer.from('"string"'))
  return Buffer.concat([field(1, Buffer.from(name)), type, number(presence, 1), ...(isSensitive ? [number(7, 1)] : [])])
}

const schema = (attributes: readonly Buffer[]): Buffer =>
  field(2, Buffer.concat(attributes.map((one) => field(2, one))))
const entry = (key: string, value: Buffer): Buffer => Buffer.concat([field(1, Buffer.from(key)), field(2, value)])

function pageOf(dynamicValue: Buffer): Page | undefined {
  const packed = bytesOf(readFields(dynamicValue), 1)
  return (packed.length === 0 ? undefined : (unpack(packed, 0).value ?? undefined)) as Page | undefined
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left >>>= 7) {
    if (left < 0x80) return Buffer.from([...bytes, left])
    bytes.push((left & 0x7f) | 0x80)
  }
}
const number = (index: number, value: number): Buffer => Buffer.concat([varint(index << 3), varint(value)])
const field = (index: number, value: Buffer): Buffer =>
  Buffer.concat([varint((index << 3) | 2), varint(value.length), value])

/** Fields of a protobuf message that have bytes; of a repeated one the last. */
function readFields(message: Buffer): Message {
  const fields = new Map<number, Buffer>()
  let at = 0
  const next = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = next()
    const size = next()
    if ((tag & 7) !== 2) continue
    fields.set(tag >> 3, message.subarray(at, at + size))
    at += size
  }
  return fields
}

/** The part of MessagePack that a page needs: nil, strings and maps. */
function unpack(bytes: Buffer, at: number): { readonly value: unknown; readonly end: number } {
  const kind = bytes[at]!
  if (kind === 0xc0) return { value: null, end: at + 1 }
  if (kind === 0xd9) return text(bytes, at + 2, bytes[at + 1]!)
  if (kind === 0xda) return text(bytes, at + 3, bytes.readUInt16BE(at + 1))
  if (kind >= 0xa0 && kind <= 0xbf) return text(bytes, at + 1, kind & 0x1f)
  if (kind < 0x80 || kind > 0x8f) throw new Error(`a page has no value of kind ${kind}`)
  const value: Record<string, unknown> = {}
  let end = at + 1
  for (let left = kind & 0x0f; left > 0; left--) {
    const key = unpack(bytes, end)
    const inner = unpack(bytes, key.end)
    value[String(key.value)] = inner.value
    end = inner.end
  }
  return { value, end }
}

const text = (bytes: Buffer, from: number, length: number) => ({
  value: bytes.toString('utf8', from, from + length),
  end: from + length,
})
