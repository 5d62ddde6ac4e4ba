// Lets a bundle reach Node's built-in modules without their ESM facade. The facade reads every export once, and behind
// some of them whole libraries wait: `import … from 'node:http'` alone loads WebSocket and fetch, 13 MiB of resident memory.
import { isBuiltin } from 'node:module'
import type { Plugin } from 'esbuild'

/** Stands for a built-in module until one of its names is read. */
const LATE =
  'const __late = (load) => new Proxy({}, { get: (_, name) => (name === "default" ? load() : load()[name]) });\n'

/**
 * Lets a bundle load each built-in module when it is first used, not when the bundle is: a runner begins with Terraform
 * and needs TLS and compression only later.
 */
export function loadBuiltinsLate(text: string): string {
  const builtins = new Set([...text.matchAll(/var (\w+) = __commonJS\(\{\n\s*"builtin:/g)].map((match) => match[1]!))
  const late = text.replaceAll(/__toESM\((\w+)\(\)(?:, 1)?\)/g, (eager, load: string) =>
    builtins.has(load) ? `__late(${load})` : eager,
  )
  return LATE + late
}

/** Each built-in module as an ES module of the names that are used: a CommonJS one gets a getter per name and importer. */
export const leanBuiltins: Plugin = builtinsAs('lean-builtins', toUsedNames)

/** As CommonJS, which `loadBuiltinsLate` makes late. */
export const lateBuiltins: Plugin = builtinsAs(
  'late-builtins',
  (path) => `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
)

function builtinsAs(name: string, toText: (path: string) => string): Plugin {
  return {
    name,
    setup(build) {
      build.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, kind }) => {
        if (kind === 'require-call' || !isBuiltin(path)) return undefined
        const namespace = kind === 'dynamic-import' ? 'builtin-on-demand' : 'builtin'
        return { path: path.replace(/^(?!node:)/, 'node:'), namespace }
      })
      build.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({ contents: toText(path), loader: 'js' }))
      build.onLoad({ filter: /./, namespace: 'builtin-on-demand' }, ({ path }) => ({
        contents: toModuleText(path),
        loader: 'js',
      }))
    },
  }
}

const IDENTIFIER = /^[a-z_$][\w$]*$/i

/** Marked as pure, so that the bundler drops the names that nobody imports. */
function toUsedNames(path: string): string {
  const names = Object.getOwnPropertyNames(process.getBuiltinModule(path) as object).filter(
    (name) => IDENTIFIER.test(name) && name !== 'default',
  )
  const read = (name: string) =>
    `const $${name} = /* @__PURE__ */ (() => builtin.${name})()\nexport { $${name} as ${name} }`
  return `const builtin = process.getBuiltinModule(${JSON.stringify(path)})
export default builtin
${names.map(read).join('\n')}`
}

/** Names of node:http that load WebSocket and fetch when they are read. */
const COSTLY = new Set(['WebSocket', 'CloseEvent', 'MessageEvent'])

/** A built-in module as an ES module: CommonJS that is imported on demand has no names but `default`. */
function toModuleText(path: string): string {
  const names = Object.keys(process.getBuiltinModule(path) as object).filter(
    (name) => IDENTIFIER.test(name) && name !== 'default' && !COSTLY.has(name),
  )
  return `const builtin = process.getBuiltinModule(${JSON.stringify(path)})
export default builtin
${names.map((name) => `const $${name} = builtin.${name}; export { $${name} as ${name} }`).join('\n')}`
}
