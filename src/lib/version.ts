// The product's version, in one place; scripts/build.ts replaces it by the one of package.json.
declare const CAPT_VERSION: string | undefined
export const VERSION: string = typeof CAPT_VERSION === 'string' ? CAPT_VERSION : '0.0.0-source'
