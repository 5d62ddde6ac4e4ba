// Hints for trouble in a workload cluster. Matches the reasons that Kubernetes and Flux report.
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /ImagePullBackOff|ErrImagePull/,
    'The image cannot be pulled: check the registry, the mirror setting and the nodes’ way out',
  ],
  [/CrashLoopBackOff/, 'The container starts and dies: read its log with kubectl logs --previous'],
  [
    /Unschedulable|FailedScheduling|Insufficient|didn.t match|taint/,
    'No node takes the pod: add nodes, or give the stage tolerations or fewer replicas',
  ],
  [
    /could not get tags|AuthenticationFailed|URLInvalid|ChartPullError|OCIArtifactPullFailed|FetchFailed/,
    'The chart cannot be fetched: check the address, the exact version and the way out; give no login for public charts',
  ],
  [/RetriesExceeded|InstallFailed|UpgradeFailed/, 'Helm gave up: read the message, fix the values, then capt retry'],
  [/does not serve this kind|not established/, 'A CRD is missing: deliver the stage that brings it first'],
  [
    /has nothing at/,
    'The path of the health check may not exist on this kind: look at the object with kubectl get -o yaml',
  ],
]

export function healthHint(message: string): string {
  return (
    HINTS.find(([pattern]) => pattern.test(message))?.[1] ??
    'Look at the object in the workload cluster, then capt retry'
  )
}
