// Objects of Crossplane and Kubernetes that lie beside those of the older project.
import type { UnknownObject } from '#api'
import type { ImportContext } from '../context.ts'
import { dropped, fieldsOf, kept, type Outcome, refused, textOf } from '../outcome.ts'

const PAUSED_ANNOTATION = 'crossplane.io/paused'

/** Two programs that run Terraform on the same resources undo each other's work. */
export function mapWorkspace(object: UnknownObject): Outcome {
  const { metadata } = object
  if (metadata.annotations?.[PAUSED_ANNOTATION] === 'true')
    return dropped(object, 'capt runs Terraform itself', [
      'Workspaces of Crossplane: leave them paused; to delete one later, remove its finalizers first, or Crossplane destroys what it made',
    ])
  const refusal = refused(
    object,
    'Crossplane still works on it, and would run Terraform on the same resources as capt',
    `stop the older manager, then: kubectl annotate workspaces.tf.upbound.io ${metadata.name} ${PAUSED_ANNOTATION}=true`,
  )
  return { ...refusal, isFinal: true }
}

export function mapProviderConfig(object: UnknownObject): Outcome {
  const configuration = textOf(fieldsOf(object['spec'])['configuration']) ?? ''
  const settings = ['assume_role', 'default_tags', 'endpoints'].filter((name) =>
    new RegExp(`\\b${name}\\b`).test(configuration),
  )
  const needs =
    settings.length > 0
      ? [
          `ProviderConfig ${object.metadata.name}: ${settings.join(', ')} of its configuration, which the modules of the WorkspaceTemplates must have now`,
        ]
      : []
  return dropped(object, 'Terraform is configured by the module, and credentials come from a Secret', needs)
}

/** Secrets that capt writes itself, by the names of the older project. */
const WRITTEN = /-(kubeconfig|ca|vpc-connection|eks-connection|outputs-kubeconfig)$/

export function mapSecret(object: UnknownObject, context: ImportContext): Outcome {
  const { name } = object.metadata
  const connections = new Set(
    [...context.all('WorkspaceTemplate'), ...context.all('WorkspaceTemplateApply')].flatMap((one) => {
      const spec = fieldsOf(one['spec'])
      const inner = fieldsOf(fieldsOf(spec['template'])['spec'])
      return [spec, inner].flatMap((each) => textOf(fieldsOf(each['writeConnectionSecretToRef'])['name']) ?? [])
    }),
  )
  return WRITTEN.test(name) || connections.has(name)
    ? dropped(object, 'capt writes it itself from the outputs of Terraform')
    : kept(object)
}
