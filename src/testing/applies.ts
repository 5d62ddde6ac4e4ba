// Builders for templates and applies: a test names what matters to it and nothing else.
import type { WorkspaceTemplate, WorkspaceTemplateApply } from '#api'

type TemplateSpec = WorkspaceTemplate['spec']['template']['spec']
type ApplySpec = WorkspaceTemplateApply['spec']

export function aTemplate(
  module = 'output "greeting" { value = "hello" }',
  forProvider: Partial<TemplateSpec['forProvider']> = {},
  rest: Partial<Omit<TemplateSpec, 'forProvider'>> & { readonly name?: string; readonly namespace?: string } = {},
): WorkspaceTemplate {
  const { name = 'demo', namespace = 'default', ...spec } = rest
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'WorkspaceTemplate',
    metadata: { name, namespace },
    spec: {
      template: { spec: { forProvider: { source: 'Inline', inlineFormat: 'HCL', module, ...forProvider }, ...spec } },
    },
  }
}

export function anApply(
  spec: Partial<ApplySpec> = {},
  metadata: Partial<WorkspaceTemplateApply['metadata']> = {},
): WorkspaceTemplateApply {
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
    kind: 'WorkspaceTemplateApply',
    metadata: { name: 'demo', namespace: 'default', ...metadata },
    spec: {
      templateRef: { name: 'demo' },
      variables: {},
      waitForSecrets: [],
      waitForWorkspaces: [],
      retainWorkspaceOnDelete: false,
      timeout: '1h',
      deletionTimeout: '2h',
      retry: { limit: 5 },
      suspend: false,
      ...spec,
    },
  }
}
