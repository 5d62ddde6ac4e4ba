// The plural of a kind's name, as English and Kubernetes make it.
export function pluralOf(kind: string): string {
  const name = kind.toLowerCase()
  if (name === 'endpoints') return name
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`
  if (/(s|x|z|ch|sh)$/.test(name)) return `${name}es`
  return `${name}s`
}

/** `1 resource`, `2 resources`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
