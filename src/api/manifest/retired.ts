// Fields of the older project's manifests that capt does not have, and what does their work here. The check of
// manifests answers with it instead of a bare "unknown field".
import { ownValue } from '#lib'

const CROSSPLANE: Readonly<Record<string, string>> = {
  'spec.template.spec.deletionPolicy':
    'set spec.retainWorkspaceOnDelete: true on the WorkspaceTemplateApply for Orphan (spec.retainVpcOnDelete on a CAPTCluster); Delete is how capt works without it',
  'spec.template.spec.managementPolicies':
    'set spec.suspend: true on the WorkspaceTemplateApply to start no runs, and spec.retainWorkspaceOnDelete: true to destroy nothing; without them capt does everything',
  'spec.template.spec.publishConnectionDetailsTo':
    'use spec.template.spec.writeConnectionSecretToRef: outputs are written to a Secret; external stores read that Secret',
  'spec.template.spec.providerConfigRef.policy':
    'remove it: a run always waits until the Secret of providerConfigRef is there',
  'spec.writeConnectionSecretToRef': 'move it to spec.template.spec.writeConnectionSecretToRef',
  'spec.template.spec.initProvider': 'move the fields to spec.template.spec.forProvider',
}

const VERSION =
  'the version comes from the Cluster: set spec.topology.version there (without a ClusterClass: spec.version of the CAPTControlPlane)'
const METADATA = 'move labels and annotations to spec.template.metadata: they reach every object made from the template'

const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  WorkspaceTemplate: CROSSPLANE,
  WorkspaceTemplateApply: {
    'spec.dependencies': 'name them in spec.waitForWorkspaces',
    'spec.waitForSecret': 'write a list: spec.waitForSecrets',
  },
  CAPTControlPlaneTemplate: {
    'spec.version': VERSION,
    'spec.template.version': VERSION,
    'spec.template.metadata.version': VERSION,
    'spec.template.spec.version': VERSION,
    'spec.metadata': METADATA,
    'spec.template.spec.metadata': METADATA,
  },
  CAPTClusterTemplate: { 'spec.metadata': METADATA, 'spec.template.spec.metadata': METADATA },
}

/** What replaces a field that is gone; undefined for a field that never was. */
export function replacementOf(kind: string, path: string): string | undefined {
  const fields = ownValue(FIELDS, kind)
  return fields && ownValue(fields, path)
}
