// Server-side apply: who owns what, conflicts, force, and what is given up when nobody wants it any more.
import { APPLY } from '#testing'
import { widget } from '../../../src/apiserver/started.ts'
import { THINGS } from './names.ts'
import { drop, patch, type Step } from './step.ts'

const applyBy = (manager: string, force = false) => `${THINGS}/s?fieldManager=${manager}&force=${force}`

export const APPLIED: readonly Step[] = [
  patch('an apply that creates', applyBy('m1'), widget('s', { size: 3, parts: [{ name: 'p1', weight: 1 }] }), APPLY),
  patch('the same apply', applyBy('m1'), widget('s', { size: 3, parts: [{ name: 'p1', weight: 1 }] }), APPLY),
  patch(
    'an apply by another',
    applyBy('m2'),
    widget('s', { size: 3, replicas: 2, parts: [{ name: 'p2', weight: 1 }] }),
    APPLY,
  ),
  patch('a conflict', applyBy('m2'), widget('s', { size: 4, parts: [{ name: 'p1', weight: 7 }] }), APPLY),
  patch('the same by force', applyBy('m2', true), widget('s', { size: 4, parts: [{ name: 'p1', weight: 7 }] }), APPLY),
  patch('the first drops a part', applyBy('m1', true), widget('s', { size: 4 }), APPLY),
  patch('the second drops it too', applyBy('m2', true), widget('s', { size: 4 }), APPLY),
  patch('an editor takes a field', `${THINGS}/s`, { spec: { size: 5 } }),
  patch('a conflict with the editor', applyBy('m1'), widget('s', { size: 6 }), APPLY),
  patch('an apply without a manager', `${THINGS}/s`, widget('s', { size: 3 }), APPLY),
  patch(
    'an apply with managedFields',
    applyBy('m1'),
    widget('s', { size: 3 }, { managedFields: [{ manager: 'x' }] }),
    APPLY,
  ),
  patch('an apply of what does not exist', applyBy('m1', true), widget('s', { size: 3, foo: 1 }), APPLY),
  patch('an apply under another name', applyBy('m1', true), widget('other', { size: 3 }), APPLY),
  patch(
    'an apply of the status',
    `${THINGS}/s/status?fieldManager=st`,
    {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 's' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    },
    APPLY,
  ),
  patch('an apply that breaks a rule', applyBy('m1', true), widget('s', { size: 30 }), APPLY),
  patch(
    'labels and a finalizer',
    applyBy('m1', true),
    widget('s', { size: 3 }, { labels: { a: '1', b: '2' }, finalizers: ['x/y'] }),
    APPLY,
  ),
  patch('fewer labels', applyBy('m1', true), widget('s', { size: 3 }, { labels: { a: '1' } }), APPLY),
  patch('no labels', applyBy('m1', true), widget('s', { size: 3 }), APPLY),
  drop('a widget', `${THINGS}/s`),
  { ...drop('all widgets', THINGS) },
]
