// Reads the Dockerfile as far as it decides what an image contains and how it starts, and lays the files of an image out
// in a folder. No container engine is needed: what the base images bring (Node, Terraform) comes from this machine.
import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Stage {
  readonly from: string
  readonly name: string
  readonly steps: readonly { readonly instruction: string; readonly text: string }[]
}

export interface Image {
  /** COPY lines of the image, those of the stages it is made from first. */
  readonly copies: readonly { readonly from: string; readonly source: string; readonly target: string }[]
  readonly env: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
}

export function readImage(dockerfile: string, target: string): Image {
  const stages = readStages(dockerfile)
  const steps = stepsOf(stages, target)
  const all = (instruction: string) => steps.filter((step) => step.instruction === instruction).map(({ text }) => text)
  const last = (instruction: string) => JSON.parse(all(instruction).at(-1) ?? '[]') as string[]
  return {
    copies: all('COPY').map((text) => {
      const [, from, source, to] =
        /^--from=(\S+) (\S+) (\S+)$/.exec(text) ?? assert.fail(`COPY ${text} is not read here`)
      return { from: from!, source: source!, target: to! }
    }),
    env: Object.fromEntries(
      all('ENV').flatMap((text) =>
        text.split(/\s+/).map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]),
      ),
    ),
    entrypoint: last('ENTRYPOINT'),
    command: last('CMD'),
  }
}

function readStages(dockerfile: string): readonly Stage[] {
  const lines = dockerfile
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => /^(\S+)\s+(.*)$/.exec(line)!)
  const stages: { from: string; name: string; steps: { instruction: string; text: string }[] }[] = []
  for (const [, instruction, text] of lines) {
    if (instruction === 'FROM') {
      const [, from, name] = /^(?:--\S+\s+)*(\S+)\s+AS\s+(\S+)$/.exec(text!)!
      stages.push({ from: from!, name: name!, steps: [] })
    } else stages.at(-1)?.steps.push({ instruction: instruction!, text: text! })
  }
  return stages
}

function stepsOf(stages: readonly Stage[], name: string): Stage['steps'] {
  const stage = stages.find((one) => one.name === name)
  return stage ? [...stepsOf(stages, stage.from), ...stage.steps] : []
}

export interface Sources {
  /** A path of a stage on this machine. */
  readonly [stage: string]: (path: string) => string
}

/** Puts the files of an image below `root`, with this Node where the base image has its own. */
export function layOut(image: Image, root: string, sources: Sources): void {
  const node = join(root, 'usr/local/bin/node')
  mkdirSync(dirname(node), { recursive: true })
  symlinkSync(process.execPath, node)
  for (const { from, source, target } of image.copies) {
    const path = sources[from] ?? assert.fail(`nothing is known about the stage ${from}`)
    const to = join(root, target)
    mkdirSync(dirname(to), { recursive: true })
    cpSync(path(source), to, { recursive: true, dereference: true })
    if (target.includes('/bin/')) chmodSync(to, 0o755)
  }
}
