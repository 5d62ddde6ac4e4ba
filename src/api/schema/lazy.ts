// Loads what is heavy (CEL, RE2, YAML) when it is first needed, and synchronously, so that importing this module stays cheap.
// A bundler sees the literal require calls and packs the modules as lazy ones; unbundled, Node's own require does it.
import { createRequire } from 'node:module'

const fromSource = createRequire(import.meta.url)

export function loadCel(): typeof import('./cel/index.ts') {
  return typeof require === 'function' ? require('./cel/index.ts') : fromSource('./cel/index.ts')
}

export function loadRe2(): typeof import('re2js') {
  return typeof require === 'function' ? require('re2js') : fromSource('re2js')
}

export function loadYaml(): typeof import('yaml') {
  return typeof require === 'function' ? require('yaml') : fromSource('yaml')
}
