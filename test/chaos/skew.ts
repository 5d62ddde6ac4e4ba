// Loaded before a program: its wall clock is off by CAPT_TEST_SKEW_MS, as that of another host may be.
const skewMs = Number(process.env['CAPT_TEST_SKEW_MS'] ?? 0)
const RealDate = Date

globalThis.Date = class extends RealDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(RealDate.now() + skewMs)
    else super(...(args as [number]))
  }
  static override now(): number {
    return RealDate.now() + skewMs
  }
} as DateConstructor
