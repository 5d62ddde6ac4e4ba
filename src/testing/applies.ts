// Builders for templates, applies and what a decision about an apply observes: a test names what matters to it alone.
import type { WorkspaceTemplate, WorkspaceTemplateApply } from '#api'
import { NO_DRIFT_DETECTION } from '../controllers/workspace-apply/drift/observe.ts'
import { type Observed, ownerOf } from '../controllers/workspace-apply/observe.ts'

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

/** An apply that nothing holds back, without a run so far. */
export function anObservedApply(apply: WorkspaceTemplateApply, over: Partial<Observed> = {}): Observed {
  return {
    apply,
    owner: ownerOf(apply),
    view: { record: undefined, activity: 'idle', cancelling: false },
    paused: undefined,
    template: undefined,
    forbidden: undefined,
    rendering: undefined,
    recheckSeconds: undefined,
    missingSecrets: [],
    unready: [],
    cycle: undefined,
    dependents: [],
    slot: { is: 'now' },
    approval: { policy: { mode: 'Auto', guard: [], expirySeconds: 3600 }, answer: undefined, leftSeconds: 0 },
    drift: NO_DRIFT_DETECTION,
    dueInSeconds: 0,
    deletionLeftSeconds: undefined,
    credentialsChanged: false,
    retryToken: undefined,
    ...over,
  }
}
