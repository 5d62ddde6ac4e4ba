// Manifests as the older project wrote them; a line added at the end is a field of `spec.template.spec`.

export const OLDER_CONTROL_PLANE_TEMPLATE = `apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: CaptControlPlaneTemplate
metadata: {name: older}
spec:
  template:
    metadata: {name: other, namespace: team, labels: {team: platform}, annotations: {note: kept}}
    spec:
      workspaceTemplateRef: {name: eks}
`

export const OLDER_WORKSPACE_TEMPLATE = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: older}
spec:
  template:
    spec:
      forProvider: {source: Inline, module: '# none'}
`
