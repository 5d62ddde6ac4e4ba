// The manifests of the demo: beside the built program, or in the examples of a checkout.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The template of machines uses more of Terraform's language than simulated runs know. */
const NEEDS_TERRAFORM = ['machines.yaml']
const NAMES = ['simulation.yaml', 'node-pool.yaml', ...NEEDS_TERRAFORM]

export function examplesFor({ isSimulated }: { readonly isSimulated: boolean }) {
  const names = NAMES.filter((name) => !isSimulated || !NEEDS_TERRAFORM.includes(name))
  return names.map((name) => ({ path: examplePath(name), shown: `examples/${name}` }))
}

export function examplePath(name: string): string {
  const beside = fileURLToPath(new URL(`./${name}`, import.meta.url))
  return existsSync(beside) ? beside : fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url))
}
