// Lets a bundle reach Node's built-in modules without their ESM facade. The facade reads every export once, and behind
// some of them whole libraries wait: `import … from 'node:http'` alone loads WebSocket and fetch, 13 MiB of resident memory.
import { isBuiltin } from 'node:module'
import type { Plugin } from 'esbuild'

export const leanBuiltins: Plugin = {
  name: 'lean-builtins',
  setup(build) {
    build.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, kind }) => {
      if (kind === 'require-call' || !isBuiltin(path)) return undefined
      return { path: path.replace(/^(?!node:)/, 'node:'), namespace: 'builtin' }
    })
    build.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
      loader: 'js',
    }))
  },
}
