// Writes an archive as Terraform unpacks it: every file deflated and executable. No machine needs a zip program for it.
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipFile {
  readonly name: string
  readonly data: Buffer
}

const EXECUTABLE = (0o100755 << 16) >>> 0
const UNIX = 3 << 8

export function zip(files: readonly ZipFile[]): Buffer {
  const bodies: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const { name, data } of files) {
    const title = Buffer.from(name)
    const packed = deflateRawSync(data, { level: 1 })
    // Version needed, flags, method, time, date, checksum, sizes, lengths: the same in both headers.
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt16LE(0x21, 8)
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(title.length, 22)
    const body = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, title, packed])
    const made = Buffer.alloc(2)
    made.writeUInt16LE(UNIX | 20)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(EXECUTABLE, 6)
    rest.writeUInt32LE(offset, 10)
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), made, common, rest, title]))
    bodies.push(body)
    offset += body.length
  }
  const index = Buffer.concat(entries)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...bodies, index, Buffer.from('PK\x05\x06', 'latin1'), end])
}
