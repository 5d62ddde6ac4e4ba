// The script that the embedded API and a real kube-apiserver are held to: the same requests, their answers compared field
// by field, and the reasons for every difference that stays.
import { APPLIED } from '../parity/apply.ts'
import { CUSTOM } from '../parity/custom.ts'
import { DISCOVERED } from '../parity/discovery.ts'
import { EVICTIONS } from '../parity/evictions.ts'
import { BUILTINS } from '../parity/kinds.ts'
import { CRDS, DEPENDENTS, NAMESPACES } from '../parity/lifecycle.ts'
import { OBJECTS } from '../parity/objects.ts'
import type { Section } from '../parity/step.ts'
import { LISTED, WATCHED } from '../parity/watching.ts'
import { WIRE } from '../parity/wire.ts'

export { compareStep } from '../parity/compare.ts'

export const SECTIONS: readonly Section[] = [
  { title: 'objects', steps: OBJECTS },
  { title: 'custom objects', steps: CUSTOM },
  { title: 'server-side apply', steps: APPLIED.slice(0, -2) },
  { title: 'lists', steps: LISTED },
  { title: 'watches', steps: WATCHED },
  { title: 'the end of custom objects', steps: APPLIED.slice(-2) },
  { title: 'owners', steps: DEPENDENTS },
  { title: 'namespaces', steps: NAMESPACES },
  { title: 'built-in kinds', steps: BUILTINS },
  { title: 'evictions', steps: EVICTIONS },
  { title: 'the wire', steps: WIRE },
  { title: 'discovery', steps: DISCOVERED },
  { title: 'definitions', steps: CRDS },
]
