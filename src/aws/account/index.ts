// Calls about one EKS cluster that exists, and about what Karpenter needs beside it.
export * from './eks.ts'
export * from './iam-roles.ts'
export { recommendedImage } from './images.ts'
export * from './interruptions.ts'
export * from './network.ts'
export * from './preflight.ts'
export { type AwsRequests, connectRequests } from './requests.ts'
