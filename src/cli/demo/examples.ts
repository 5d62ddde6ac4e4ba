// The manifests of the demo: beside the built program, or in the examples of a checkout.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const EXAMPLES = ['simulation.yaml', 'node-pool.yaml', 'machines.yaml'].map((name) => ({
  path: examplePath(name),
  shown: `examples/${name}`,
}))

export function examplePath(name: string): string {
  const beside = fileURLToPath(new URL(`./${name}`, import.meta.url))
  return existsSync(beside) ? beside : fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url))
}
