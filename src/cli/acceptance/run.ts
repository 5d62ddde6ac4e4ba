// One acceptance run: a home in a folder of its own, what it may cost, a question, the story, and the report. The folder keeps
// the home until nothing is left, so that a run that was cut off is finished by running the command again.
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Manifest } from '#api'
import { type Home, startHome } from '#app'
import { CaptError, formatDuration, parseDuration, toTimestamp } from '#lib'
import { type Arguments, EXIT, type Io, type Option } from '../command.ts'
import { createShippedTemplates } from '../home/templates.ts'
import { confirm, YES_OPTION } from '../output.ts'
import { dollars, type Limit, limitText, mostOf } from './estimate.ts'
import { isPassed, renderReport, toReport } from './report.ts'
import { playStory } from './story.ts'
import { withTranscript } from './transcript.ts'

export const ACCEPTANCE_OPTIONS = {
  budget: {
    type: 'string',
    value: 'DOLLARS',
    default: '5',
    about: 'Delete everything when this much may be used, by an estimate that errs high.',
    check: (value) =>
      Number(value) > 0 && Number.isFinite(Number(value)) ? undefined : 'a number of dollars, such as 5',
  },
  timeout: { type: 'string', value: 'DURATION', default: '2h', about: 'Delete everything after this time.' },
  data: {
    type: 'string',
    value: 'DIR',
    default: './capt-acceptance',
    about: 'Folder for home, transcript and report.',
  },
  ...YES_OPTION,
} as const satisfies Record<string, Option>

interface Place {
  /** For the report: `simulation`, `AWS account 123456789012, eu-west-1`. */
  readonly where: string
  readonly version: string
  readonly isPaid: boolean
  readonly dollarsAnHour: number
  readonly limit: Limit
  readonly cluster: string
  readonly manifests: readonly Manifest[]
  readonly simulateWithoutTerraform?: boolean
  /** False when something needs a person first; it has been printed then. */
  preflight(home: Home, io: Io): Promise<boolean>
  leftovers(home: Home): Promise<readonly string[]>
}

export const budgetOf = ({ values }: Arguments): number => Number(values['budget'])
export const timeoutOf = ({ values }: Arguments): number => parseDuration(String(values['timeout']))

export async function runAcceptance(place: Place, args: Arguments, terminal: Io): Promise<number> {
  const folder = resolve(terminal.cwd, String(args.values['data']))
  const hasHome = existsSync(join(folder, 'home'))
  if (existsSync(folder) && !existsSync(join(folder, 'transcript.txt')))
    throw new CaptError('CAPT_USAGE', `${folder} is there and is not of an acceptance run`, {
      hint: 'name another folder with --data; nothing was made',
    })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'transcript.txt'), '', { flag: 'a', mode: 0o600 })
  const io = withTranscript(terminal, join(folder, 'transcript.txt'))
  const log = join(folder, 'capt.log')
  const home = await startHome({
    dataDir: join(folder, 'home'),
    host: '127.0.0.1',
    port: 0,
    ...(place.simulateWithoutTerraform ? { simulateWithoutTerraform: true } : {}),
    logLevel: 'info',
    logTo: { write: (text: string) => appendFileSync(log, text, { mode: 0o600 }) },
    env: io.env,
  })
  let isOver = !hasHome
  try {
    await createShippedTemplates(home.objects, 'default')
    const mayBegin = (hasHome || (await place.preflight(home, io))) && (await isAgreed(place, args, io))
    if (!mayBegin) return EXIT.failed
    isOver = false
    const { result, code } = await play(place, home, folder, io)
    isOver = result.steps.some(({ step, outcome }) => step === 'delete' && outcome === 'passed')
    return code
  } finally {
    await home.stop()
    if (isOver) rmSync(join(folder, 'home'), { recursive: true, force: true })
    else
      io.stderr.write(
        `The home is kept in ${folder}: run the command again to delete what is left, or capt up --data ${folder}/home\n`,
      )
  }
}

async function isAgreed(place: Place, args: Arguments, io: Io): Promise<boolean> {
  const { where, dollarsAnHour, limit, isPaid, version } = place
  io.stderr.write(
    `In ${where}: an EKS cluster with Kubernetes ${version}, its VPC, two nodes, Flux, Karpenter and a node for a pod; then all of it is deleted.\n`,
  )
  io.stderr.write(
    isPaid
      ? `It may cost ${dollars(dollarsAnHour)} an hour, ${dollars(mostOf(limit, dollarsAnHour))} at most: deletion begins at the latest with ${limitText(limit)}. An estimate that errs high, for a deletion of half an hour; it is not cut short.\n`
      : `It costs nothing. Deletion begins at the latest with ${limitText(limit)}.\n`,
  )
  return isPaid ? await confirm(`Make and delete a cluster in ${where}?`, args, io) : true
}

async function play(place: Place, home: Home, folder: string, io: Io) {
  const startedAt = toTimestamp(io.clock.now())
  const begun = io.clock.monotonic()
  const { cluster, manifests, limit } = place
  const result = await playStory({ home, cluster, manifests, limit, leftovers: () => place.leftovers(home) }, io)
  const run = { ...place, startedAt, elapsedMs: io.clock.monotonic() - begun }
  const file = join(folder, 'report.json')
  writeFileSync(file, `${JSON.stringify(toReport(run, result), null, 2)}\n`)
  io.stdout.write(renderReport(run, result))
  io.stdout.write(`The report is ${file}; transcript.txt is beside it (${formatDuration(run.elapsedMs)})\n`)
  const isLimited = result.steps.some(({ detail }) => detail === `not within the ${limit.by}`)
  return { result, code: isPassed(result) ? EXIT.fine : isLimited ? EXIT.notReady : EXIT.failed }
}
