// A cache of packed values: a record at rest is read once in minutes, and there are thousands.
import { createPacker, type Packed as Small, unpack } from '#lib'

interface Packed<T> {
  get(id: string): T | undefined
  set(id: string, value: T): void
  delete(id: string): void
}

export function packed<T>(): Packed<T> {
  const packer = createPacker()
  const known = new Map<string, Small>()
  return {
    get(id) {
      const small = known.get(id)
      return small && unpack<T>(small)
    },
    set: (id, value) => void known.set(id, packer.pack(value)),
    delete: (id) => void known.delete(id),
  }
}
