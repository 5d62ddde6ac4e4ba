// The AWS tag by which a cluster recognizes what its template made, on the EKS cluster and on the queue. Account and region
// are where the tag is read.
export const OWNER_TAG = 'capt.appthrust.com/owner'

export const ownerTagOf = (namespace: string, cluster: string): string => `${namespace}/${cluster}`
