// What needs a person: reads everything that is kept about clusters and their Terraform workspaces, and decides.
export { examineAbandoned, observeAbandoned } from './abandoned.ts'
export { cloudOf } from './cloud.ts'
export { examineCluster, examineObject } from './objects.ts'
export { type Cloud, observeWorkspace, readScope } from './observe.ts'
export { examinePods } from './pods.ts'
export { examinePreflight } from './preflight/decide.ts'
export { observePreflight, planOf } from './preflight/observe.ts'
export { examineApply } from './workspace.ts'
