// The nodes of a cluster: pools, deployments with their machines, and the node pools of Karpenter.
import type { NodeRow } from '../messages.ts'
import { StateIcon } from './marks.tsx'

export function Nodes({ nodes }: { nodes: readonly NodeRow[] }) {
  return (
    <section aria-labelledby="nodes">
      <h2 id="nodes">Nodes</h2>
      <table class="nodes">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Ready</th>
            <th scope="col">Instance type</th>
            <th scope="col">Version</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((row) => (
            <Row key={`${row.kind}/${row.name}`} row={row} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Row({ row }: { row: NodeRow }) {
  const isShort = row.desired !== undefined && (row.ready ?? 0) < row.desired
  return (
    <tr>
      <th scope="row" style={{ '--depth': row.depth }}>
        {row.name}
        <small>{row.kind}</small>
      </th>
      <td class={isShort ? 'is-short' : ''}>{countOf(row)}</td>
      <td>{row.type || '–'}</td>
      <td>{row.version || '–'}</td>
      <td>
        <span class={`word is-${row.state}`}>
          <StateIcon state={row.state} />
          {row.word}
        </span>
        {row.fact && <small>{row.fact}</small>}
      </td>
    </tr>
  )
}

function countOf({ ready, desired }: NodeRow): string {
  if (ready === undefined) return '–'
  return desired === undefined ? String(ready) : `${ready} of ${desired}`
}
