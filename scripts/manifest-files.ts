// The manifests beside the CRDs that are generated: their kustomization, the roles, and everything made from templates/.
import { stringify } from 'yaml'
import { ALL_KINDS } from '#api'
import { roleFiles } from './role-files.ts'
import { templateFiles } from './templates.ts'

export function manifestFiles(): Map<string, string> {
  return new Map([...roleFiles(), ...templateFiles(), ['config/crd/kustomization.yaml', crdKustomization()]])
}

function crdKustomization(): string {
  const resources = ALL_KINDS.map(({ group, plural }) => `${group}_${plural}.yaml`).sort()
  const object = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources }
  return `# Generated from src/api/kinds by npm run generate. Do not edit.\n${stringify(object)}`
}
