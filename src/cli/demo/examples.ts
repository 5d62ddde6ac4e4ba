// The manifests of the demo: beside the built program, or in the examples of a checkout.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const NAMES = ['simulation.yaml', 'node-pool.yaml', 'machines.yaml'] as const

export const EXAMPLES: readonly { readonly path: string; readonly shown: string }[] = NAMES.map((name) => {
  const beside = fileURLToPath(new URL(`./${name}`, import.meta.url))
  const inCheckout = fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url))
  return { path: existsSync(beside) ? beside : inCheckout, shown: `examples/${name}` }
})
