// What texts in a spec look like: the regular expression for the server, and words with an example for people.
import type { Pattern } from './schema/build.ts'

const pattern = (regex: string, means: string, example: string): Pattern => ({ regex, means, example })

const DIRECTION = '(north|south|east|west|central|northeast|northwest|southeast|southwest)'
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = `(${OCTET}\\.){3}${OCTET}`
const IPV6_BLOCK = '[0-9a-fA-F:]*:[0-9a-fA-F:]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])'
const CONSTRAINT = '(=|!=|>=|<=|>|<|~>)? *[0-9]+(\\.[0-9]+){0,2} *'

// AWS.

/** Every partition: commercial, China, GovCloud, the ISO partitions and the European sovereign cloud. */
export const REGION = pattern(
  `^([a-z]{2}|us-gov|us-iso[a-z]?|eu-isoe|eusc-de)-${DIRECTION}-[0-9]{1,2}$`,
  'an AWS region',
  'eu-west-1',
)
export const VPC_CIDR = pattern(`^${IPV4}/(1[6-9]|2[0-8])$`, 'an IPv4 address block between /16 and /28', '10.0.0.0/16')
export const ACCESS_CIDR = pattern(
  `^(${IPV4}/(3[0-2]|[12]?[0-9])|${IPV6_BLOCK})$`,
  'an IPv4 or IPv6 address block',
  '203.0.113.0/24',
)
export const ROLE_ARN = pattern(
  '^arn:aws(-[a-z]+)*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$',
  'the ARN of an IAM role',
  'arn:aws:iam::123456789012:role/capt',
)
export const PRINCIPAL_ARN = pattern(
  '^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$',
  'the ARN of an IAM role or user',
  'arn:aws:iam::123456789012:role/admin',
)
export const ROLE_NAME = pattern('^[A-Za-z0-9+=,.@_-]+$', 'the name of an IAM role, without its path', 'demo-node')
export const EXTERNAL_ID = pattern(
  '^[A-Za-z0-9+=,.@:/-]+$',
  'letters, digits and + = , . @ : / - as IAM takes them in an external id',
  'capt-1234',
)
export const ACCESS_POLICY = pattern('^AmazonEKS[A-Za-z]+$', 'an EKS access policy', 'AmazonEKSViewPolicy')
export const CLUSTER_NAME = pattern(
  '^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$',
  'at most 100 letters, digits, - and _ that begin with a letter or digit',
  'demo-1',
)
export const VPC_ID = pattern('^vpc-[0-9a-z]+$', 'the id of a VPC', 'vpc-0a1b2c3d4e5f60718')
export const SUBNET_ID = pattern('^subnet-[0-9a-z]+$', 'the id of a subnet', 'subnet-0a1b2c3d4e5f60718')
export const SECURITY_GROUP_ID = pattern('^sg-[0-9a-z]+$', 'the id of a security group', 'sg-0a1b2c3d4e5f60718')
export const IMAGE_ID = pattern('^ami-[0-9a-z]+$', 'the id of an AMI', 'ami-0a1b2c3d4e5f60718')
const instanceType = (regex: string) =>
  pattern(regex, 'an EC2 instance type, a family and a size with a dot between them', 'm7i.large')
export const INSTANCE_TYPE = instanceType('^[a-z][a-z0-9-]*\\.[a-z0-9-]+$')
export const GROUP_INSTANCE_TYPE = instanceType('^[a-z][a-z0-9]*(-[a-z0-9]+)*\\.([a-z0-9]+-)?[a-z0-9]+$')

// Kubernetes.

export const KUBERNETES_VERSION = pattern(
  '^v?1\\.[0-9]{1,3}(\\.[0-9]{1,3})?(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$',
  'a Kubernetes version',
  'v1.34.2',
)
export const OBJECT_NAME = pattern(
  '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$',
  'lower case letters, digits, - and . that begin and end with a letter or digit',
  'demo-vpc',
)
export const NAMESPACE = pattern(
  '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
  'lower case letters, digits and - that begin and end with a letter or digit',
  'kube-system',
)
export const NAME = pattern(
  '^[a-z]([-a-z0-9]*[a-z0-9])?$',
  'lower case letters, digits and - that begin with a letter and do not end with -',
  'node-pool',
)
export const LABEL_KEY = pattern(
  '^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
  'letters, digits, -, _ and . after an optional DNS name and /',
  'example.com/team',
)
export const LABEL_VALUE = pattern(
  '^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$',
  'empty, or letters, digits, -, _ and . that begin and end with a letter or digit',
  'team-a',
)
export const QUANTITY = pattern(
  '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$',
  'a number with an optional unit of m, k, M, G, T, Ki, Mi, Gi or Ti',
  '512Mi',
)
export const FLAG = pattern('^--[a-z][a-z0-9-]*(=.*)?$', 'a flag of the kubelet with --', '--node-labels=team=a')

// Images, charts and downloads.

export const FLUX_VERSION = pattern('^2\\.[0-9]+\\.[0-9]+$', 'a release of Flux 2 without v', '2.9.5')
export const CHART_VERSION = pattern('^v?[0-9]+\\.[0-9]+\\.[0-9]+$', 'an exact version of three numbers', '1.9.0')
export const OCI_ADDRESS = pattern('^oci://', 'an OCI address', 'oci://registry.example.com/charts/karpenter')
export const WEB_ADDRESS = pattern('^https://', 'an address with https', 'https://example.com/install.yaml')
export const IMAGE_PATH = pattern(
  '^[a-z0-9][-a-z0-9._:/]*[a-z0-9]$',
  'a registry and a path in lower case without a scheme and without / at the end',
  'registry.example.com/fluxcd',
)
export const IMAGE = pattern(
  '^[^\\s]+(:[A-Za-z0-9_][-A-Za-z0-9_.]*|@sha256:[0-9a-f]{64})$',
  'an image with a tag or a digest',
  'registry.example.com/pause:3.10',
)
const HEX = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
export const SHA256 = pattern('^[0-9a-f]{64}$', 'a SHA-256 checksum of 64 lower case hexadecimal digits', HEX)
export const DIGEST = pattern('^sha256:[0-9a-f]{64}$', 'the digest of an image', `sha256:${HEX}`)

// Terraform and time.

export const ENVIRONMENT_NAME = pattern(
  '^[A-Za-z_][A-Za-z0-9_.-]*$',
  'letters, digits, _, . and - that begin with a letter or _',
  'TF_LOG',
)
export const FOLDER = pattern(
  '^([A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*)?$',
  'a folder inside the module, without / at either end and without ..',
  'modules/vpc',
)
export const RESOURCE = pattern(
  '^[A-Za-z_][^\\s]*$',
  'a type, a resource or an address of Terraform without spaces',
  'aws_vpc.main',
)
export const VERSION_CONSTRAINT = pattern(
  `^ *${CONSTRAINT}(, *${CONSTRAINT})*$`,
  'version constraints as Terraform writes them',
  '~> 1.11.0',
)
export const DURATION = pattern('^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$', 'a duration in h, m, s or ms', '1h30m')
/** Within what a duration of Go can hold. */
export const INTERVAL = pattern('^([0-9]{1,5}(\\.[0-9]{1,3})?(s|m|h))+$', 'a duration in h, m or s', '12h')
