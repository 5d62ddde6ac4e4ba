// Command lines of the group "Clusters".
import type { Table } from '../../support/golden/table.ts'

const CLOSED = '--kubeconfig FOLDER/closed.yaml'
const TEMPLATE = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: network}
spec:
  template:
    spec: {forProvider: {source: Inline, module: 'output "a" { value = 1 }'}}
`
const CLUSTER = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: CAPTCluster
metadata: {name: both}
spec: {region: eu-west-1, vpcTemplateRef: {name: vpc}, existingVpcId: vpc-0123}
`
const OLDER = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: CAPTCluster
metadata: {name: old}
spec: {region: eu-west-1, vpcTemplateRef: {name: vpc}}
`

export const CLUSTERS: Table = {
  get: {
    normal: [
      'get clusters',
      'get captclusters',
      'get captcontrolplanes',
      'get wtapply',
      'get wtapply -A -l team=shop',
      'get clusters,wtapply -o name',
      "get wtapply -o 'jsonpath={range .items[*]}{.metadata.name} {.status.phase};{end}'",
      'get captcluster shop -o yaml',
      'get adeliv',
      'get captmachinedeployments',
      'get runs',
      'get runs -A',
      { line: 'get wtapply shop-vpc -w', interruptAfter: /shop-vpc/ },
      'get wtapply scratch -o yaml --show-managed-fields',
    ],
    wide: ['get captcontrolplanes -o wide', 'get wtapply -o wide', 'get adeliv -o wide'],
    json: ['get captcluster shop -o json', 'get runs shop-vpc -o json'],
    error: [
      'get',
      'get pods',
      'get cluster shop -o xml',
      'get captcluster ghost',
      'get wtapply/shop-vpc captcluster/ghost',
      'get clusters -l team=none',
      'get clusters --colour',
      `get clusters ${CLOSED}`,
      'get clusters --kubeconfig FOLDER/none.yaml',
    ],
  },
  withdraw: {
    normal: ['withdraw blog karpenter --dry-run', 'withdraw --help'],
    error: [
      'withdraw',
      'withdraw blog',
      'withdraw blog nothing --dry-run',
      'withdraw ghost karpenter --dry-run',
      'withdraw blog karpenter --wait soon --yes',
      `withdraw blog karpenter ${CLOSED}`,
    ],
  },
  describe: {
    normal: [
      'describe cluster shop',
      'describe cluster shop -v',
      'describe cluster blog',
      'describe cluster blog -v',
      'describe captcluster shop',
      'describe wtapply blog-vpc',
      { line: 'describe cluster shop', terminal: true },
    ],
    json: ['describe wtapply shop-vpc -o json'],
    error: [
      'describe',
      'describe cluster ghost',
      'describe cluster shop -w -o json',
      `describe cluster shop ${CLOSED}`,
    ],
  },
  doctor: {
    normal: ['doctor shop --skip-aws', 'doctor blog --skip-aws', 'doctor wtapply blog-vpc --skip-aws'],
    json: ['doctor shop --skip-aws -o json'],
    error: ['doctor ghost --skip-aws', 'doctor pods web --skip-aws', 'doctor -o table', `doctor shop ${CLOSED}`],
  },
  kubeconfig: {
    normal: [
      'kubeconfig blog',
      'kubeconfig blog --token',
      'kubeconfig blog --merge --into FOLDER/merged.yaml --name home',
    ],
    error: ['kubeconfig', 'kubeconfig shop', 'kubeconfig ghost', `kubeconfig blog ${CLOSED}`],
  },
  'upgrade plan': {
    normal: ['upgrade plan blog', 'upgrade plan blog --kubernetes 1.34'],
    json: ['upgrade plan blog --kubernetes 1.35 -o json'],
    error: [
      'upgrade plan',
      'upgrade plan ghost',
      'upgrade plan shop',
      'upgrade plan blog --kubernetes 1.33',
      'upgrade plan blog --kubernetes 1.99',
      'upgrade plan blog -o wide',
      `upgrade plan blog ${CLOSED}`,
    ],
  },
  upgrade: {
    normal: ['upgrade blog --kubernetes 1.35 --dry-run', 'upgrade -l team=blog --kubernetes 1.35 --dry-run'],
    error: [
      'upgrade',
      'upgrade ghost --kubernetes 1.35',
      'upgrade blog --kubernetes 1.35',
      'upgrade -l team=blog --kubernetes 1.35',
      'upgrade -l team=none --dry-run',
      'upgrade blog --soak soon',
      `upgrade blog ${CLOSED}`,
    ],
  },
  rollout: {
    normal: [
      'rollout status workers --timeout 0s',
      'rollout history workers',
      'rollout pause workers',
      'rollout pause workers',
      'rollout resume workers',
      'rollout undo workers --to-revision 1',
      'rollout restart workers',
    ],
    error: [
      'rollout',
      'rollout stat workers',
      'rollout status',
      'rollout status ghost',
      'rollout undo workers --to-revision 9',
      'rollout undo workers --to-revision two',
      'rollout pause workers --timeout 1m',
      `rollout history workers ${CLOSED}`,
    ],
  },
  new: {
    normal: [
      'new shop --region eu-west-1 --file -',
      'new shop --region eu-west-1 --karpenter --file FOLDER/new.yaml',
      { line: 'new', terminal: true, stdin: 'My Shop\nweb\neurope\neu-west-1\n\n\ny\n' },
    ],
    error: [
      'new',
      'new shop',
      'new Shop --region eu-west-1',
      'new shop --region nowhere',
      'new shop --region eu-west-1 --vpc 10.0.0.0/40',
      'new shop --region eu-west-1 --file FOLDER/new.yaml',
    ],
  },
  apply: {
    normal: [
      { line: 'apply -f - --dry-run', stdin: TEMPLATE },
      { line: 'apply -f -', stdin: TEMPLATE },
      { line: 'apply -f - --wait 10s', stdin: TEMPLATE },
    ],
    error: [
      'apply',
      'apply -f FOLDER/none.yaml',
      { line: 'apply -f -', stdin: CLUSTER },
      { line: 'apply -f -', stdin: TEMPLATE.replace('spec:', 'spek:') },
      { line: 'apply -f -', stdin: 'a: [' },
      { line: 'apply -f - --wait soon', stdin: TEMPLATE },
      { line: 'apply -f - --wait 15s', stdin: OLDER.replace('old', 'late') },
      { line: `apply -f - ${CLOSED}`, stdin: TEMPLATE },
    ],
  },
  move: {
    normal: ['move blog --to-kubeconfig FOLDER/target.yaml --dry-run'],
    error: [
      'move',
      'move ghost --to-kubeconfig FOLDER/target.yaml',
      'move blog --to-kubeconfig FOLDER/target.yaml',
      'move blog --to-kubeconfig FOLDER/closed.yaml',
      `move blog --to-kubeconfig FOLDER/target.yaml ${CLOSED}`,
    ],
  },
  import: {
    normal: [{ line: 'import -f -', stdin: OLDER }],
    error: [
      'import',
      'import -f FOLDER/none.yaml',
      { line: 'import -f - --apply', stdin: OLDER },
      { line: 'import -f - -o FOLDER/out --apply', stdin: OLDER },
      { line: `import -f - --apply --without-state ${CLOSED}`, stdin: OLDER },
    ],
  },
  eject: {
    normal: [
      'eject blog --to FOLDER/ejected --dry-run',
      'eject blog --to FOLDER/ejected',
      'eject blog --to FOLDER/shared --backend kubernetes',
    ],
    error: [
      'eject blog',
      'eject ghost --to FOLDER/none',
      'eject shop --to FOLDER/none',
      'eject blog --to FOLDER',
      'eject blog --to FOLDER/none --backend s3',
      `eject blog --to FOLDER/none ${CLOSED}`,
    ],
  },
  adopt: {
    error: ['adopt', 'adopt Shop --region eu-west-1', 'adopt shop', 'adopt shop --region nowhere'],
  },
  delete: {
    normal: [
      'delete cluster shop --dry-run',
      'delete cluster blog --dry-run',
      'delete wtapply blog-vpc --dry-run',
      'delete apipe default --dry-run',
      'delete adeliv blog --dry-run',
      { line: 'delete -f - --dry-run', stdin: OLDER.replace('old', 'blog') },
      { line: 'delete wtapply scratch', terminal: true, stdin: 'n\n' },
      'delete wtapply scratch --yes',
      'delete wtapply scratch --ignore-not-found',
    ],
    error: [
      'delete clusters',
      { line: 'delete -f - --yes', stdin: OLDER.replace('old', 'ghost') },
      'delete cluster shop',
      'delete cluster ghost --yes',
      'delete cluster shop ghost --yes',
      'delete cluster shop --yes --wait soon',
      `delete cluster shop --yes ${CLOSED}`,
    ],
  },
}
