// Small words without a domain. Everybody may open this door; it opens none.
export * from './certificate.ts'
export * from './clock.ts'
export * from './duration.ts'
export * from './errors.ts'
export * from './hash.ts'
export * from './json.ts'
