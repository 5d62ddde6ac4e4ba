// The acceptance run in the reader's own AWS account: it checks first, shows what it may cost, asks, and always deletes.
import { type AnyObject, readManifests } from '#api'
import type { Home } from '#app'
import { defaultKubernetes } from '#catalog'
import { examinePreflight, observePreflight, planOf } from '#doctor'
import { CaptError, sleep } from '#lib'
import { renderFindings } from '#view'
import { dollarsAnHour, limitOf } from '../../acceptance/estimate.ts'
import { ACCEPTANCE_OPTIONS, budgetOf, runAcceptance, timeoutOf } from '../../acceptance/run.ts'
import { connectedTo } from '../../acceptance/story.ts'
import type { Arguments, Command, Io } from '../../command.ts'
import { CHECKS, clusterManifest } from '../../new/manifest.ts'
import { renderOptions } from '../../output.ts'

const CLUSTER = 'capt-acceptance'
const TAG = 'capt-acceptance'

export const command: Command = {
  name: 'acceptance aws',
  summary: 'Prove the whole story in your AWS account, within a budget, and delete it again',
  examples: {
    'acceptance aws --region eu-west-1 --budget 5': 'Check, show what it may cost, ask, then do it',
    'acceptance aws --timeout 90m --yes': 'In $AWS_REGION, without a question, for at most 90 minutes',
  },
  options: {
    region: { type: 'string', value: 'REGION', about: 'AWS region; $AWS_REGION otherwise.', check: CHECKS.region },
    'kubernetes-version': {
      type: 'string',
      value: 'VERSION',
      about: 'Minor version; the newest that the add-ons support otherwise.',
      check: CHECKS.version,
    },
    ...ACCEPTANCE_OPTIONS,
  },
  onSignal: 'stops',
  /** 0: passed. 1: failed or refused. 3: not within budget or time; what was made is deleted all the same. */
  async run(args, io) {
    const region = regionOf(args, io)
    const version = String(args.values['kubernetes-version'] ?? defaultKubernetes()).replace(/^v/, '')
    const today = new Date(io.clock.now()).toISOString().slice(0, 10)
    const rate = dollarsAnHour({ region, version, today })
    const limit = limitOf(budgetOf(args), timeoutOf(args), rate)
    const text = clusterManifest({ name: CLUSTER, region, version, vpc: { cidr: '10.0.0.0/16' }, karpenter: true })
    const manifests = readManifests(text, 'the manifest of the acceptance run')
    for (const { object } of manifests)
      if (/^CAPT/.test(object.kind)) Object.assign(object['spec'] as object, { additionalTags: { [TAG]: 'true' } })
    return await runAcceptance(
      {
        where: `your AWS account in ${region}`,
        version,
        isPaid: true,
        dollarsAnHour: rate,
        limit,
        cluster: CLUSTER,
        manifests,
        preflight: (home) =>
          isPossible(
            home,
            manifests.map(({ object }) => object as AnyObject),
            io,
          ),
        leftovers: () => findLeftovers(region, io),
      },
      args,
      io,
    )
  },
}

function regionOf({ values }: Arguments, { env }: Io): string {
  const region = values['region'] ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
  if (typeof region === 'string' && CHECKS.region(region) === undefined) return region
  throw new CaptError('CAPT_USAGE', 'acceptance aws needs a region', {
    hint: 'capt acceptance aws --region eu-west-1; nothing was made',
  })
}

/** The preflight check of `capt doctor`; what needs a person is printed and ends the run before anything is made. */
async function isPossible(home: Home, objects: readonly AnyObject[], io: Io): Promise<boolean> {
  const { openRegion } = await import('#app')
  const requests = await openRegion(io.clock, io.env, io.signal)
  const observed = await observePreflight(planOf(objects, io.env), {
    connected: connectedTo(home),
    env: io.env,
    requests,
  })
  const examined = examinePreflight(observed)
  io.stderr.write(renderFindings(examined, renderOptions(io)))
  const isRefused = examined.some(({ findings }) => findings.some(({ weight }) => weight === 'person'))
  if (isRefused) io.stderr.write('Nothing was made: see above what needs a person first\n')
  return !isRefused
}

/** AWS lists what was deleted for some time. */
const SEARCH_MS = 10 * 60_000
const SEARCH_AGAIN_MS = 30_000

/** By the tag of the run, and by the tag of what controllers in the cluster make. */
async function findLeftovers(region: string, { clock, env, stderr }: Io): Promise<readonly string[]> {
  const { openTagSearch } = await import('#app')
  const search = await openTagSearch(clock, env)
  const tags: readonly Readonly<Record<string, string>>[] = [
    { [TAG]: 'true' },
    { [`kubernetes.io/cluster/${CLUSTER}`]: 'owned' },
  ]
  const begun = clock.monotonic()
  for (;;) {
    const found = await Promise.all(tags.map((one) => search(region, one)))
    const arns = [...new Set(found.flatMap((one) => one.arns))]
    const left = arns.filter((arn) => !isKey(arn))
    if (left.length === 0 || clock.monotonic() - begun > SEARCH_MS) {
      for (const arn of arns.filter(isKey)) stderr.write(`${arn} waits 30 days for its deletion, and costs nothing\n`)
      return [...left, ...found.flatMap((one) => one.unanswered.map((why) => `unknown: ${why}`))]
    }
    stderr.write(`AWS still lists ${left.length} of what was made; asking again\n`)
    await sleep(clock, SEARCH_AGAIN_MS)
  }
}

const isKey = (arn: string): boolean => arn.split(':')[2] === 'kms'
