import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stateTooLarge } from '../../state/state-secrets.ts'
import { toRunFault } from '../failure.ts'
import { Stopping } from './stopping.ts'

describe('a run that is asked to stop', () => {
  it('because its state is too large ends with that error, also when its time is over meanwhile', () => {
    const noted: string[] = []
    const stopping = new Stopping((reason) => void noted.push(reason))
    const fault = toRunFault(stateTooLarge('a state'))
    stopping.request('state', fault)
    stopping.request('deadline')
    assert.deepEqual([noted, stopping.signal.aborted], [['state'], true])
    assert.equal(stopping.fault(60).code, 'CAPT_STATE_TOO_LARGE')
    assert.deepEqual(stopping.fault(60), fault)
  })

  it('at its deadline ends with the deadline, also when its state is too large by then', () => {
    const stopping = new Stopping(() => undefined)
    stopping.request('deadline')
    stopping.request('state', toRunFault(stateTooLarge('a state')))
    assert.equal(stopping.fault(60).code, 'CAPT_RUN_DEADLINE')
  })
})
