// Command lines of the group "Karpenter": first those that need no EKS cluster, then those about one that exists.
import type { Table } from '../../support/golden/table.ts'

const PROVISIONER = `apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  requirements:
    - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
  limits: {resources: {cpu: 100}}
  providerRef: {name: default}
  ttlSecondsAfterEmpty: 30
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec:
  subnetSelector: {karpenter.sh/discovery: demo}
  securityGroupSelector: {karpenter.sh/discovery: demo}
`

const RELEASE = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: eks-controlplane-template-v2}
spec:
  template:
    spec:
      forProvider:
        source: Inline
        module: |
          resource "aws_iam_role" "controller" {
            name = "KarpenterController-demo"
          }

          resource "helm_release" "karpenter" {
            name       = "karpenter"
            namespace  = "karpenter"
            repository = "oci://public.ecr.aws/karpenter"
            chart      = "karpenter"
            version    = "1.13.0"
            depends_on = [aws_iam_role.controller]
          }
`

export const KARPENTER: Table = {
  'karpenter convert': {
    normal: [{ line: 'karpenter convert --role nodes', stdin: PROVISIONER }],
    json: [{ line: 'karpenter convert --role nodes -o json', stdin: PROVISIONER }],
    error: [
      { line: 'karpenter convert', stdin: '' },
      { line: 'karpenter convert -o wide', stdin: PROVISIONER },
      { line: 'karpenter convert --role nodes --instance-profile nodes', stdin: PROVISIONER },
      { line: 'karpenter convert --set CLUSTER', stdin: PROVISIONER },
      { line: 'karpenter convert', stdin: PROVISIONER.replace('spec:', 'spec:\n  banana: 1') },
      'karpenter convert FOLDER/none.yaml',
    ],
  },
  'karpenter migrate': {
    normal: [
      { line: 'karpenter migrate -f - --dry-run', stdin: RELEASE },
      { line: 'karpenter migrate -f -', stdin: RELEASE },
    ],
    error: [
      'karpenter migrate',
      'karpenter migrate -f FOLDER/none.yaml',
      'karpenter migrate --module FOLDER/none',
      'karpenter migrate --module FOLDER --out x.yaml',
    ],
  },
}

const verb = (name: string, more: readonly string[] = []) => ({
  error: [`karpenter ${name}`, `karpenter ${name} ghost`, `karpenter ${name} demo --region ''`, ...more],
})

export const EXISTING: Table = {
  'karpenter plan': {
    normal: ['karpenter plan demo', 'karpenter plan demo --output terraform --folder FOLDER/terraform'],
    json: ['karpenter plan demo -o json'],
    ...verb('plan', [
      'karpenter plan demo -o wide',
      'karpenter plan demo --folder FOLDER',
      'karpenter plan demo --version 0.30.0',
    ]),
  },
  'karpenter doctor': {
    normal: ['karpenter doctor demo'],
    json: ['karpenter doctor demo -o json'],
    ...verb('doctor'),
  },
  'karpenter install': {
    normal: ['karpenter install demo --dry-run', 'karpenter install demo --yes'],
    ...verb('install', ['karpenter install demo --identity magic']),
  },
  'karpenter verify': {
    normal: ['karpenter verify demo'],
    json: ['karpenter verify demo -o json'],
    ...verb('verify', ['karpenter verify demo -o wide']),
  },
  'karpenter upgrade': { normal: ['karpenter upgrade demo --dry-run'], ...verb('upgrade') },
  'karpenter uninstall': {
    normal: ['karpenter uninstall demo --dry-run', 'karpenter uninstall demo --yes'],
    ...verb('uninstall', ['karpenter uninstall demo --yes']),
  },
  adopt: { normal: ['adopt demo --region eu-west-1'], error: ['adopt ghost --region eu-west-1'] },
}
