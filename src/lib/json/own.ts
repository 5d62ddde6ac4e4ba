// Access to objects by keys that users choose. A plain `record[key]` also reads Object.prototype (`toString`,
// `constructor`), and a plain assignment to `__proto__` replaces the prototype instead of adding a key.

/** The value of the object's own key; undefined for everything it inherits. */
export function ownValue<T>(record: Readonly<Record<string, T>> | null | undefined, key: string): T | undefined {
  return record !== null && record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
}

/** Adds or replaces an own key, whatever its name. */
export function setOwnValue<T>(record: Record<string, T>, key: string, value: NoInfer<T>): void {
  if (key !== '__proto__') record[key] = value
  else Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true })
}

/** The value at a path of keys; undefined as soon as a step is missing. */
export function ownValueAt(value: unknown, path: readonly string[]): unknown {
  let current = value
  for (const key of path) {
    if (current === null || typeof current !== 'object' || !Object.hasOwn(current, key)) return undefined
    current = (current as Record<string, unknown>)[key]
  }
  return current
}
