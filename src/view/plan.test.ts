// The text of a plan, with and without colours.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderPlan } from './plan.ts'

const plan = {
  changes: [
    {
      address: 'module.network.aws_vpc.this[0]',
      action: 'replace',
      reason: 'it cannot be updated in place: cidr',
      lines: ['~ cidr = "a" -> "b" # forces replacement', '  # (1 unchanged attribute hidden)'],
    },
    { address: 'aws_eip.new', action: 'move', from: 'aws_eip.old', lines: ['  id = "1"'] },
  ],
  without: 1,
  outputs: ['+ text = "x"'],
}

describe('A plan', () => {
  it('reads as Terraform writes it', () => {
    const text = renderPlan(plan, (_symbol, line) => line)
    assert.equal(
      text,
      `  # aws_eip.new was aws_eip.old
    resource "aws_eip" "new" {
        id = "1"
    }

  # module.network.aws_vpc.this[0] must be replaced
  # (it cannot be updated in place: cidr)
-/+ resource "aws_vpc" "this" {
      ~ cidr = "a" -> "b" # forces replacement
        # (1 unchanged attribute hidden)
    }

The attributes of 1 changes were left out: the summary would be too large.

Changes to Outputs:
  + text = "x"

Plan: 1 to add, 0 to change, 1 to destroy, 1 moved.
`,
    )
  })

  it('is coloured by its symbols alone', () => {
    const painted: string[] = []
    renderPlan(plan, (symbol, line) => {
      painted.push(symbol)
      return line
    })
    assert.deepEqual(painted, ['-/+', '~', '+'])
  })

  it('without changes is one line', () => {
    assert.equal(
      renderPlan({ changes: [], without: 0, outputs: [] }, (_symbol, line) => line),
      'No changes.\n',
    )
  })

  it('begins with what was changed outside of Terraform', () => {
    const drift = [
      { address: 'a.gone', action: 'delete', lines: ['- text = "ours"'] },
      { address: 'a.changed', action: 'update', lines: ['~ text = "ours" -> "theirs"'] },
    ]
    assert.equal(
      renderPlan({ changes: [], drift, without: 0, outputs: [] }, (_symbol, line) => line),
      `Changed outside of Terraform since the last apply:

  # a.changed has changed
  ~ resource "a" "changed" {
      ~ text = "ours" -> "theirs"
    }

  # a.gone has been deleted
  - resource "a" "gone" {
      - text = "ours"
    }

What an apply would do:

No changes.
`,
    )
  })
})
