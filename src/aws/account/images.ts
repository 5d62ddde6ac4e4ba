// The image that EKS recommends for nodes of a Kubernetes version, as the alias that an EC2NodeClass pins.
import { AwsError } from '../port.ts'
import { type AwsRequests, unlessMissing } from './requests.ts'

/** `al2023@v20261102`; undefined when EKS has no Amazon Linux 2023 for this version. */
export async function recommendedImage(aws: AwsRequests, kubernetes: string): Promise<string | undefined> {
  const Name = `/aws/service/eks/optimized-ami/${kubernetes}/amazon-linux-2023/x86_64/standard/recommended/release_version`
  const answer = await unlessMissing(aws.json('ssm', 'GetParameter', { Name }))
  if (!answer) return undefined
  const release = String((answer['Parameter'] as { Value?: string } | undefined)?.Value)
  const date = /-(\d{8})$/.exec(release)?.[1]
  if (date === undefined)
    throw new AwsError('Refused', `ssm:GetParameter answered "${release}" for ${Name}`, {
      hint: 'it should end in a date, such as 1.35.2-20261102; give the image with --ami',
    })
  return `al2023@v${date}`
}
