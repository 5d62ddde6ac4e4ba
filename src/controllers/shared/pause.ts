// Paused: nothing is started and nothing is deleted. Ready keeps its last value. A run that was on when the pause came
// may end; only then may the object be moved.
import { type AnyObject, blocksMove, findCondition } from '#api'
import { act, type Decision, done, waiting } from '#runtime'

export function decidePaused(
  object: AnyObject & { readonly status?: { readonly conditions?: unknown } },
  running: boolean,
): Decision<{ readonly do: 'unblock-move' }> {
  if (blocksMove(object) && !running) return act({ do: 'unblock-move' })
  return keepReady(object)
}

/** What Ready said before the pause. */
export function keepReady(
  object: AnyObject & { readonly status?: { readonly conditions?: unknown } },
): Decision<never> {
  const ready = findCondition(object.status?.conditions, 'Ready')
  if (ready?.status === 'True') return done
  return waiting(ready?.reason || 'Paused', ready?.message || 'Paused before any work was done')
}
