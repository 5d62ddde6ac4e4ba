// Remembers values as their JSON text: a record at rest is looked at once in minutes, and as text it takes a third of the
// memory that its objects would.
export interface Packed<T> {
  get(id: string): T | undefined
  set(id: string, value: T): void
  delete(id: string): void
}

export function packed<T>(): Packed<T> {
  const texts = new Map<string, string>()
  return {
    get(id) {
      const text = texts.get(id)
      return text === undefined ? undefined : (JSON.parse(text) as T)
    },
    set: (id, value) => void texts.set(id, JSON.stringify(value)),
    delete: (id) => void texts.delete(id),
  }
}
