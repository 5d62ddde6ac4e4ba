// Names of what Karpenter needs in AWS, as the installation guide spells them, cut to each service's limit:
// the readable part first, a hash of the whole when it had to be cut.
import { boundedName, CaptError } from '#lib'

const IAM_NAME = 64
const IAM_PROFILE_NAME = 128
const QUEUE_NAME = 80
const RULE_NAME = 64

const CLUSTER_NAME = /^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/

interface KarpenterNames {
  readonly nodeRole: string
  readonly instanceProfile: string
  readonly controllerRole: string
  readonly controllerPolicy: string
  readonly queue: string
}

export function karpenterNames(clusterName: string): KarpenterNames {
  if (!CLUSTER_NAME.test(clusterName))
    throw new CaptError('CAPT_CLUSTER_NAME_INVALID', `"${clusterName}" is not an EKS cluster name`, {
      hint: 'letters, digits, - and _, at most 100, beginning with a letter or digit',
    })
  return {
    nodeRole: boundedName(`KarpenterNodeRole-${clusterName}`, IAM_NAME),
    instanceProfile: boundedName(`KarpenterNodeInstanceProfile-${clusterName}`, IAM_PROFILE_NAME),
    controllerRole: boundedName(`KarpenterControllerRole-${clusterName}`, IAM_NAME),
    controllerPolicy: boundedName(`KarpenterControllerPolicy-${clusterName}`, IAM_PROFILE_NAME),
    queue: boundedName(`Karpenter-${clusterName}`, QUEUE_NAME),
  }
}

export function ruleName(clusterName: string, rule: string): string {
  return boundedName(`Karpenter-${rule}-${clusterName}`, RULE_NAME)
}
