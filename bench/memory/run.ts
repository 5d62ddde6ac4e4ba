// node bench/memory/run.ts [objects …]: a table of what a manager weighs.
import { weigh } from './measure.ts'

const sizes = process.argv.slice(2).map(Number)
console.log('objects  bytes each  synced MiB  peak MiB  lists per kind')
for (const objects of sizes.length > 0 ? sizes : [0, 1000, 10_000]) {
  const { bytesPerObject, syncedMiB, peakMiB, lists } = await weigh({ objects })
  const cells = [objects, bytesPerObject, syncedMiB.toFixed(1), peakMiB.toFixed(1), Math.max(...lists)]
  console.log(cells.map((cell, i) => String(cell).padStart([7, 10, 10, 8, 14][i]!)).join('  '))
}
