// The EKS control plane of a cluster, made from a WorkspaceTemplate.
// People write the spec, except controlPlaneEndpoint; only controllers/control-plane writes that and the status.
import { defineKind, type KindOf } from '../define-kind.ts'
import { conditions, objectRef } from '../meta.ts'
import {
  ACCESS_CIDR,
  ACCESS_POLICY,
  KUBERNETES_VERSION,
  NAMESPACE,
  OBJECT_NAME,
  PRINCIPAL_ARN,
  REGION,
} from '../patterns.ts'
import * as s from '../schema/build.ts'
import { additionalTags, identity } from './capt-cluster.ts'

/** What a CAPTControlPlane and a CAPTControlPlaneTemplate have in common. */
export const controlPlaneFields = {
  workspaceTemplateRef: objectRef('WorkspaceTemplate that makes the control plane.'),
  controlPlaneConfig: s.object(
    {
      region: s.string({
        about: 'AWS region; that of the CAPTCluster when left out. It cannot be changed.',
        pattern: REGION,
        maxLength: 32,
        rules: [{ rule: 'self == oldSelf', message: 'the region of a control plane cannot be changed' }],
      }),
      endpointAccess: s.object(
        {
          public: s.boolean({
            about: 'Whether the API server is reached from the internet, as the variable endpoint_public_access.',
          }),
          private: s.boolean({
            about: 'Whether the API server is reached inside the VPC, as the variable endpoint_private_access.',
          }),
          publicCIDRs: s.list(s.string({ pattern: ACCESS_CIDR, maxLength: 64 }), {
            about: 'Address blocks that may reach the public endpoint, as the variable endpoint_public_access_cidrs.',
            maxItems: 40,
            listType: 'set',
          }),
        },
        {
          about: 'Who reaches the API server.',
          rules: [
            {
              rule: '!(has(self.public) && !self.public && has(self.private) && !self.private)',
              message: 'public and private cannot both be false: nobody would reach the API server',
            },
            {
              rule: '!has(self.publicCIDRs) || !has(self.public) || self.public',
              message: 'publicCIDRs needs a public endpoint',
            },
          ],
        },
      ),
      access: s.list(
        s.object(
          {
            principalARN: s.string({
              about: 'ARN of an IAM role or user; never that of a session.',
              pattern: PRINCIPAL_ARN,
              maxLength: 2048,
            }),
            policies: s.list(
              s.object(
                {
                  name: s.string({
                    about: 'EKS access policy, such as AmazonEKSClusterAdminPolicy or AmazonEKSViewPolicy.',
                    pattern: ACCESS_POLICY,
                    maxLength: 100,
                  }),
                  namespaces: s.list(s.string({ maxLength: 63 }), {
                    about: 'Namespaces of the workload cluster in which it holds; the whole cluster when left out.',
                    maxItems: 100,
                    listType: 'set',
                  }),
                },
                { required: ['name'] },
              ),
              { about: 'What the principal may do.', maxItems: 20, listType: 'map', mapKeys: ['name'] },
            ),
            kubernetesGroups: s.list(s.string({ maxLength: 253 }), {
              about: 'Groups of the principal, for RBAC of the workload cluster.',
              maxItems: 50,
              listType: 'set',
            }),
            username: s.string({
              about: 'User name in the workload cluster; chosen by EKS when left out.',
              maxLength: 253,
            }),
          },
          { required: ['principalARN'] },
        ),
        {
          about:
            'IAM principals with access to the cluster, as the variable access. The principal that made the cluster always has access. List the other principals that sign tokens: people, or the identity of the manager that the cluster is moved to.',
          maxItems: 100,
          listType: 'map',
          mapKeys: ['principalARN'],
        },
      ),
      addons: s.list(
        s.object(
          {
            name: s.string({ about: 'Name of the EKS add-on.', minLength: 1, maxLength: 100 }),
            version: s.string({
              about: 'Version; the default of the Kubernetes version when left out.',
              maxLength: 100,
            }),
            configurationValues: s.string({ about: 'Settings of the add-on, as JSON text.', maxLength: 65536 }),
          },
          { required: ['name'] },
        ),
        { about: 'EKS add-ons, as the variable addons.', maxItems: 50, listType: 'map', mapKeys: ['name'] },
      ),
      compute: s.string({
        about:
          'Where pods run. NodeGroups, when left out: a managed node group for the controllers, and the nodes of Karpenter or of pools. AutoMode: EKS Auto Mode, as the variable auto_mode; EKS makes the nodes, no Karpenter is installed, and node pools use the NodeClass of Auto Mode. It cannot be changed.',
        enum: ['NodeGroups', 'AutoMode'],
      }),
      karpenter: s.object(
        {
          namespace: s.string({
            about:
              'Namespace of Karpenter, as the variable karpenter_namespace; the one of the stage when left out. It cannot be changed.',
            pattern: NAMESPACE,
            maxLength: 63,
          }),
          identity: s.string({
            about:
              'How Karpenter gets its AWS credentials, as the variable identity: PodIdentity, when left out, or IRSA.',
            enum: ['PodIdentity', 'IRSA'],
          }),
        },
        {
          about:
            'Where Karpenter runs and as whom. One setting for the trust of its role, the association and the release that the add-ons deliver; it wins over that of the stage.',
        },
      ),
      values: s.freeObject({
        about:
          'Values for further variables of the template, by name. A variable that a field sets is refused; one that the template does not declare is reported by the condition UndeclaredValues of the WorkspaceTemplateApply.',
      }),
      timeouts: s.object(
        {
          controlPlaneTimeout: s.integer({
            about: 'Minutes a run for the control plane may take.',
            default: 30,
            minimum: 1,
            maximum: 1440,
          }),
          vpcReadyTimeout: s.integer({
            about: 'Minutes to wait for the VPC before the control plane is reported as stalled.',
            default: 15,
            minimum: 1,
            maximum: 1440,
          }),
        },
        { about: 'How long a step may take.' },
      ),
      ensureSpotServiceLinkedRole: s.boolean({
        about:
          'Make sure that the account has the service-linked role for EC2 Spot before the control plane is made. The role is never deleted.',
      }),
    },
    {
      about: 'Settings of the control plane.',
      rules: [
        {
          rule: "!has(self.karpenter) || !has(self.compute) || self.compute != 'AutoMode'",
          message: 'karpenter has no effect with compute: AutoMode, which installs none; leave it out',
        },
      ],
    },
  ),
  additionalTags,
  identity,
} as const

export const CAPTControlPlane = defineKind({
  group: 'controlplane.cluster.x-k8s.io',
  version: 'v1beta1',
  kind: 'CAPTControlPlane',
  reconciledBy: 'control-plane',
  categories: ['cluster-api'],
  about:
    'The EKS control plane of one Cluster, made by Terraform from a WorkspaceTemplate or adopted, with the kubeconfig that Cluster API and people need.',
  spec: s.object(
    {
      version: s.string({
        about: 'Kubernetes version: 1.34, v1.34 or v1.34.2. EKS knows minor versions; one minor is upgraded at a time.',
        pattern: KUBERNETES_VERSION,
        maxLength: 64,
      }),
      policy: s.string({
        enum: ['Managed', 'Adopted'],
        about:
          'Managed, also when left out: Terraform makes the control plane from workspaceTemplateRef. Adopted: the EKS cluster exists and belongs to somebody else; capt only reads it, signs kubeconfigs for it and delivers add-ons to it, and a deletion detaches it. Its name is spec.clusterName of the CAPTCluster. It cannot be changed.',
      }),
      ...controlPlaneFields,
      controlPlaneEndpoint: s.object(
        {
          host: s.string({ about: 'Host name, without scheme.', minLength: 1, maxLength: 512 }),
          port: s.integer({ about: 'Port.', minimum: 1, maximum: 65535 }),
        },
        { about: 'Where the API server answers. Written by capt.', minProperties: 1 },
      ),
      workspaceTemplateApplyName: s.string({
        about:
          'Name of the WorkspaceTemplateApply that makes the control plane; <cluster>-eks-controlplane-apply when left out. It cannot be changed.',
        pattern: OBJECT_NAME,
        maxLength: 200,
      }),
    },
    {
      required: ['version'],
      about: 'Desired state.',
      rules: [
        {
          rule: 'has(self.workspaceTemplateApplyName) == has(oldSelf.workspaceTemplateApplyName) && (!has(self.workspaceTemplateApplyName) || self.workspaceTemplateApplyName == oldSelf.workspaceTemplateApplyName)',
          message: 'workspaceTemplateApplyName cannot be changed: the control plane would be left behind',
        },
        {
          rule: "(has(self.controlPlaneConfig) && has(self.controlPlaneConfig.compute) ? self.controlPlaneConfig.compute : 'NodeGroups') == (has(oldSelf.controlPlaneConfig) && has(oldSelf.controlPlaneConfig.compute) ? oldSelf.controlPlaneConfig.compute : 'NodeGroups')",
          message:
            'controlPlaneConfig.compute cannot be changed: nodes and add-ons of one kind would be left behind; make another cluster with it and move the workload',
        },
        {
          rule: "(has(self.controlPlaneConfig) && has(self.controlPlaneConfig.karpenter) && has(self.controlPlaneConfig.karpenter.__namespace__) ? self.controlPlaneConfig.karpenter.__namespace__ : 'kube-system') == (has(oldSelf.controlPlaneConfig) && has(oldSelf.controlPlaneConfig.karpenter) && has(oldSelf.controlPlaneConfig.karpenter.__namespace__) ? oldSelf.controlPlaneConfig.karpenter.__namespace__ : 'kube-system')",
          message:
            'controlPlaneConfig.karpenter.namespace cannot be changed: the Karpenter that runs would lose its credentials; make another cluster with it',
        },
        {
          rule: "(has(self.policy) && self.policy == 'Adopted') != has(self.workspaceTemplateRef)",
          message: 'workspaceTemplateRef must be set, and must be left out with policy Adopted: nothing is made then',
        },
        {
          rule: "(has(self.policy) ? self.policy : 'Managed') == (has(oldSelf.policy) ? oldSelf.policy : 'Managed')",
          message: 'policy cannot be changed: delete the Cluster, which detaches an adopted one, and create it again',
        },
      ],
    },
  ),
  status: s.object(
    {
      ready: s.boolean({ about: 'Whether the API server can be used (Cluster API contract v1beta1).' }),
      initialized: s.boolean({ about: 'Whether the API server ever answered (contract v1beta1). Never goes back.' }),
      initialization: s.object(
        { controlPlaneInitialized: s.boolean({ about: 'Whether the API server ever answered. Never goes back.' }) },
        { about: 'First provisioning (Cluster API contract v1beta2).' },
      ),
      externalManagedControlPlane: s.boolean({ about: 'Always true: there are no control plane machines.' }),
      version: s.string({ about: 'Version that runs, as full semver.' }),
      versions: s.list(
        s.object({ version: s.string({ about: 'Version that runs, as full semver.' }) }, { required: ['version'] }),
        { about: 'Versions that run, oldest first.', listType: 'map', mapKeys: ['version'] },
      ),
      phase: s.string({
        about: 'Where the control plane is in its life, in one word.',
        enum: ['Pending', 'Creating', 'Ready', 'Updating', 'Failed', 'Deleting'],
      }),
      secretsReady: s.boolean({ about: 'Whether the kubeconfig and CA Secrets are current.' }),
      kubeconfig: s.object(
        {
          expiresAt: s.time({ about: 'When the token in the kubeconfig stops working.' }),
          refreshedAt: s.time({ about: 'When the kubeconfig was last written.' }),
        },
        { about: 'The kubeconfig that Cluster API uses; empty when it does not expire.' },
      ),
      workspaceTemplateStatus: s.object(
        {
          ready: s.boolean({ about: 'Whether the last run succeeded and nothing is left to do.' }),
          state: s.string({ about: 'Phase of the WorkspaceTemplateApply.' }),
          lastAppliedRevision: s.string({ about: 'Hash of the inputs that were last applied.' }),
          lastFailureMessage: s.string({ about: 'What the last run failed with.' }),
        },
        { about: 'The Terraform run behind the control plane.' },
      ),
      workspaceStatus: s.object(
        {
          ready: s.boolean({ about: 'Whether the infrastructure exists as wanted.' }),
          state: s.string({ about: 'State in one word.' }),
          atProvider: s.freeObject({
            about: 'What Terraform answered; outputs holds the outputs that are not sensitive.',
          }),
        },
        { about: 'What add-on templates read: workspaceStatus.atProvider.outputs.' },
      ),
      conditions,
    },
    { about: 'Observed state.' },
  ),
  columns: [
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Phase', path: '.status.phase' },
    { name: 'Version', path: '.status.version' },
    { name: 'Endpoint', path: '.spec.controlPlaneEndpoint.host' },
    { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' },
    { name: 'Desired', path: '.spec.version', priority: 1 },
    { name: 'Message', path: '.status.conditions[?(@.type=="Ready")].message' },
  ],
})
export type CAPTControlPlane = KindOf<typeof CAPTControlPlane>

/** The EKS cluster has a foreign owner. */
export const isAdopted = ({ spec }: CAPTControlPlane): boolean => spec.policy === 'Adopted'
