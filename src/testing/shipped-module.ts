// The Terraform modules that capt ships, as its WorkspaceTemplates hold them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { WorkspaceTemplate } from '#api'

export function shippedModule(name: string): string {
  const text = readFileSync(join(import.meta.dirname, '../../templates', `${name}.yaml`), 'utf8')
  return (parse(text) as WorkspaceTemplate).spec.template.spec.forProvider.module
}
