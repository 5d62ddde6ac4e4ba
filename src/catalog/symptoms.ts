// Error texts of other programs that people meet around Flux, Karpenter and EKS, and the page that explains each.
// `capt explain` takes the text as it was printed.

interface Symptom {
  readonly code: string
  /** Any of these in the text means this page. */
  readonly signs: readonly RegExp[]
}

export const SYMPTOMS: readonly Symptom[] = [
  { code: 'CAPT_CHART_FORBIDDEN', signs: [/public\.ecr\.aws.*\b403\b/is, /\b403\b.*public\.ecr\.aws/is] },
  { code: 'CAPT_CHART_RANGE', signs: [/could not get tags/i, /unable to locate any tags/i] },
  { code: 'CAPT_FLUX_PODS_PENDING', signs: [/untolerated taint/i, /had taint .* that the pod didn't tolerate/i] },
  { code: 'CAPT_EKS_ADDONS_MISSING', signs: [/cni plugin not initialized/i, /NetworkPluginNotReady/i] },
  {
    code: 'CAPT_EKS_ENDPOINT_UNREACHABLE',
    signs: [
      /dial tcp .*:443: i\/o timeout/i,
      /\.eks\.amazonaws\.com.*(no such host|i\/o timeout|context deadline exceeded)/is,
    ],
  },
  { code: 'CAPT_EKS_CREATOR_NOT_ADMIN', signs: [/the server has asked for the client to provide credentials/i] },
  { code: 'CAPT_STATE_SUFFIX_NUMBER', signs: [/secret_suffix.*(number|index)/is] },
  { code: 'CAPT_AMI_AL2_ENDED', signs: [/\bal2@/i, /AL2.*(not supported|no longer).*1\.3[3-9]/is] },
  { code: 'CAPT_POLICY_TOO_LARGE', signs: [/Cannot exceed quota for PolicySize/i, /LimitExceeded.*6144/is] },
  { code: 'CAPT_KUBECONFIG_EXPIRED', signs: [/You must be logged in to the server/i, /\bUnauthorized\b/] },
  {
    code: 'CAPT_KARPENTER_TEARDOWN_ORDER',
    signs: [/DeleteConflict.*(role|instance profile)/is, /DependencyViolation.*(subnet|security group|vpc)/is],
  },
  { code: 'CAPT_SPOT_ROLE_MISSING', signs: [/ServiceLinkedRoleCreationNotPermitted/i] },
  {
    code: 'CAPT_KARPENTER_TERMINATE_DENIED',
    signs: [
      /(UnauthorizedOperation|not authorized).*TerminateInstances/is,
      /TerminateInstances.*(UnauthorizedOperation|not authorized)/is,
    ],
  },
  { code: 'CAPT_EC2_UNAUTHORIZED', signs: [/UnauthorizedOperation/i] },
  { code: 'CAPT_EC2_VCPU_LIMIT', signs: [/VcpuLimitExceeded/i] },
  { code: 'CAPT_TF_STATE_LOCKED', signs: [/Error acquiring the state lock/i] },
  { code: 'CAPT_KARPENTER_NO_IDENTITY', signs: [/No OpenIDConnect provider found/i] },
  { code: 'CAPT_KARPENTER_TRUST', signs: [/Not authorized to perform sts:AssumeRoleWithWebIdentity/i] },
  { code: 'CAPT_KARPENTER_REPLICA_PENDING', signs: [/didn't match pod anti-affinity rules/i] },
  { code: 'CAPT_CONVERT_INSTANCE_TYPE', signs: [/no instance type satisfied/i] },
]

/** The page about an error text, if one of the texts is known. */
export function codeForText(text: string): string | undefined {
  return SYMPTOMS.find(({ signs }) => signs.some((sign) => sign.test(text)))?.code
}
